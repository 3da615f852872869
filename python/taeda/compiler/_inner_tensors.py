"""Graphs of the tensors inside of wrappers, in place of graphs whose calls wrappers answer.

A wrapper is an object of a class with `__torch_dispatch__`, `__tensor_flatten__` and
`__tensor_unflatten__`. The captured graph is traced on wrappers that are made of fake tensors:
their handlers answer while it is traced, and what is left are operators on the tensors inside,
which any backend compiles. A run takes the tensors inside, which the capture has as inputs of their
own, and puts its results together.

Gradients are those of wrappers, as eager has them: autograd records calls on wrappers, and handlers
answer the operators of its backward. So the joint graph is traced with autograd's backward as a
part of it, and the compiled program has one node in autograd's graph (`CompiledFunction`). What the
compiled backward does not serve, gradients of gradients and gradients of another structure than
that of the results, autograd computes from the captured graph, on inputs that are kept.

What a class does beside that (attributes that its two methods do not tell, inputs that change their
attributes, results with memory in common where there are gradients) leaves the graph as it is:
`compile_inside` gives None.
"""

import contextlib

import taeda
from taeda import _C
from taeda.amp._backward_scope import backward_scope
from taeda.fx.aot.partitioners import min_cut_rematerialization_partition
from taeda.fx.control_flow._regions import with_submodules
from taeda.fx.fake.tensors import FakeTensor, FakeTensorMode
from taeda.fx.graph_module import GraphModule
from taeda.utils import _pytree as pytree
from taeda.utils._wrapper_subclass import is_traceable_wrapper_subclass

__all__ = ["compile_inside"]

_NUMBERS = (taeda.SymInt, taeda.SymFloat, taeda.SymBool)


class _NotServedError(Exception):
    """The graph runs as it is."""


# ---- wrappers and what they are made of ----


class _Slot:
    """The place of a tensor or a number among the values of a run."""

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return isinstance(other, _Slot) and self.number == other.number

    __hash__ = None


def _filled(value, values):
    """The value with what a run gives in its slots."""
    return pytree.tree_map(lambda v: values[v.number] if isinstance(v, _Slot) else v, value)


class _Wrapper:
    """How a wrapper is made of values."""

    def __init__(self, kind, names, context, parts, size, stride):
        self.kind, self.names, self.context, self.parts = kind, names, context, parts
        self.size, self.stride = size, stride

    @classmethod
    def of_input(cls, tree):
        kind, names, context, parts, size, stride = tree
        _check_context(context)
        parts = [cls.of_input(p) if isinstance(p, tuple) else _Slot(p) for p in parts]
        return cls(kind, names, context, parts, size, stride)

    def made(self, values):
        parts = [
            p.made(values) if isinstance(p, _Wrapper) else values[p.number] for p in self.parts
        ]
        size = taeda.Size(_filled(list(self.size), values))
        stride = tuple(_filled(list(self.stride), values))
        context = _filled(self.context, values)
        inner = dict(zip(self.names, parts, strict=True))
        return self.kind.__tensor_unflatten__(inner, context, size, stride)


def _attributes(wrapper):
    """Names of what a wrapper holds, but for what captures and modules note of tensors."""
    names = getattr(wrapper, "__dict__", ())
    return {name for name in names if name != "_is_param" and not name.startswith("_dynamo_")}


def _tells_all(made, real):
    """Whether a wrapper that was put together is like the one taken apart."""
    if type(made) is not type(real) or made.dim() != real.dim():
        return False
    if not _attributes(real) <= _attributes(made):
        return False
    names, _ = real.__tensor_flatten__()
    pairs = [(getattr(made, name), getattr(real, name)) for name in names]
    return all(_tells_all(*pair) for pair in pairs if is_traceable_wrapper_subclass(pair[1]))


