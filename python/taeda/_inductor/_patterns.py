"""Patterns of nodes, and what is found of them in a graph."""

from taeda.fx import Node
from taeda.utils import _pytree as pytree

MULTIPLE = object()  # any number of users


class FailedMatch(RuntimeError):  # noqa: N818 - the name is PyTorch's
    """Why a pattern is not there; counts as false."""

    def __init__(self, format_string, *args, **kwargs):
        super().__init__(format_string)
        self.format_string, self.args, self.kwargs = format_string, args, kwargs

    def __str__(self):
        return self.format_string.format(*self.args, **self.kwargs)

    def __bool__(self):
        return False


class Match:
    """A pattern that was found: its nodes, and what its arguments stand for."""

    def __init__(self, ctx, pattern, args=None, kwargs=None):
        self.ctx, self.pattern = ctx, pattern
        self.args, self.kwargs = list(args or ()), dict(kwargs or {})
        self.nodes, self.targets = [], {}
        self.replacement_graph = None

    def __repr__(self):
        return f"Match(..., {self.args}, {self.kwargs})"

    @property
    def graph(self):
        return self.ctx.graph

    def extend(self, other):
        """Adds what another part of the pattern matched."""
        for name in self.kwargs.keys() & other.kwargs.keys():
            if self.kwargs[name] != other.kwargs[name]:
                raise FailedMatch("kwarg mismatch: {}", name)
        self.args += other.args
        self.nodes += other.nodes
        self.kwargs |= other.kwargs
        self.targets |= other.targets

    def bundle(self):
        """The arguments as one."""
        self.args = [tuple(self.args)] if self.args else []
        return self

    def erase_nodes(self):
        """Erases what nothing reads any longer."""
        for node in reversed(self.nodes):
            if not node._erased and not node.users:
                self.graph.erase_node(node)

    def output_nodes(self):
        """By result of the pattern the node; None where the pattern has none."""
        return [p and self.ctx.pattern_to_node[p] for p in self.ctx.outputs]

    def output_node(self):
        return next(node for node in self.output_nodes() if node is not None)

    def replace_with_graph(self, replacement_graph, args):
        """Puts a graph of these arguments in the place of the nodes."""
        from .pattern_matcher import ReplacementPatternEntry

        return ReplacementPatternEntry.replace_with_graph(self, self.graph, replacement_graph, args)

    def replace_by_example(self, replacement_fn, args, trace_fn=None, run_functional_passes=True):
        """Puts what a function calls on these arguments in the place of the nodes."""
        from taeda.fx.node import map_arg

        from .pattern_matcher import fwd_only

        values = map_arg(tuple(args), lambda node: node.meta["val"])
        return self.replace_with_graph((trace_fn or fwd_only)(replacement_fn, values), args)


class MatchContext:
    """One attempt: which node each part of the pattern stands for."""

    def __init__(self, outputs, pattern_to_node=None, *, graph):
        self.outputs, self.graph = outputs, graph
        self.pattern_to_node = dict(pattern_to_node or {})

    def match(self, pattern, node):
        # A part that the pattern has twice is one node.
        if pattern in self.pattern_to_node:
            if self.pattern_to_node[pattern] is node:
                return Match(self, pattern)
            return FailedMatch("repeated pattern differs")
        found = pattern._match(node, self)
        self.pattern_to_node[pattern] = node if found else None
        return found


def is_match(found):
    return isinstance(found, Match)


class PatternExpr:
    """A part of a pattern; compared by identity."""

    def _match(self, node, ctx):
        raise NotImplementedError

    def match(self, node):
        """A Match with the node as the pattern's result, or a FailedMatch."""
        try:
            return MatchContext([self], graph=node.graph).match(self, node)
        except FailedMatch as failure:
            return failure

    def has_multiple_users(self):
        return False

    def __repr__(self):
        return f"{type(self).__name__}()"

    def _anchors(self, ctx, searched):
        """Nodes that may be this part, found from those that are known."""
        if self in ctx.pattern_to_node:
            yield ctx.pattern_to_node[self]


class Arg(PatternExpr):
    """Anything: the next of the match's args."""

    def _match(self, node, ctx):
        return Match(ctx, self, args=[node])


class Ignored(PatternExpr):
    """Anything, and nobody asks what."""

    def _match(self, node, ctx):
        return Match(ctx, self)

    def __repr__(self):
        return "*"


