"""Splits a graph between a backend and the rest, by what the backend supports."""

import copy
import logging
from dataclasses import dataclass
from typing import Any, NamedTuple

from taeda.fx.graph_module import GraphModule
from taeda.fx.passes._acc_nodes import FxNetAccNodesFinder, NodeEvent, NodeEventTracker
from taeda.fx.passes.graph_drawer import FxGraphDrawer
from taeda.fx.passes.graph_manipulation import get_size_of_node
from taeda.fx.passes.shape_prop import ShapeProp
from taeda.fx.passes.split_utils import split_by_tags
from taeda.fx.passes.tools_common import (
    CALLABLE_NODE_OPS,
    FxNetAccFusionsFinder,
    get_node_target,
    is_node_output_tensor,
)

__all__ = [
    "FxNetAccNodesFinder",
    "FxNetSplitterInternalError",
    "NodeEvent",
    "NodeEventTracker",
    "SplitResult",
    "Subgraph",
    "generate_inputs_for_submodules",
]

log = logging.getLogger(__name__)

DEFAULT_MIN_ACC_MODULE_SIZE = 1
DEFAULT_SKIP_FUSION = False
DEFAULT_ALLOW_NON_TENSOR = False


class FxNetSplitterInternalError(Exception):
    """The splitter contradicts itself."""


@dataclass
class Subgraph:
    is_acc: bool
    nodes: list
    device_ordinal: int | None = None


class SplitResult(NamedTuple):
    """The split module, the inputs its submodules got, and the prefix of those not for the
    backend."""

    split_module: GraphModule
    submodule_inputs: dict[str, Any]
    non_acc_submodule_prefix: str


class _SplitterSettingBase:
    """How to split: see the arguments of the splitter."""

    def __init__(
        self,
        min_acc_module_size=DEFAULT_MIN_ACC_MODULE_SIZE,
        skip_fusion=DEFAULT_SKIP_FUSION,
        allow_non_tensor=DEFAULT_ALLOW_NON_TENSOR,
        max_acc_splits=-1,
    ):
        self.min_acc_module_size = min_acc_module_size
        self.skip_fusion = skip_fusion
        self.allow_non_tensor = allow_non_tensor
        self.max_acc_splits = max_acc_splits


def generate_inputs_for_submodules(model, inputs, target_submodules, deepcopy=False):
    """{path: the positional arguments that the submodule gets} in a run of the model."""
    targets, seen = set(target_submodules), {}

    def note(path):
        def hook(module, arguments):
            seen[path] = copy.deepcopy(arguments) if deepcopy else arguments

        return hook

    handles = [
        module.register_forward_pre_hook(note(path))
        for path, module in model.named_modules()
        if path in targets
    ]
    try:
        model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return seen