class _Parts:
    """Takes values apart; tensors inside and symbolic numbers are collected."""

    def __init__(self):
        self.leaves = []

    def add(self, value):
        """A slot, a _Wrapper, or the constant itself."""
        if isinstance(value, (*_NUMBERS, taeda.Tensor)):
            if is_traceable_wrapper_subclass(value):
                return self._of_wrapper(value)
            if not _is_plain(value):
                raise _NotServedError
            self.leaves.append(value)
            return _Slot(len(self.leaves) - 1)
        return value

    def _numbers_of(self, value):
        return pytree.tree_map(lambda v: self.add(v) if isinstance(v, _NUMBERS) else v, value)

    def _of_wrapper(self, wrapper):
        if not _C._is_memoryless(wrapper):
            raise _NotServedError
        names, context = wrapper.__tensor_flatten__()
        _check_context(context)
        parts = [self.add(getattr(wrapper, name)) for name in names]
        numbers = [self._numbers_of(list(n)) for n in (wrapper.size(), wrapper.stride())]
        return _Wrapper(type(wrapper), tuple(names), self._numbers_of(context), parts, *numbers)


def _check_context(context):
    if any(isinstance(leaf, taeda.Tensor) for leaf in pytree.tree_leaves(context)):
        raise _NotServedError


def _is_plain(value):
    return not isinstance(value, taeda.Tensor) or type(value) in (
        taeda.Tensor,
        taeda.nn.Parameter,
        FakeTensor,
    )


# ---- the program ----


class _Program:
    """A captured graph as a function of the tensors inside of its inputs."""

    def __init__(self, module, inputs, objects):
        self.module = module
        self.inputs = inputs
        self.wrappers = [tree and _Wrapper.of_input(tree) for _, tree, _ in objects]
        self.places = [i for i, wrapper in enumerate(self.wrappers) if wrapper is None]
        self.reals = [real for real, _, _ in objects]
        self.written = {i for i, (_, _, is_written) in enumerate(objects) if is_written}
        inside = [i for wrapper in self.wrappers if wrapper for i in _slots(wrapper)]
        self.are_inside = set(inside)

    def leaves(self, args):
        return [args[i] for i in self.places]

    def examples(self):
        return [v.detach() if isinstance(v, taeda.Tensor) else v for v in self.leaves(self.inputs)]

    def given(self, leaves, needed):
        """The graph's inputs, made of these values; those in `needed` require gradients."""
        values = dict(zip(self.places, leaves, strict=True))
        given = []
        for i, wrapper in enumerate(self.wrappers):
            value = values[i] if wrapper is None else wrapper.made(values)
            if wrapper is not None and not _tells_all(value, self.reals[i]):
                raise _NotServedError
            if i in needed:
                value = (value.detach() if wrapper is None else value).requires_grad_()
            given.append(value)
        return given

    def run(self, leaves, needed=()):
        """The inputs and results of the graph."""
        given = self.given(leaves, needed)
        before = [self._state(value) for value in given]
        with _C.DisableTorchFunctionSubclass():
            results = self.module.forward(*given)
        for value, state in zip(given, before, strict=True):
            if not _is_same_state(self._state(value), state):
                raise _NotServedError
        return given, list(results)

    @staticmethod
    def _state(value):
        if not is_traceable_wrapper_subclass(value):
            return None
        names, context = value.__tensor_flatten__()
        parts = [getattr(value, name) for name in names]
        shape = tuple(value.shape), tuple(value.stride())
        return tuple(names), context, shape, parts, dict(getattr(value, "__dict__", {}))


def _is_same_state(now, before):
    if before is None:
        return True
    (*now, parts, held), (*was, old_parts, old_held) = now, before
    return (
        now == was
        and all(a is b for a, b in zip(parts, old_parts, strict=True))
        and held.keys() == old_held.keys()
        and all(held[name] is old_held[name] for name in held)
    )


