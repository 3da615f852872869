"""Stack traces and annotations of nodes: kept through rewrites, added for a scope."""

import contextlib
import enum
import functools
import traceback

__all__ = [
    "NodeSource",
    "NodeSourceAction",
    "annotate",
    "annotate_fn",
    "format_stack",
    "get_current_meta",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "reset_grad_fn_seq_nr",
    "set_current_meta",
    "set_grad_fn_seq_nr",
    "set_stack_trace",
]


class NodeSourceAction(enum.Enum):
    """What a pass did when it made a node of another one."""

    CREATE = "create"
    REPLACE = "replace"


class NodeSource:
    """Where a node comes from, in `meta["from_node"]`: a node of another graph, and its sources."""

    def __init__(self, node, pass_name="", action=None):
        self.name = node.name if node is not None else ""
        self.target = str(node.target) if node is not None else ""
        self.graph_id = id(node.graph) if node is not None else -1
        self.pass_name = pass_name
        actions = [] if action is None else action
        self.action = actions if isinstance(actions, list) else [actions]
        self.from_node = list(node.meta.get("from_node", ())) if node is not None else []

    def _get_action_string(self):
        return "+".join(action.name.lower() for action in self.action)

    def print_readable(self, indent=0):
        """The source and those behind it, one a line."""
        text = "    " * indent + (
            f"(name={self.name}, pass_name={self.pass_name}, action={self._get_action_string()}, "
            f"graph_id={self.graph_id})\n"
        )
        return text + "".join(source.print_readable(indent + 1) for source in self.from_node)

    def to_dict(self):
        """The source as plain values."""
        return {
            "name": self.name,
            "target": self.target,
            "graph_id": self.graph_id,
            "pass_name": self.pass_name,
            "action": self._get_action_string(),
            "from_node": [source.to_dict() for source in self.from_node],
        }

    def __repr__(self):
        return self.print_readable()


current_meta = {}
should_preserve_node_meta = False

# What a new node takes over from the node that is being rewritten.
_KEPT = (
    "nn_module_stack",
    "source_fn_stack",
    "original_aten",
    "recompute",
    "ac_graph_id",
    "from_node",
    "quantization_tag",
    "partitioner_tag",
    "custom",
    "stack_trace",
)


@contextlib.contextmanager
def preserve_node_meta(enable=True):
    """Within, nodes made while another node is interpreted take its meta over."""
    global should_preserve_node_meta, current_meta
    before = should_preserve_node_meta, current_meta
    should_preserve_node_meta, current_meta = enable, dict(current_meta)
    try:
        yield
    finally:
        should_preserve_node_meta, current_meta = before


@contextlib.contextmanager
def annotate(annotation_dict):
    """Within, traced nodes get these entries in `meta["custom"]`; inner scopes add to them."""
    global current_meta
    before = current_meta
    current_meta = {**before, "custom": {**before.get("custom", {}), **annotation_dict}}
    try:
        with preserve_node_meta():
            yield
    finally:
        current_meta = before


def annotate_fn(annotation_dict):
    """A decorator: nodes that are traced in the function are annotated."""

    def decorate(function):
        @functools.wraps(function)
        def annotated(*args, **kwargs):
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return annotated

    return decorate


@contextlib.contextmanager
def set_current_meta(node, pass_name=""):
    """Within, `node` is the one that is being rewritten."""
    global current_meta
    if not should_preserve_node_meta or not node.meta:
        yield
        return
    before = current_meta
    source = NodeSource(node, pass_name, NodeSourceAction.CREATE)
    current_meta = {**node.meta, "from_node": [source]}
    try:
        yield
    finally:
        current_meta = before


def mark(node):
    """Gives a new node what the current scope says."""
    for key in _KEPT:
        if key in current_meta and key not in node.meta:
            node.meta[key] = current_meta[key]


def set_stack_trace(stack):
    """The stack trace of nodes made from here on, if meta is preserved."""
    if should_preserve_node_meta and stack:
        current_meta["stack_trace"] = "".join(stack)


def set_grad_fn_seq_nr(seq_nr):
    """The number of the autograd node whose backward is traced."""
    if should_preserve_node_meta:
        current_meta.setdefault("grad_fn_seq_nr", []).append(seq_nr)
        current_meta["in_grad_fn"] = current_meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr():
    """Ends what set_grad_fn_seq_nr began."""
    if should_preserve_node_meta and current_meta.get("in_grad_fn"):
        current_meta["in_grad_fn"] -= 1
        current_meta["grad_fn_seq_nr"].pop()


def format_stack():
    """The stack trace of the node that is being rewritten, or of the caller."""
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


def has_preserved_node_meta():
    return should_preserve_node_meta


def get_current_meta():
    return current_meta
