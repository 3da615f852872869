"""Rewriting graphs by patterns, by PyTorch's names.

my_pass = PatternMatcherPass()

@register_graph_pattern(CallFunction(aten.neg.default, CallFunction(aten.neg.default, Arg())),
                        pass_dict=my_pass)
def no_double_negation(match, x):
    match.replace_by_example(lambda x: x.clone(), [x])

config.post_grad_custom_pre_pass = my_pass.apply
"""

import dataclasses
import functools
import inspect
import itertools
import operator
import re
from collections import defaultdict
from contextlib import nullcontext

import taeda
from taeda.compiler._counters import counters
from taeda.fx import Graph, GraphModule, Interpreter, Node
from taeda.fx.fake.modes import detect_fake_mode
from taeda.fx.node import map_arg
from taeda.fx.symbolic.numbers import guard_or_false
from taeda.utils import _pytree as pytree

from ._patterns import (
    MULTIPLE,
    Arg,
    CallFunction,
    CallFunctionVarArgs,
    CallMethod,
    CallMethodVarArgs,
    CallModule,
    CallModuleVarArgs,
    ExclusiveKeywordArg,
    FailedMatch,
    Ignored,
    KeywordArg,
    ListOf,
    Match,
    MatchContext,
    MultiOutputPattern,
    PatternExpr,
    is_match,
)

__all__ = [
    "MULTIPLE",
    "Arg",
    "CallFunction",
    "CallFunctionVarArgs",
    "CallMethod",
    "CallMethodVarArgs",
    "CallModule",
    "CallModuleVarArgs",
    "ExclusiveKeywordArg",
    "FailedMatch",
    "GraphPatternEntry",
    "Ignored",
    "KeywordArg",
    "ListOf",
    "LoweringPatternEntry",
    "Match",
    "MatchContext",
    "MultiOutputPattern",
    "PatternEntry",
    "PatternExpr",
    "PatternMatcherPass",
    "ReplacementPatternEntry",
    "config_flag",
    "extract_target",
    "filter_nodes",
    "fwd_only",
    "fx_to_pattern",
    "gen_pattern",
    "gen_register_replacement",
    "get_arg_value",
    "is_match",
    "joint_fwd_bwd",
    "register_graph_pattern",
    "register_lowering_pattern",
    "register_replacement",
    "stable_topological_sort",
]


def _return_true(match):
    return True


def extract_target(node):
    """What a node calls; of a module its class."""
    if node.op != "call_module":
        return node.target
    return type(node.graph.owning_module.get_submodule(node.target))


# ---- entries ----


@dataclasses.dataclass
class PatternEntry:
    """A pattern, and a check of what was found."""

    pattern: PatternExpr
    extra_check: object

    def apply(self, match, graph, node):
        raise NotImplementedError

    def register(self, pass_dicts, target=None, prepend=False):
        """Adds the entry to a pass, or to several."""
        if target is None:
            for fn in self.pattern.fns:
                self.register(pass_dicts, fn, prepend=prepend)
        elif isinstance(pass_dicts, (dict, PatternMatcherPass)):
            entries = pass_dicts[(self.pattern.op, target)]
            entries.insert(0 if prepend else len(entries), self)
        else:
            for one in pass_dicts:
                self.register(one, target, prepend=prepend)


@dataclasses.dataclass
class GraphPatternEntry(PatternEntry):
    """A function that changes the graph around what was found."""

    handler: object

    def apply(self, match, graph, node):
        with graph.inserting_before(node):
            self.handler(match, *match.args, **match.kwargs)


@dataclasses.dataclass
class LoweringPatternEntry(PatternEntry):
    """A function of the operands that takes the place of what was found."""

    handler: object

    def apply(self, match, graph, node):
        arguments, structure = pytree.tree_flatten((tuple(match.args), match.kwargs))
        places = [i for i, leaf in enumerate(arguments) if isinstance(leaf, Node)]

        def lowered(*operands):
            leaves = list(arguments)
            for place, operand in zip(places, operands, strict=True):
                leaves[place] = operand
            args, kwargs = pytree.tree_unflatten(leaves, structure)
            return self.handler(match, *args, **kwargs)

        match.replace_by_example(lowered, [arguments[place] for place in places])


