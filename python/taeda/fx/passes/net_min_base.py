"""Finds the nodes of a graph for which two ways of running it differ."""

import logging
from dataclasses import dataclass

from taeda.fx.graph_module import GraphModule
from taeda.fx.node import map_arg
from taeda.fx.passes.shape_prop import ShapeProp
from taeda.fx.passes.split_utils import split_by_tags
from taeda.fx.passes.splitter_base import generate_inputs_for_submodules
from taeda.fx.passes.tools_common import CALLABLE_NODE_OPS, FxNetAccFusionsFinder

__all__ = [
    "FxNetMinimizerBadModuleError",
    "FxNetMinimizerResultMismatchError",
    "FxNetMinimizerRunFuncError",
]

log = logging.getLogger(__name__)


class FxNetMinimizerBadModuleError(Exception):
    """The nodes could not be cut out as one submodule."""


class FxNetMinimizerRunFuncError(Exception):
    """`run_a` or `run_b` raised."""


class FxNetMinimizerResultMismatchError(Exception):
    """The results differ, in the eyes of `compare_fn`."""


_FAILURES = (FxNetMinimizerRunFuncError, FxNetMinimizerResultMismatchError)


@dataclass
class _MinimizerSettingBase:
    """How to search.

    `traverse_method` is sequential (node by node), binary (halves), accumulate (growing from the
    start), block (the shortest piece), skip (pieces between given nodes) or defined (one piece).
    `find_all` goes on behind the first culprit. With `accumulate_error` the second way reads its
    own earlier results instead of the first one's. `return_intermediate` makes `run_nodes` compare
    the value of every node, `all_outputs` a search all results of a piece.
    """

    accumulate_error: bool = False
    traverse_method: str = "sequential"
    find_all: bool = False
    return_intermediate: bool = False
    all_outputs: bool = False

    def __str__(self):
        return "FX Minimizer Settings:\n" + "".join(f"\t{k}: {v}\n" for k, v in vars(self).items())