class KeywordArg(PatternExpr):
    """Anything: one of the match's kwargs."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"KeywordArg({self.name!r})"

    def _match(self, node, ctx):
        return Match(ctx, self, kwargs={self.name: node})


class ExclusiveKeywordArg(KeywordArg):
    """The same, of a node that no other argument stands for."""

    def __repr__(self):
        return f"ExclusiveKeywordArg({self.name!r})"

    def _match(self, node, ctx):
        if any(known is node for known in ctx.pattern_to_node.values()):
            return FailedMatch("exclusive arg appears twice")
        return super()._match(node, ctx)


class _TargetExpr(PatternExpr):
    """A call of one of some functions."""

    op = None

    def __init__(self, fns, users=1):
        fns = [fns] if callable(fns) or isinstance(fns, (str, type)) else list(fns)
        for fn in list(fns):
            # A packet stands for all of its overloads.
            if self.op == "call_function" and hasattr(fn, "overloads"):
                fns += [getattr(fn, name) for name in fn.overloads()]
        self.fns, self.users = fns, users
        self.fns_set = set(fns)

    def has_multiple_users(self):
        return self.users is MULTIPLE or self.users > 1

    def _match_fns(self, node):
        return isinstance(node, Node) and node.op == self.op and self._target(node) in self.fns_set

    @staticmethod
    def _target(node):
        from .pattern_matcher import extract_target

        return extract_target(node)

    def _match_users(self, node, ctx):
        is_result = any(self is output for output in ctx.outputs)
        return is_result or self.users is MULTIPLE or len(node.users) == self.users

    def _check_call(self, node, ctx):
        """Why the node is no such call; None where it is."""
        if not self._match_fns(node):
            return FailedMatch("function_mismatch: node={}, pattern={}", node, self)
        if not self._match_users(node, ctx):
            return FailedMatch("multiple_users {}", self)
        return None


class _TargetArgsExpr(_TargetExpr):
    """The call with patterns, or constants, as its arguments."""

    def __init__(self, fns, *args, _users=1, **kwargs):
        super().__init__(fns, _users)
        self.args, self.kwargs = tuple(args), dict(kwargs)
        self._leaves, self._structure = self._flatten(self.args, self.kwargs)

    def __repr__(self):
        name = getattr(self.fns[0], "__name__", str(self.fns[0]))
        given = [name, *map(repr, self.args), *(f"{k}={v!r}" for k, v in self.kwargs.items())]
        return f"{type(self).__name__}({', '.join(given)})"

    @staticmethod
    def _flatten(args, kwargs):
        # Lists of nodes are of several classes, which mean the same.
        def plain(value):
            if isinstance(value, (list, tuple)):
                return [plain(item) for item in value]
            if isinstance(value, dict):
                return {name: plain(item) for name, item in value.items()}
            return value

        return pytree.tree_flatten(
            (plain(args), plain({name: kwargs[name] for name in sorted(kwargs)})),
            is_leaf=lambda v: v is None or isinstance(v, PatternExpr),
        )

    def _given(self, node):
        """The call's arguments in the form of the pattern's; None where it has others."""
        args, kwargs = node.args, dict(node.kwargs)
        if len(args) != len(self.args):
            return None
        if len(kwargs) < len(self.kwargs):
            from taeda.fx.operator_schemas import normalize_function

            normalized = normalize_function(node.target, node.args, node.kwargs)
            if normalized is None or len(normalized[0]) != len(self.args):
                return None
            args, kwargs = normalized
        return args, {name: kwargs[name] for name in kwargs if name in self.kwargs}

    def _match(self, node, ctx):
        failure = self._check_call(node, ctx)
        if failure is not None:
            return failure
        given = self._given(node)
        if given is None:
            return FailedMatch("function_mismatch: node={}, pattern={}", node, self)
        leaves, structure = self._flatten(*given)
        # A list of any length stands for a part that is ignored, or taken as a whole.
        if structure != self._structure:
            leaves = self._whole_lists(*given)
            if leaves is None:
                return FailedMatch("args_structure {} {}", structure, self._structure)
        found = Match(ctx, self)
        for pattern, value in zip(self._leaves, leaves, strict=True):
            if isinstance(pattern, PatternExpr):
                part = ctx.match(pattern, value)
                if not is_match(part):
                    return part
                found.extend(part)
            elif isinstance(value, Node) or value != pattern:
                return FailedMatch("constant_args: {} {!r}!={!r}", node, value, pattern)
        found.nodes.append(node)
        found.targets[self] = node.target
        return found

    def _whole_lists(self, args, kwargs):
        """The arguments one by one, where no argument of the pattern is a list."""
        own = [*self.args, *(self.kwargs[name] for name in sorted(self.kwargs))]
        if any(isinstance(value, (list, tuple, dict)) for value in own):
            return None
        if kwargs.keys() != self.kwargs.keys():
            return None
        return [*args, *(kwargs[name] for name in sorted(kwargs))]

    def _anchors(self, ctx, searched):
        if self in ctx.pattern_to_node:
            yield ctx.pattern_to_node[self]
            return
        for pattern in self._leaves:
            if not isinstance(pattern, PatternExpr):
                continue
            for known in pattern._anchors(ctx, searched):
                if not isinstance(known, Node):
                    continue
                for user in known.users:
                    if user not in searched and self._match_fns(user):
                        searched.add(user)
                        yield user


class CallFunction(_TargetArgsExpr):
    """Matches a call of a function: `CallFunction(aten.add.Tensor, Arg(), KeywordArg("x"))`."""

    op = "call_function"


class CallMethod(_TargetArgsExpr):
    """Matches a call of a tensor's method, by its name."""

    op = "call_method"