def _taken_apart(results, given):
    """How results are made of values, and the values."""
    parts, made = _Parts(), []
    for result in results:
        place = next((i for i, value in enumerate(given) if value is result), None)
        if place is not None and is_traceable_wrapper_subclass(result):
            made.append(("input", place))
            continue
        how = parts.add(result)
        made.append(("value", how))
        if isinstance(how, _Wrapper):
            again = how.made(dict(enumerate(parts.leaves)))
            is_whole = _tells_all(again, result) and _tells_all(result, again)
            if not is_whole or again.shape != result.shape:
                raise _NotServedError
    return made, parts.leaves


def _put_together(made, values, args):
    """The results of a run."""
    results = []
    for what, how in made:
        if what == "input":
            results.append(args[how])
        elif isinstance(how, _Wrapper):
            results.append(how.made(values))
        else:
            results.append(values[how.number] if isinstance(how, _Slot) else how)
    return tuple(results)


def _trace(function, leaves, mode, names, functionalizes):
    """A function of a list of values as a GraphModule, and the numbers of inputs it writes to.

    A functional graph gives the new values of these first.
    """
    options = {
        "functionalizes": functionalizes,
        "fake_mode": mode,
        "fakes": [v if isinstance(v, taeda.Tensor) else None for v in leaves],
        "names": names,
    }
    graph, constants, written, _, _ = _C._fx.trace_program(function, leaves, options)
    root = with_submodules(graph)
    for name, value in constants.items():
        setattr(root, name, value)
    return GraphModule(root, graph), written


def _mode_of(leaves):
    for leaf in leaves:
        if isinstance(leaf, taeda.Tensor):
            return _C._fx.fake_mode_of(leaf)
    return FakeTensorMode()


def compile_inside(module, inputs, objects, compile_plain):
    """The captured graph as a function of its inputs; None where it must run as it is.

    inputs: fake tensors. objects: by input the program's object, how it is taken apart, or None,
    and whether the graph writes to it.
    compile_plain: compiles a GraphModule of plain tensors, with examples.
    """
    needed = [
        i
        for i, value in enumerate(inputs)
        if isinstance(value, taeda.Tensor) and value.requires_grad
    ]
    try:
        program = _Program(module, inputs, objects)
        if needed and taeda.is_grad_enabled():
            if not program.written.isdisjoint(needed):
                return None
            return _Training(program, set(needed), compile_plain)
        return _without_gradients(program, compile_plain)
    except _NotServedError:
        return None


def _without_gradients(program, compile_plain):
    leaves = program.examples()
    made = None

    def function(values):
        nonlocal made
        given, results = program.run(values)
        made, values = _taken_apart(results, given)
        return values

    names = [f"inner_{i}" for i in range(len(leaves))]
    graph, _ = _trace(function, leaves, _mode_of(leaves), names, functionalizes=False)
    inner = compile_plain(graph, leaves)

    def run(*args):
        return _put_together(made, inner(*program.leaves(args)), args)

    run._writes_last = True
    return run


# ---- gradients ----


def _have_common_histories(given, results):
    """Whether a result is an input or a view of one, or two results are views of one tensor."""
    seen = {id(value) for value in given if isinstance(value, taeda.Tensor)}
    for result in results:
        if isinstance(result, taeda.Tensor):
            base = id(result._base if result._is_view() else result)
            if base in seen:
                return True
            seen.add(base)
    return False


def _share_memory(made, values, leaves):
    """Whether a plain result lies in the memory of an input or of another result."""
    memories = [v.untyped_storage()._cdata for v in values if isinstance(v, taeda.Tensor)]
    memories += [v.untyped_storage()._cdata for v in leaves if isinstance(v, taeda.Tensor)]
    return any(
        memories.count(values[how.number].untyped_storage()._cdata) > 1
        for _, how in made
        if isinstance(how, _Slot) and isinstance(values[how.number], taeda.Tensor)
    )


def _examples(graph):
    return [node.meta["val"] for node in graph.graph.find_nodes(op="placeholder")]