class _MinimizerBase:
    """Derive from it and give it `run_a(mod, inputs, report_idx)` and `run_b(...)`.

    `compare_fn(a, b, names)` returns a number to report and whether the results agree.
    `module_exporter(inputs, module, name)` is called for pieces that differ. `exclusion_fn(nodes,
    start, end)` may take nodes out of a list before they are tried.
    """

    def __init__(
        self, module, sample_input, compare_fn, settings, module_exporter=None, exclusion_fn=None
    ):
        if not isinstance(module, GraphModule):
            raise AssertionError(f"Expected GraphModule, got {type(module)}")
        self.module, self.sample_input = module, sample_input
        self.compare_fn, self.settings = compare_fn, settings
        self.module_exporter, self.exclusion_fn = module_exporter, exclusion_fn
        self.results, self.reports, self.iteration = {}, [], 0
        names = [node.name for node in module.graph.find_nodes(op="placeholder")]
        if len(names) != len(sample_input):
            raise AssertionError(
                f"Placeholder count ({len(names)}) does not match sample_input count "
                f"({len(sample_input)})"
            )
        self.a_outputs = dict(zip(names, sample_input, strict=True))
        self.b_outputs = dict(self.a_outputs)
        self.run_shape_prop()
        calls = {node for node in module.graph.nodes if node.op in CALLABLE_NODE_OPS}
        self.fusions = FxNetAccFusionsFinder(module, calls)()

    def run_shape_prop(self):
        """Notes shapes on the nodes."""
        ShapeProp(self.module).propagate(*self.sample_input)

    def run_a(self, mod, inputs, report_idx=-1):
        raise RuntimeError("run_a() is not implemented.")

    def run_b(self, mod, inputs, report_idx=-1):
        raise RuntimeError("run_b() is not implemented.")

    # ---- what users call ----
    def minimize(self, start=None, end=None, skip_nodes=None, find_last_node=None):
        """The nodes at fault between the named nodes `start` and `end`, both included.

        `skip_nodes` names the nodes between the pieces of method skip; `find_last_node` says for
        method block whether to look for the last node of the piece, the first, or (None) both.
        """
        nodes = self._collect_nodes(start, end)
        method = self.settings.traverse_method
        log.info("%s%s", self.settings, self.module.graph)
        if method == "sequential":
            return self._sequential_traverse(nodes)
        if method == "binary":
            return self._binary_traverse(nodes)
        if method == "accumulate":
            return self._accumulate_traverse(nodes)
        if method == "block":
            return self._block_traverse(nodes, find_last_node)
        if method == "defined":
            return self._piece(nodes, nodes[-1:], "Defined graph")
        if method == "skip":
            if skip_nodes is None:
                raise RuntimeError("'skip_nodes' can't be None when 'traverse_method' is 'skip'.")
            return self._skip_traverse(nodes, skip_nodes)
        raise RuntimeError(f"Unknown traverse method {method}!")

    def run_nodes(self, start=None, end=None):
        """Runs one piece both ways; what goes wrong is in the report."""
        nodes = self._collect_nodes(start, end)
        outputs = nodes if self.settings.return_intermediate else []
        self._piece(self._with_fusions(nodes), outputs, "Run nodes")

    def print_report(self, report):
        for number, line in enumerate(report):
            print(f" . {line}" if number else line)

    def print_reports(self):
        for report in self.reports:
            self.print_report(report)

    # ---- ways to search ----
    def _sequential_traverse(self, nodes):
        culprits = set()
        for node in nodes:
            group = self._with_fusions([node])
            failure = self._try(group, [node], f"Visit node: {node.name}")
            if failure is None:
                continue
            is_run_error = isinstance(failure, FxNetMinimizerRunFuncError)
            culprits.update(group if is_run_error else [node])
            if not self.settings.find_all:
                break
        return culprits

    def _binary_traverse(self, nodes):
        if not nodes or not self._try(nodes, nodes[-1:], f"Binary search over {len(nodes)} nodes"):
            return set()
        if len(nodes) == 1:
            return set(nodes)
        middle = len(nodes) // 2
        culprits = self._binary_traverse(nodes[:middle])
        if culprits and not self.settings.find_all:
            return culprits
        return culprits | self._binary_traverse(nodes[middle:])

    def _accumulate_traverse(self, nodes):
        for count, node in enumerate(nodes, 1):
            if self._try(nodes[:count], [node], f"Add node: {node.name}"):
                return {node}
        return set()

    def _block_traverse(self, nodes, find_last_node):
        first, last = 0, len(nodes) - 1

        def fails(start, end):
            piece = nodes[start : end + 1]
            return self._try(piece, piece[-1:], f"Block search from {start} to {end}")

        if not nodes or not fails(first, last):
            return set()
        if find_last_node is not False:
            low = 0  # the first index up to which the piece fails lies in [low, last]
            while low < last:
                middle = (low + last) // 2
                low, last = (low, middle) if fails(first, middle) else (middle + 1, last)
        if find_last_node is not True:
            high = last  # the last index from which the piece fails lies in [first, high]
            while first < high:
                middle = (first + high + 1) // 2
                first, high = (middle, high) if fails(middle, last) else (first, middle - 1)
        return set(nodes[first : last + 1])

    def _skip_traverse(self, nodes, skip_nodes):
        culprits, piece = set(), []
        for node in [*nodes, None]:
            if node is not None and node.name not in skip_nodes:
                piece.append(node)
                continue
            if piece:
                culprits |= self._piece(
                    self._with_fusions(piece), [], "Piece between skipped nodes"
                )
            piece = []
        return culprits

    def _piece(self, nodes, outputs, title):
        return set(nodes) if self._try(nodes, outputs, title) else set()

    # ---- one attempt ----
    def _try(self, nodes, outputs, title):
        """The failure of a piece, or None; nodes that are excluded do not fail."""
        nodes = list(nodes)
        report = [f"Iteration {self.iteration + 1}: {title}"]
        self.reports.append(report)
        self.iteration += 1
        if self.exclusion_fn is not None:
            self.exclusion_fn(nodes, -1, -1)
        if not nodes:
            report.append("All nodes are excluded by user")
            return None
        try:
            module, name = self._build_submodule(set(nodes))
            self._run_and_compare(module, name, [n.name for n in outputs], len(self.reports) - 1)
        except _FAILURES as failure:
            report.append(f"Found culprit among {nodes}")
            return failure
        report.append("No discrepancy found.")
        return None

    def _build_submodule(self, nodes):
        """The module cut into what runs before, the piece (`minimize`), and what runs behind."""
        for node in self.module.graph.nodes:
            if node.op in CALLABLE_NODE_OPS:
                calls = [n for n in node.all_input_nodes if n.op in CALLABLE_NODE_OPS]
                is_behind = any(n.tag != "main_0" for n in calls)
                node.tag = "minimize" if node in nodes else "main_1" if is_behind else "main_0"
        try:
            return split_by_tags(self.module, ["main_0", "minimize", "main_1"]), "minimize"
        except AssertionError as error:
            raise FxNetMinimizerBadModuleError(
                f"Expected only one minimize submodule with nodes {nodes}"
            ) from error

    def _run_and_compare(self, split_module, submod_name, output_names, report_idx=-1):
        submodule = getattr(split_module, submod_name)
        a_input, b_input = self._get_submod_inputs(split_module, submod_name)
        if not self.reports:
            self.reports.append([])
        report = self.reports[report_idx]
        if output_names and not self.settings.all_outputs:
            _set_outputs(submodule, output_names)
        key = map_arg(submodule.graph.output_node().args, lambda node: node.name)
        try:
            a_result = self.run_a(submodule, a_input, report_idx)
            b_result = self.run_b(submodule, b_input, report_idx)
        except Exception as error:
            text = f"Exception raised when running {submod_name}: {error}"
            report.append(text)
            raise FxNetMinimizerRunFuncError(text) from error
        self._store_outputs(a_result, b_result, submodule)
        number, agrees = self.compare_fn(a_result, b_result, output_names or [str(k) for k in key])
        self.results[key] = number
        report.append(f"Numerical accuracy = {number}")
        if agrees:
            return
        report.append(f"Result mismatch for {key}")
        if self.module_exporter:
            name = key[-1] if isinstance(key[-1], str) else str(key[-1][0])
            self.module_exporter(a_input, submodule, f"{name}_cpu")
            self.module_exporter(b_input, submodule, f"{name}_acc")
        raise FxNetMinimizerResultMismatchError(f"Result mismatch for {key}")

    def _get_submod_inputs(self, main_module, submod_path):
        submodule = getattr(main_module, submod_path)
        names = [node.name for node in submodule.graph.find_nodes(op="placeholder")]
        if set(names) <= self.a_outputs.keys():
            a_input = [self.a_outputs[name] for name in names]
            b_input = [self.b_outputs[name] for name in names]
        else:
            seen = generate_inputs_for_submodules(main_module, self.sample_input, [submod_path])
            a_input = b_input = seen[submod_path]
        return a_input, b_input if self.settings.accumulate_error else a_input

    def _store_outputs(self, a_result, b_result, submodule):
        """Keeps results by name, for pieces that read them."""
        outputs = submodule.graph.output_node().args[0]
        if not isinstance(outputs, (tuple, list)):
            outputs, a_result, b_result = [outputs], [a_result], [b_result]
        for node, a, b in zip(outputs, a_result, b_result, strict=True):
            self.a_outputs[node.name], self.b_outputs[node.name] = a, b

    def _collect_nodes(self, start, end):
        calls = [node for node in self.module.graph.nodes if node.op in CALLABLE_NODE_OPS]
        names = [node.name for node in calls]
        first = names.index(start) if start in names else 0 if start is None else len(calls)
        last = names.index(end) if end in names else len(calls) - 1
        return calls[first : last + 1]

    def _with_fusions(self, nodes):
        """The nodes with those that cannot be apart from them, in order."""
        wanted = set(nodes).union(*(self.fusions.get(n, ()) for n in nodes))
        return [node for node in self.module.graph.nodes if node in wanted]


def _set_outputs(submodule, names):
    """Makes the module return the values of the named nodes."""
    graph = submodule.graph
    graph.erase_node(graph.output_node())
    found = [node for node in graph.nodes if node.name in names]
    graph.output(found[0] if len(found) == 1 else tuple(found))
    graph.lint()
    submodule.recompile()