@dataclasses.dataclass
class ReplacementPatternEntry(PatternEntry):
    """A graph that takes the place of what was found."""

    normalize_args: object
    pattern_name: str | None = None

    def apply(self, match, graph, node):
        given = self.normalize_args(**match.kwargs)
        self.replace_with_graph(match, graph, match.replacement_graph, given)

    @staticmethod
    def replace_with_graph(match, graph, replacement_graph, args):
        """Copies a graph in front of the first result, which it replaces; gives the new results."""
        replacement = getattr(replacement_graph, "graph", replacement_graph)
        results = [node for node in match.output_nodes() if node is not None]
        known = dict(zip(replacement.find_nodes(op="placeholder"), args, strict=True))
        made = []
        with graph.inserting_before(_first_place(graph, results, args)):
            for node in replacement.nodes:
                if node.op == "get_attr":
                    raise NotImplementedError(
                        f"a replacement with the constant {node.target}; give it as an argument"
                    )
                if node.op != "call_function":
                    continue
                copy = graph.node_copy(node, lambda n: known[n])
                for name in ("stack_trace", "nn_module_stack"):
                    if name in results[0].meta:
                        copy.meta[name] = results[0].meta[name]
                copy.meta.pop("val", None)
                values = map_arg((copy.args, copy.kwargs), lambda n: n.meta.get("val"))
                copy.meta["val"] = copy.target(*values[0], **values[1])
                known[node] = copy
                made.append(copy)
        leaves = pytree.tree_leaves(
            replacement.output_node().args[0], is_leaf=lambda leaf: leaf is None
        )
        new = [known.get(leaf, leaf) if isinstance(leaf, Node) else leaf for leaf in leaves]
        old = match.output_nodes()
        if len(old) == 1 and isinstance(old[0].meta.get("val"), (list, tuple)):
            _replace_results(old[0], new)
            match.erase_nodes()
            stable_topological_sort(graph)
            return new
        if len(new) != len(old):
            raise AssertionError(f"{len(old)} results are replaced by {len(new)}")
        for before, after in zip(old, new, strict=True):
            if before is None:
                continue
            if after is None and before.users:
                raise AssertionError(f"{before} is used, and has no replacement")
            if isinstance(after, Node):
                before.replace_all_uses_with(after)
        match.erase_nodes()
        stable_topological_sort(graph)
        return new


def _replace_results(node, new):
    """Puts nodes in the places of the results of one node, which gives a list of them."""
    if len(new) != len(node.meta["val"]):
        raise AssertionError(f"{len(node.meta['val'])} results are replaced by {len(new)}")
    for user in list(node.users):
        if user.target is operator.getitem:
            user.replace_all_uses_with(new[user.args[1]])
            node.graph.erase_node(user)
        else:
            whole = map_arg((user.args, user.kwargs), lambda n: list(new) if n is node else n)
            user.args, user.kwargs = whole


def _first_place(graph, results, args):
    """The first of some nodes that stands behind all operands; nodes behind it are sorted later."""
    order = {node: i for i, node in enumerate(graph.nodes)}
    operands = [leaf for leaf in pytree.tree_leaves(args) if isinstance(leaf, Node)]
    last = max((order[node] for node in operands), default=-1)
    behind = [node for node in results if order[node] > last]
    return min(behind, key=order.get) if behind else max(results, key=order.get)


# ---- passes ----