def _draws(node):
    return taeda.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def _slots(how):
    """The numbers of the tensors that a value is made of."""
    if isinstance(how, _Slot):
        return [how.number]
    return [number for part in how.parts for number in _slots(part)]


class _Tangent:
    """How the gradient of a result is made of tensors; `looks` are theirs, by slot.

    looks: None where the tensors look like those of the result, which have the same slots.
    """

    def __init__(self, how, looks=None):
        self.how, self.looks, self.slots = how, looks, _slots(how)

    def looks_of_slots(self, looks):
        """What its tensors look like; `looks` are those of the results."""
        return [(looks if self.looks is None else self.looks)[i] for i in self.slots]

    def made(self, leaves, values):
        """The gradient, of the tensors of its slots; `values` are those of the results."""
        values = {**(values if self.looks is None else {}), **dict(zip(self.slots, leaves))}
        return self.how.made(values) if isinstance(self.how, _Wrapper) else leaves[0]

    def leaves_of(self, grad, looks, numbers):
        """The tensors of a gradient, in dense memory; None where it is made in another way.

        looks, numbers: what the tensors of results look like, and their numbers, by slot.
        """
        parts = _Parts()
        try:
            how = parts.add(grad)
        except _NotServedError:
            return None
        looks = looks if self.looks is None else self.looks

        def is_same(how, expected):
            if isinstance(how, _Slot) or isinstance(expected, _Slot):
                if type(how) is not type(expected):
                    return False
                return _look(parts.leaves[how.number]) == looks[expected.number]
            return (
                how.kind is expected.kind
                and how.names == expected.names
                and how.context == _filled(expected.context, numbers)
                and all(map(is_same, how.parts, expected.parts))
            )

        return [leaf.contiguous() for leaf in parts.leaves] if is_same(how, self.how) else None


def _has_symbols(value):
    return isinstance(value, _NUMBERS) or (
        isinstance(value, taeda.Tensor)
        and any(isinstance(n, taeda.SymInt) for n in (*value.shape, *value.stride()))
    )


def _look(tensor):
    return tensor.dtype, tuple(tensor.shape), tensor.device