class CallModule(_TargetArgsExpr):
    """Matches a call of a module, by its class."""

    op = "call_module"


class _TargetExprVarArgs(_TargetExpr):
    """The call with any arguments, which become those of the match."""

    def _match(self, node, ctx):
        failure = self._check_call(node, ctx)
        if failure is not None:
            return failure
        found = Match(ctx, self, args=node.args, kwargs=node.kwargs)
        found.nodes.append(node)
        found.targets[self] = node.target
        return found


class CallFunctionVarArgs(_TargetExprVarArgs):
    """Matches a call of a function with any arguments."""

    op = "call_function"


class CallMethodVarArgs(_TargetExprVarArgs):
    """Matches a call of a method with any arguments."""

    op = "call_method"


class CallModuleVarArgs(_TargetExprVarArgs):
    """Matches a call of a module with any arguments."""

    op = "call_module"


class ListOf(PatternExpr):
    """A list whose items all look like a pattern; with `partial`, some of them."""

    def __init__(self, pattern, partial=False):
        self.pattern, self.partial = pattern, partial

    def __repr__(self):
        return f"ListOf({self.pattern!r})"

    def _match(self, node, ctx):
        if not isinstance(node, (list, tuple)) or not node:
            return FailedMatch("non_list")
        found, matched = Match(ctx, self), False
        # What several items share must be the same; the pattern itself is another node in each.
        known = ctx.pattern_to_node
        for item in node:
            attempt = MatchContext(ctx.outputs, known, graph=ctx.graph)
            part = attempt.match(self.pattern, item)
            if not is_match(part):
                if self.partial:
                    continue
                return FailedMatch("list[{}]: {}", item, part)
            shared = attempt.pattern_to_node.items()
            known = {p: n for p, n in shared if p in ctx.pattern_to_node or p.has_multiple_users()}
            matched = True
            found.extend(part.bundle())
        return found.bundle() if matched else FailedMatch("list: no_match")


class MultiOutputPattern(PatternExpr):
    """Several results that have parts in common; None for one that is not looked at."""

    def __init__(self, outputs):
        self.outputs = list(outputs)
        self.op = self.outputs[0].op

    @property
    def fns(self):
        return self.outputs[0].fns

    def __repr__(self):
        return f"MultiOutputPattern({self.outputs})"

    def match(self, node):
        try:
            return self._match(node, MatchContext(self.outputs, graph=node.graph))
        except FailedMatch as failure:
            return failure

    def _match(self, node, ctx):
        found = ctx.match(self.outputs[0], node)
        for pattern in self.outputs[1:]:
            if not is_match(found):
                return found
            if pattern is not None:
                found.extend(self._find(pattern, ctx))
        found.pattern = self
        return found

    @staticmethod
    def _find(pattern, ctx):
        before = dict(ctx.pattern_to_node)
        failure = FailedMatch("no anchor found")
        for node in list(pattern._anchors(ctx, set())):
            part = ctx.match(pattern, node)
            if is_match(part):
                return part
            failure = part
            ctx.pattern_to_node = dict(before)
        raise failure
