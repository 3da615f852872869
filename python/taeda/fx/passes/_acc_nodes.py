"""Which nodes a splitter gives to a backend, with a record of why."""

from taeda.fx.passes.tools_common import CALLABLE_NODE_OPS, is_node_output_tensor


class NodeEvent:
    """Something that happened to a node: `desc`, because of the node `dep` where there is one."""

    def __init__(self, source, desc, dep=None):
        self.source, self.desc, self.dep = source, desc, dep

    def to_str(self):
        return f"{self.source.name}: {self.desc} {self.dep.name if self.dep else '#'}"


class NodeEventTracker:
    """The events of a search, in order and by node."""

    def __init__(self, tracker_mode=0, dump_prefix=""):
        self.tracker_mode, self.dump_prefix = tracker_mode, dump_prefix
        self.events = []
        self.node_events = {}  # name -> positions in `events`
        self.writer = print

    def add(self, node, desc, dep=None):
        self.node_events.setdefault(node.name, []).append(len(self.events))
        self.events.append(NodeEvent(node, desc, dep))

    def print_node(self, node_name, recursive=False, tab="", writer=None):
        """The events of a node; with `recursive` those of the nodes behind them too."""
        writer = writer or self.writer
        for position in self.node_events.get(node_name, ()):
            event = self.events[position]
            writer(tab + event.to_str())
            if recursive and event.dep is not None:
                self.print_node(event.dep.name, True, "| " + tab, writer)

    def print_all(self, writer=None):
        writer = writer or self.writer
        for name in self.node_events:
            writer(f"Node: {name}:")
            self.print_node(name, tab="  ", writer=writer)

    def to_dict(self):
        return {
            name: [self.events[i].to_str() for i in positions]
            for name, positions in self.node_events.items()
        }


class FxNetAccNodesFinder:
    """The supported nodes, less those that would pass something else than tensors to the others.

    `allow_non_tensor` keeps them all. Needs what ShapeProp notes.
    """

    def __init__(self, module, operator_support, allow_non_tensor):
        self.module = module
        self.operator_support = operator_support
        self.allow_non_tensor = allow_non_tensor
        self.acc_nodes = set()
        self.tracker = NodeEventTracker()

    def __call__(self):
        self.acc_nodes = set()
        submodules = dict(self.module.named_modules())
        for node in self.module.graph.nodes:
            if node.op not in CALLABLE_NODE_OPS:
                self.tracker.add(node, "init_cpu|not_callable")
            elif not self.operator_support.is_node_supported(submodules, node):
                self.tracker.add(node, "init_cpu|operator_support")
            else:
                self.tracker.add(node, "init_acc|callable_and_operator_supported")
                self.acc_nodes.add(node)
        if not self.allow_non_tensor:
            self.reduce_acc_nodes_non_tensor_input()
            self.reduce_acc_nodes_non_tensor_output()
        return self.acc_nodes

    def reduce_acc_nodes_non_tensor_input(self):
        """Drops nodes that read something else than a tensor from a node outside."""
        outside = []
        for node in self.module.graph.nodes:
            is_outside = node.op in CALLABLE_NODE_OPS and node not in self.acc_nodes
            if is_outside and not is_node_output_tensor(node):
                self.tracker.add(node, "new_cpu_node|callable_non_tensor_input")
                outside.append(node)
        self._drop_users(outside)

    def reduce_acc_nodes_non_tensor_output(self):
        """Drops nodes that give something else than a tensor to a node outside."""
        while dropped := self._givers():
            self.acc_nodes.difference_update(dropped)
            self._drop_users(dropped)

    def _givers(self):
        found = []
        for node in self.module.graph.nodes:
            if node not in self.acc_nodes or is_node_output_tensor(node):
                continue
            reader = next((u for u in node.users if u not in self.acc_nodes), None)
            if reader is not None:
                self.tracker.add(node, "acc_del|non_tensor_output_with_cpu_user", reader)
                found.append(node)
        return found

    def _drop_users(self, pending):
        """Users of the given nodes go, and users of those whose value is no tensor either."""
        pending = list(pending)
        for node in pending:
            for user in node.users:
                if user not in self.acc_nodes:
                    continue
                self.acc_nodes.remove(user)
                self.tracker.add(user, "acc_del|user_of_new_cpu_node", node)
                if not is_node_output_tensor(user):
                    self.tracker.add(user, "new_cpu_node|non_tensor_output")
                    pending.append(user)