class _SplitterBase:
    """Calling it gives a module of submodules `_run_on_acc_<n>` and `_run_on_cpu_<n>`.

    Backends derive from it. `settings` say how small a submodule for the backend may be
    (`min_acc_module_size`), how many submodules there may be (`max_acc_splits`), and whether other
    values than tensors may pass between them (`allow_non_tensor`, `skip_fusion`).
    """

    PCIe_BW = 100 * 2**30

    def __init__(
        self,
        module,
        sample_input,
        operator_support,
        settings,
        non_acc_submodule_name="_run_on_cpu_",
        return_tuple=False,
        nodes_finder=None,
    ):
        if not isinstance(module, GraphModule):
            raise AssertionError(f"Expected GraphModule, got {type(module)}")
        self.module, self.sample_input = module, sample_input
        self.operator_support, self.settings = operator_support, settings
        self.non_acc_submodule_name = non_acc_submodule_name
        self._return_tuple = return_tuple
        self._node_submodule_map = {}
        self.tags = []
        ShapeProp(module).propagate(*sample_input)
        finder = nodes_finder or FxNetAccNodesFinder(
            module, operator_support, settings.allow_non_tensor
        )
        self.acc_nodes = finder()
        self.fusions = (
            {} if settings.skip_fusion else FxNetAccFusionsFinder(module, self.acc_nodes)()
        )
        self._numbers = {node: i for i, node in enumerate(module.graph.nodes)}
        self.deps = self.find_deps()

    # ---- what a backend overrides ----
    def _lower_model_to_backend(self, mod, inputs):
        """The submodule as the backend runs it."""
        return mod

    def _find_culprit(self, mod, inputs):
        """Why the backend could not take a submodule."""
        return "Unable to find a culprit because _find_culprit() function is not implemented."

    # ---- splitting ----
    def __call__(self):
        subgraphs = self.remove_small_acc_subgraphs(self.put_nodes_into_subgraphs())
        count = sum(s.is_acc for s in subgraphs)
        log.info("%d acc subgraphs and %d non-acc subgraphs", count, len(subgraphs) - count)
        self.tag(subgraphs)
        return self.split()

    def find_deps(self):
        """{node: what must run before it}; nodes of a group wait for all that the group needs."""
        needs = {}
        for node in self._numbers:
            if node.op in CALLABLE_NODE_OPS:
                needs[node] = {n for n in node.all_input_nodes if n.op in CALLABLE_NODE_OPS}
        return {
            node: set().union(*(needs[n] for n in self._group(node))) - self._group(node)
            for node in needs
        }

    def _group(self, node):
        return self.fusions.get(node, {node})

    def put_nodes_into_subgraphs(self):
        """Runs of nodes of one kind, each as long as what came before allows."""
        waiting = list(self.deps)
        if not waiting:
            raise FxNetSplitterInternalError("Couldn't create subgraphs")
        done, subgraphs = set(), []
        is_acc = all(node in self.acc_nodes for node in waiting if not self.deps[node])
        while waiting:
            nodes = self._take(waiting, done, is_acc)
            if not nodes:
                raise FxNetSplitterInternalError("Subgraph can't be empty")
            subgraphs.append(Subgraph(is_acc, nodes))
            is_acc = not is_acc
        return subgraphs

    def _take(self, waiting, done, is_acc):
        """Moves what can run on one side now from `waiting` to `done`."""
        taken = []
        pending = True
        while pending:
            pending = [
                n for n in waiting if (n in self.acc_nodes) == is_acc and self.deps[n] <= done
            ]
            for node in pending:
                waiting.remove(node)
                done.add(node)
            taken += pending
        return sorted(taken, key=self._numbers.__getitem__)

    def remove_small_acc_subgraphs(self, subgraphs):
        """Subgraphs below `min_acc_module_size` join the others."""
        kept = []
        for subgraph in subgraphs:
            is_small = len(subgraph.nodes) < self.settings.min_acc_module_size
            if subgraph.is_acc and is_small:
                log.info("an acc subgraph of %d nodes is too small", len(subgraph.nodes))
                subgraph = Subgraph(False, subgraph.nodes)
            if kept and not subgraph.is_acc and not kept[-1].is_acc:
                kept[-1].nodes.extend(subgraph.nodes)
            else:
                kept.append(subgraph)
        return kept

    def tag(self, subgraphs):
        """Writes the names of the submodules on the nodes."""
        self.tags = []
        for number, subgraph in enumerate(subgraphs):
            prefix = "_run_on_acc_" if subgraph.is_acc else self.non_acc_submodule_name
            self.tags.append(f"{prefix}{number}")
            for node in subgraph.nodes:
                if hasattr(node, "tag"):
                    raise FxNetSplitterInternalError(f"Node {node} was already tagged")
                node.tag = self.tags[-1]
                self._node_submodule_map[node.name] = node.tag

    def split(self, remove_tag=False):
        result = split_by_tags(self.module, self.tags, return_tuple=self._return_tuple)
        if remove_tag:
            for node in self.module.graph.nodes:
                if hasattr(node, "tag"):
                    del node.tag
        return result

    def get_node_submodule_map(self):
        """{name of a node: name of its submodule}, once split."""
        return self._node_submodule_map

    def generate_split_results(self):
        """The split module with the inputs of its submodules."""
        module = self()
        names = [name for name, _ in module.named_children()]
        if 0 < self.settings.max_acc_splits < len(names):
            raise ValueError(
                "Cannot fulfill max_acc_splits limit. This may cause split fragmentation and "
                "result in performance issues."
            )
        inputs = generate_inputs_for_submodules(module, self.sample_input, names)
        return SplitResult(module, inputs, self.non_acc_submodule_name)

    def extend_acc_subgraph(self, tag):
        """Moves nodes before a tagged subgraph into it, while all that read them are in it or run
        later."""
        number = int(tag.rpartition("_")[2])
        calls = [n for n in self._numbers if n.op in CALLABLE_NODE_OPS]

        def can_join(node):
            readers = {u for n in self._group(node) for u in n.users} - self._group(node)
            inside = [u for u in readers if u.op in CALLABLE_NODE_OPS]
            return any(u.tag == tag for u in inside) and all(
                u.tag == tag or int(u.tag.rpartition("_")[2]) > number for u in inside
            )

        for node in reversed(calls):
            if node.tag != tag and node in self.acc_nodes and can_join(node):
                for member in self._group(node):
                    member.tag = tag

    # ---- reports ----
    def node_support_preview(self, dump_graph=False):
        """Which calls the backend supports, as text, by target and dtypes of the arguments; with
        `dump_graph` also as a picture, node_support.svg."""
        submodules = dict(self.module.named_modules())
        rows = {True: {}, False: {}}
        for node in self.deps:
            kind = self.operator_support.is_node_supported(submodules, node)
            rows[bool(kind)].setdefault(_described(submodules, node))
        if dump_graph:
            FxGraphDrawer(self.module, "node_support").write("node_support.svg")
        text = "\nSupported node types in the model:\n" + "".join(rows[True])
        return text + "\nUnsupported node types in the model:\n" + "".join(rows[False])

    def split_preview(self, dump_graph=False):
        """How the graph would be split and what each submodule for the backend moves, as text; with
        `dump_graph` also as a picture, split_preview.svg."""
        subgraphs = self.put_nodes_into_subgraphs()
        text = _counted("Before removing small acc subgraphs", subgraphs)
        subgraphs = self.remove_small_acc_subgraphs(subgraphs)
        text += _counted("After removing small acc subgraphs", subgraphs)
        for number, subgraph in enumerate(subgraphs):
            kind = "_run_on_acc_" if subgraph.is_acc else self.non_acc_submodule_name
            text += f"{kind}{number}: {len(subgraph.nodes)} node(s)\n"
        self.tag(subgraphs)
        module = self.split(remove_tag=True)
        if dump_graph:
            FxGraphDrawer(module, "split_preview").write("split_preview.svg")
        inputs = generate_inputs_for_submodules(module, self.sample_input, self.tags)
        for name in self.tags:
            if name.startswith("_run_on_acc_"):
                text += self._previewed(name, getattr(module, name), inputs[name])
        return text

    def _previewed(self, name, submodule, inputs):
        ShapeProp(submodule).propagate(*inputs)
        text = f"\nProcessing acc submodule {name}\n"
        sizes = []
        for label, nodes in (
            ("Input", submodule.graph.find_nodes(op="placeholder")),
            ("Output", submodule.graph.output_node().all_input_nodes),
        ):
            plain = [n for n in nodes if not is_node_output_tensor(n)]
            text += "".join(
                f"{label} {n.name} is not a tensor, this might cause problems during lowering!\n"
                for n in plain
            )
            sizes.append(sum(get_size_of_node(submodule, n)[0] for n in nodes if n not in plain))
        text += (
            f"Total input size in bytes is {sizes[0]}, total output size in bytes is {sizes[1]}, "
            f"theoretical max qps (bounds by PCIe bandwidth) for this submodule is "
            f"{self.PCIe_BW / max(*sizes, 1)}.\n"
        )
        for step, run in (
            ("lowering", lambda: self._lower_model_to_backend(submodule, inputs)),
            ("inference", lambda: self._lower_model_to_backend(submodule, inputs)(*inputs)),
        ):
            try:
                run()
            except RuntimeError:
                return (
                    text
                    + f"Run into an error during {step}!\n"
                    + self._find_culprit(submodule, inputs)
                )
        return text + "Lowering and running succeed!\n"


def _described(submodules, node):
    def dtype_of(value):
        return getattr(value.meta.get("tensor_meta"), "dtype", None)

    args = [dtype_of(a) if hasattr(a, "meta") else None for a in node.args]
    while args and args[-1] is None:
        args.pop()
    kwargs = {k: dtype_of(a) for k, a in node.kwargs.items() if hasattr(a, "meta")}
    return f"{get_node_target(submodules, node)}: ({tuple(args)}, {kwargs})\n"


def _counted(title, subgraphs):
    count = sum(s.is_acc for s in subgraphs)
    return (
        f"{title}, total {len(subgraphs)} subgraphs are created: {count} acc subgraphs and "
        f"{len(subgraphs) - count} cpu subgraphs.\n"
    )