class _Joint:
    """The forward and the backward of a program, compiled for gradients of some structure.

    tangents: by result that has a gradient; None where none is given. Without it gradients have the
    structure of the results.
    """

    def __init__(self, program, needed, compile_plain, tangents=None):
        self.program, self.needed = program, sorted(needed)
        leaves = program.examples()
        mode = _mode_of(leaves)
        with mode, taeda.enable_grad():
            made, values = self._results(leaves)
            self.like_results = [_Tangent(how) for _, how in self._that_have_gradients(made)]
            self.tangents = self.like_results if tangents is None else tangents
            self.num_values = len(values)
            self.has_symbols = any(map(_has_symbols, leaves))
            looks = {i: _look(v) for i, v in enumerate(values) if isinstance(v, taeda.Tensor)}
            examples = [
                taeda.empty(shape, dtype=dtype, device=device)
                for tangent in self.tangents
                if tangent is not None
                for dtype, shape, device in tangent.looks_of_slots(looks)
            ]
        self._trace(leaves, examples, mode, compile_plain)

    def _that_have_gradients(self, results):
        return [r for r, is_needed in zip(results, self.are_needed, strict=True) if is_needed]

    def _results(self, leaves):
        """How results are made, and of what, where gradients can be those of eager."""
        given, results = self.program.run(leaves, self.needed)
        self.are_needed = [isinstance(r, taeda.Tensor) and r.requires_grad for r in results]
        made, values = _taken_apart(results, given)
        if _have_common_histories(given, results) or _share_memory(made, values, leaves):
            raise _NotServedError
        if any(result.is_leaf for result in self._that_have_gradients(results)):
            raise _NotServedError
        return made, values

    def _trace(self, leaves, examples, mode, compile_plain):
        def function(values):
            primals, tangents = values[: len(leaves)], iter(values[len(leaves) :])
            with taeda.enable_grad():
                given, results = self.program.run(primals, self.needed)
                self.made, values = _taken_apart(results, given)
                by_slot = dict(enumerate(values))
                roots = self._that_have_gradients(results)
                pairs = [
                    (root, tangent.made([next(tangents) for _ in tangent.slots], by_slot))
                    for root, tangent in zip(roots, self.tangents, strict=True)
                    if tangent is not None
                ]
                wanted = [given[i] for i in self.needed]
                with _eager_backward():
                    grads = _gradients(pairs, wanted)
            parts = _Parts()
            self.grads = [None if grad is None else parts.add(grad) for grad in grads]
            return [*values, *parts.leaves]

        names = [f"primals_{i + 1}" for i in range(len(leaves))]
        names += [f"tangents_{i + 1}" for i in range(len(examples))]
        joint, written = _trace(function, [*leaves, *examples], mode, names, True)
        # Statistics of a normalization, and the like.
        self.written = [self.program.places[i] for i in written]
        if not self.program.are_inside.isdisjoint(self.written):
            raise _NotServedError
        self.draws = any(map(_draws, joint.graph.nodes))
        forward, backward = min_cut_rematerialization_partition(
            joint, None, num_fwd_outputs=len(written) + self.num_values
        )
        with taeda.no_grad():
            self.run_forward = compile_plain(forward, _examples(forward))
            self.run_backward = compile_plain(backward, _examples(backward))

    def forward(self, args):
        """What results are made of, what the backward takes, and the inputs as they were."""
        leaves = self.program.leaves(args)
        copies = {i: args[i].clone() for i in self.written}
        found = list(self.run_forward(*leaves))
        saved = found[len(self.written) + self.num_values :]
        saved = [next((c for i, c in copies.items() if args[i] is v), v) for v in saved]
        for i, value in zip(self.written, found):
            args[i].copy_(value)
        before = [copies.get(i, arg) for i, arg in enumerate(args)]
        return found[len(self.written) : len(self.written) + self.num_values], saved, before

    def gradients(self, ctx, saved, grads):
        """Of inputs in `needed`; None where the gradients given are of another structure."""
        leaves = []
        for tangent, grad in zip(self.tangents, grads, strict=True):
            if (tangent is None) != (grad is None):
                return None
            if tangent is None:
                continue
            found = tangent.leaves_of(grad, ctx.looks, ctx.numbers)
            if found is None:
                return None
            leaves += found
        values = self.run_backward(*saved, *leaves)
        return [
            how.made(values) if isinstance(how, _Wrapper) else how and values[how.number]
            for how in self.grads
        ]

    def structure_of(self, ctx, grads):
        """Tangents like these gradients; None where sizes are symbols, which they do not tell."""
        tangents = []
        for grad, like in zip(grads, self.like_results, strict=True):
            if grad is None or like.leaves_of(grad, ctx.looks, ctx.numbers) is not None:
                tangents.append(None if grad is None else like)
                continue
            parts = _Parts()
            try:
                how = parts.add(grad)
            except _NotServedError:
                return None
            if self.has_symbols:
                return None
            tangents.append(_Tangent(how, dict(enumerate(map(_look, parts.leaves)))))
        return tangents


def _gradients(pairs, wanted, **options):
    if not pairs:
        return [None] * len(wanted)
    roots, tangents = zip(*pairs)
    return taeda.autograd.grad(roots, wanted, tangents, allow_unused=True, **options)


@contextlib.contextmanager
def _eager_backward():
    """Eager's `backward()` is called outside of autocast."""
    leave = backward_scope("off")()
    try:
        yield
    finally:
        leave()


def _casting():
    """The autocast of this thread, by device."""
    return [
        {
            "device_type": kind,
            "enabled": taeda.is_autocast_enabled(kind),
            "dtype": taeda.get_autocast_dtype(kind),
        }
        for kind in ("cpu", "cuda")
    ]