class PatternMatcherPass:
    """Patterns that are looked for together.

    `apply` rewrites a graph and gives how often it found one, which counts for
    counters["inductor"]["pattern_matcher_count"] as well.
    """

    def __init__(self, pass_name=None, subsystem=None):
        self.patterns = defaultdict(list)
        self.seen_patterns = set()
        self.pass_name, self.subsystem = pass_name, subsystem

    def __getitem__(self, item):
        return self.patterns[item]

    def apply(self, gm):
        if not isinstance(gm, (GraphModule, Graph)):
            raise RuntimeError(
                "The input to PatternMatcherPass must be a GraphModule or a Graph, "
                f"but got {type(gm)}"
            )
        sizes = self.rewrite(gm.graph if isinstance(gm, GraphModule) else gm)
        if sizes:
            counters["inductor"]["pattern_matcher_count"] += len(sizes)
            counters["inductor"]["pattern_matcher_nodes"] += sum(sizes)
        return len(sizes)

    def rewrite(self, graph):
        """Rewrites a graph; the numbers of nodes of what was found."""
        sizes = []
        if not self.patterns:
            return sizes
        regions = _mutation_regions(graph)
        for node in reversed(list(graph.nodes)):
            if node._erased or not node.op.startswith("call_"):
                continue
            for entry in self.patterns.get((node.op, extract_target(node)), ()):
                if node._erased:
                    break
                found = entry.pattern.match(node)
                # Nothing moves across a write.
                if not is_match(found) or len({regions.get(n, -1) for n in found.nodes}) != 1:
                    continue
                if guard_or_false(entry.extra_check(found)):
                    sizes.append(len(found.nodes))
                    entry.apply(found, graph, node)
        return sizes

    def clear(self):
        self.patterns.clear()
        self.seen_patterns.clear()


def _mutation_regions(graph):
    """By node, how many writes stand before it."""
    regions, count = {}, 0
    for node in graph.nodes:
        schema = getattr(node.target, "_schema", None)
        count += bool(schema and schema.is_mutable)
        regions[node] = count
    return regions


def stable_topological_sort(graph):
    """Moves nodes behind what they read, and nothing else."""
    placed, waiting = set(), defaultdict(list)
    pending = list(reversed(list(graph.nodes)))
    cursor = graph._root
    while pending:
        node = pending.pop()
        missing = [read for read in node.all_input_nodes if read not in placed]
        if missing:
            waiting[missing[-1]].append(node)
            continue
        placed.add(node)
        if cursor.next is not node:
            cursor.append(node)
        cursor = node
        pending += reversed(waiting.pop(node, ()))
    if waiting:
        raise RuntimeError("the graph has a cycle")


# ---- registering ----


def register_graph_pattern(pattern, extra_check=_return_true, *, pass_dict, prepend=False):
    """Calls the function below it with each match, its args and kwargs, to change the graph."""

    def decorator(handler):
        GraphPatternEntry(pattern, extra_check, handler).register(pass_dict, prepend=prepend)
        return handler

    return decorator


def register_lowering_pattern(pattern, extra_check=_return_true, *, pass_dict, prepend=False):
    """Computes what matches by the function below it, of the match and its operands."""

    def decorator(handler):
        LoweringPatternEntry(pattern, extra_check, handler).register(pass_dict, prepend=prepend)
        return handler

    return decorator