class CompiledFunction(taeda.autograd.Function):
    """The compiled program in autograd's graph."""

    @staticmethod
    def forward(ctx, training, *args):
        ctx.training, ctx.joint = training, training.joint
        joint = ctx.joint
        ctx.random = taeda.get_rng_state() if joint.draws else None
        ctx.casting = _casting()
        values, saved, before = joint.forward(args)
        results = _put_together(joint.made, values, args)
        ctx.looks = {i: _look(v) for i, v in enumerate(values) if isinstance(v, taeda.Tensor)}
        ctx.numbers = {i: v for i, v in enumerate(values) if not isinstance(v, taeda.Tensor)}
        kept = (*before, *saved)
        ctx.kept = [None if isinstance(v, taeda.Tensor) else v for v in kept]
        ctx.num_inputs = len(args)
        ctx.save_for_backward(*(v if isinstance(v, taeda.Tensor) else None for v in kept))
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(
            *(
                result
                for result, is_needed in zip(results, joint.are_needed, strict=True)
                if isinstance(result, taeda.Tensor) and not is_needed
            )
        )
        return results

    @staticmethod
    def backward(ctx, *grads):
        joint = ctx.joint
        tensors = ctx.saved_tensors
        kept = [t if other is None else other for t, other in zip(tensors, ctx.kept, strict=True)]
        args, saved = kept[: ctx.num_inputs], kept[ctx.num_inputs :]
        grads = [g for g, is_needed in zip(grads, joint.are_needed, strict=True) if is_needed]
        found = None
        if not taeda.is_grad_enabled():
            found = joint.gradients(ctx, saved, grads)
            if found is None:
                ctx.training.learn(joint.structure_of(ctx, grads))
        if found is None:
            found = ctx.training.by_operator(ctx, args, grads)
        by_input = dict(zip(joint.needed, found, strict=True))
        return None, *(by_input.get(i) for i in range(len(args)))


class _Training:
    """The compiled program where gradients are wanted."""

    _writes_last = True  # behind what may fail
    # Structures of gradients that a program is compiled for; others are left to autograd.
    most_structures = 4

    def __init__(self, program, needed, compile_plain):
        self.program, self.needed, self.compile_plain = program, needed, compile_plain
        self.joint = _Joint(program, needed, compile_plain)
        self.num_structures = 1
        self.tangents = None  # of the next program

    def learn(self, tangents):
        """Later calls are compiled for gradients of this structure."""
        if tangents is not None and self.num_structures < self.most_structures:
            self.tangents = tangents

    def __call__(self, *args):
        # Compiled where guards hold: in the modes of the program's forward.
        if self.tangents is not None:
            tangents, self.tangents = self.tangents, None
            self.num_structures += 1
            with contextlib.suppress(_NotServedError):
                self.joint = _Joint(self.program, self.needed, self.compile_plain, tangents)
        return CompiledFunction.apply(self, *args)

    def by_operator(self, ctx, args, grads):
        """The same gradients, as autograd has them of the captured graph."""
        with contextlib.ExitStack() as scopes:
            if ctx.random is not None:
                scopes.enter_context(taeda.random.fork_rng())
                taeda.set_rng_state(ctx.random)
            is_recorded = taeda.is_grad_enabled()
            with taeda.enable_grad(), contextlib.ExitStack() as casting:
                for options in ctx.casting:
                    casting.enter_context(taeda.autocast(**options))
                casting.enter_context(_C.DisableTorchFunctionSubclass())
                results = self.program.module.forward(*args)
        roots = [r for r, is_needed in zip(results, ctx.joint.are_needed, strict=True) if is_needed]
        pairs = [(r, g) for r, g in zip(roots, grads, strict=True) if g is not None]
        wanted = [args[i] for i in ctx.joint.needed]
        return _gradients(pairs, wanted, create_graph=is_recorded)