def register_replacement(
    search_fn,
    replace_fn,
    example_inputs,
    trace_fn,
    pass_dicts,
    extra_check=_return_true,
    scalar_workaround=None,
    exclusive_arg_names=(),
    search_fn_pattern=None,
    skip_duplicates=False,
    pattern_name=None,
    get_decomp_fn=None,
):
    """Replaces what looks like a function by another one of the same arguments.

    `trace_fn` is `fwd_only`, or `joint_fwd_bwd` for graphs before they are cut. Sizes and other
    numbers that the trace of the examples holds are not compared; the function is traced again with
    what was found, and must be the same in all of it. With `skip_duplicates`, a pattern that one of
    the passes has already is left out, and the result is False.
    """
    if not isinstance(example_inputs, (list, tuple)):
        raise TypeError(f"example_inputs must be a list or tuple, got {type(example_inputs)}")
    names = list(inspect.signature(search_fn).parameters)
    numbers = dict(scalar_workaround or {})
    examples = list(example_inputs)
    for place, name in enumerate(names):
        if name in numbers and len(examples) < len(names):
            examples.insert(place, numbers[name])
    wants_grad = [isinstance(x, taeda.Tensor) and x.requires_grad for x in examples]

    def check(match):
        values = map_arg([match.kwargs[name] for name in names], lambda node: node.meta["val"])
        args = [
            value.detach().requires_grad_() if wants and isinstance(value, taeda.Tensor) else value
            for value, wants in zip(values, wants_grad, strict=True)
        ]
        specific = search_fn_pattern
        if specific is None:
            traced = trace_fn(search_fn, args)
            specific = fx_to_pattern(
                traced,
                argnames=names,
                scalar_workaround=numbers,
                exclusive_arg_names=exclusive_arg_names,
            )
        found = specific.match(match.output_nodes()[0])
        if not is_match(found) or not extra_check(found):
            return False
        match.replacement_graph = trace_fn(replace_fn, args)
        return True

    def normalize(**kwargs):
        given = [kwargs.pop(name) for name in names]
        for number in range(1, len(kwargs) + 1):
            given.append(kwargs.pop(f"tangents_{number}"))
        return given

    if trace_fn is joint_fwd_bwd and taeda.is_inference_mode_enabled():
        return False
    pattern = search_fn_pattern
    if pattern is None:
        pattern = gen_pattern(search_fn, examples, trace_fn, numbers, exclusive_arg_names)
    passes = [pass_dicts] if isinstance(pass_dicts, (dict, PatternMatcherPass)) else pass_dicts
    seen = [one.seen_patterns for one in passes if isinstance(one, PatternMatcherPass)]
    if skip_duplicates and any(repr(pattern) in known for known in seen):
        return False
    for known in seen:
        known.add(repr(pattern))
    entry = ReplacementPatternEntry(pattern, check, normalize, pattern_name)
    entry.register(pass_dicts)
    return entry.pattern


def gen_register_replacement(
    unique_name,
    search_fn,
    replace_fn,
    example_inputs,
    trace_fn,
    pass_dicts,
    extra_check=_return_true,
    scalar_workaround=None,
    exclusive_arg_names=(),
    skip_duplicates=False,
    get_decomp_fn=None,
):
    """`register_replacement` with a name. The pattern is traced here: no file holds it."""
    register_replacement(
        search_fn,
        replace_fn,
        tuple(example_inputs),
        trace_fn,
        pass_dicts,
        extra_check,
        scalar_workaround,
        exclusive_arg_names,
        skip_duplicates=skip_duplicates,
        pattern_name=unique_name,
        get_decomp_fn=get_decomp_fn,
    )


def gen_pattern(
    search_fn, example_inputs, trace_fn, scalar_workaround=None, exclusive_arg_names=()
):
    """The pattern of what a function calls, whatever the sizes and numbers."""
    return fx_to_pattern(
        trace_fn(search_fn, list(example_inputs)),
        ignore_types=(int, float, list, taeda.device, taeda.dtype),
        argnames=list(inspect.signature(search_fn).parameters),
        scalar_workaround=scalar_workaround,
        exclusive_arg_names=exclusive_arg_names,
    )


class _Converter(Interpreter):
    """Runs a graph on patterns in place of tensors."""

    def __init__(self, gm, ignore_types, argnames, scalar_workaround, exclusive_arg_names):
        super().__init__(gm)
        self.ignored, self.argnames = tuple(ignore_types), list(argnames)
        self.numbers = {value: name for name, value in (scalar_workaround or {}).items()}
        if len(self.numbers) != len(scalar_workaround or {}):
            raise AssertionError("two arguments have the same number in scalar_workaround")
        self.exclusive, self.count = exclusive_arg_names, itertools.count()

    def placeholder(self, target, args, kwargs):
        number = next(self.count)
        if number < len(self.argnames):
            name = self.argnames[number]
        else:
            name = target if self.argnames else re.sub(r"_\d+$", "", target)
        return (ExclusiveKeywordArg if name in self.exclusive else KeywordArg)(name)

    def call_function(self, target, args, kwargs):
        ignored = self.ignored
        if target is operator.getitem:  # which result it is matters
            ignored = tuple(kind for kind in ignored if kind is not int)

        def part(value):
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if is_number and value in self.numbers:
                return KeywordArg(self.numbers[value])
            if isinstance(value, (list, tuple)):
                items = [part(item) for item in value]
                whole = list in ignored and items and all(isinstance(i, Ignored) for i in items)
                return Ignored() if whole else items
            return Ignored() if type(value) in ignored else value

        return CallFunction(
            target, *map(part, args), **{name: part(value) for name, value in kwargs.items()}
        )

    def _refuse(self, target, args, kwargs):
        raise NotImplementedError(f"{target} in a pattern")

    call_method = call_module = get_attr = _refuse

    def run_node(self, n):
        made = super().run_node(n)
        if n.op == "call_function":
            made.users = len(n.users)
        return made


def fx_to_pattern(gm, ignore_types=(), argnames=(), scalar_workaround=None, exclusive_arg_names=()):
    """A graph as a pattern: its inputs are keyword arguments, by these names."""
    made = _Converter(gm, ignore_types, argnames, scalar_workaround, exclusive_arg_names).run()
    if isinstance(made, PatternExpr):
        return made
    leaves = pytree.tree_leaves(
        made, is_leaf=lambda leaf: leaf is None or isinstance(leaf, PatternExpr)
    )
    return leaves[0] if len(leaves) == 1 else MultiOutputPattern(leaves)


# ---- traces ----


def _as_passes_see(fn, args, stage):
    """What a function calls as passes of a stage see it, among other functions."""
    from taeda.fx.experimental.proxy_tensor import make_fx

    from . import compile, config

    # A pass may be at work now: what it traces is no graph of the program.
    stages = (
        "pre_grad_custom_pass",
        "joint_custom_pre_pass",
        "joint_custom_post_pass",
        "post_grad_custom_pre_pass",
        "post_grad_custom_post_pass",
    )
    seen = []
    tensors = [arg for arg in args if isinstance(arg, taeda.Tensor)]

    def of_tensors(*given):
        rest = iter(given)
        return fn(*(next(rest) if isinstance(arg, taeda.Tensor) else arg for arg in args))

    def keep(graph):
        # Numbers are inputs as well, which nothing reads: the trace has taken them as they are.
        copy, known = Graph(), {}
        inputs = iter(graph.find_nodes(op="placeholder"))
        for number, arg in enumerate(args):
            placeholder = copy.placeholder(f"arg{number}_1")
            if isinstance(arg, taeda.Tensor):
                known[next(inputs)] = placeholder
        copy.output(copy.graph_copy(graph, known))
        copy.eliminate_dead_code()
        seen.append(copy)

    # What it makes of sizes alone has no numbers either.
    with detect_fake_mode(tensors) or nullcontext():
        gm = make_fx(of_tensors, pre_dispatch=True)(*tensors)
        with config.patch(**dict.fromkeys(stages), freezing=False), config.patch(**{stage: keep}):
            compile(gm, tensors, native="never")
    return GraphModule(taeda.nn.Module(), seen[0])


@taeda.no_grad()
def fwd_only(fn, args, *, run_functional_passes=True, get_decomp_fn=None):
    """The graph of a function without gradients, in the operators that the compiler takes."""
    return _as_passes_see(fn, args, "post_grad_custom_pre_pass")


@taeda.enable_grad()
def joint_fwd_bwd(fn, args, *, get_decomp_fn=None):
    """The same with the gradients of the arguments that require them."""
    return _as_passes_see(fn, args, "joint_custom_pre_pass")


# ---- for checks ----


def config_flag(name):
    """A check that a setting of the compiler is on."""
    from . import config

    return lambda match: getattr(config, name)


def get_arg_value(node, arg_number, kwarg_name=None):
    """An argument by place or name; None where it is not given."""
    if len(node.args) > arg_number:
        return node.args[arg_number]
    return node.kwargs.get(kwarg_name)


def filter_nodes(nodes, fn):
    """The nodes that call a function, or an overload of it."""
    fns = [fn]
    if hasattr(fn, "overloads"):
        fns += [getattr(fn, name) for name in fn.overloads()]
    return [node for node in nodes if node.target in fns]


def init_once_fakemode(fn):
    """Runs a function that registers patterns once."""
    return functools.cache(fn)
