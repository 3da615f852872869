"""Autograd Functions that read data: calls back into Python from a compiled program.

A Function whose forward or backward cannot be traced (it asks for elements, calls NumPy) is one
operator in the forward graph and one in the backward graph. What these give for a trace is learned
by a run of the forward on the values of the inputs.
"""

import contextlib
import functools
import itertools
import threading
import weakref

import taeda
from taeda import _C
from taeda._ops import ops
from taeda.autograd.function import Function, once_differentiable
from taeda.fx.fake.tensors import FakeTensor
from taeda.fx.node import has_side_effect

_sites = weakref.WeakValueDictionary()  # by number
_runs = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


class _Run(bytearray):
    """What a backward needs of its forward: alive as long as a tensor over these bytes is."""


class _Site:
    """One call of a Function in a program."""

    def __init__(self, cls, args, needs):
        self.cls, self.needs = cls, needs
        self.name = f"{cls.__module__}.{cls.__qualname__}"
        self.constants = [None if isinstance(a, taeda.Tensor) else a for a in args]
        self.is_tensor = [isinstance(a, taeda.Tensor) for a in args]
        self.number = next(_numbers)
        self.first = None  # results of the run by which a trace learns
        _sites[self.number] = self

    def call(self, tensors):
        """The Function on tensors: leaves that its gradients are of, and its results."""
        # Copies: a plan uses the memory of its values again, and the Function may keep tensors.
        given = zip(tensors, self.needs, strict=True)
        leaves = [t.detach().clone().requires_grad_(needs) for t, needs in given]
        given = iter(leaves)
        args = [next(given) if t else c for t, c in zip(self.is_tensor, self.constants)]
        with taeda.enable_grad():
            results = self.cls.apply(*args)
        return leaves, results if isinstance(results, tuple) else (results,)

    def learn(self, tensors):
        """Runs the forward and remembers what its results look like."""
        leaves, results = self.first = self.call(tensors)
        for result in results:
            if not isinstance(result, taeda.Tensor):
                raise NotImplementedError(
                    f"{self.name} cannot be traced and gives {type(result).__name__}; "
                    "such a Function may give tensors alone"
                )
        for leaf in leaves:
            if leaf._version != 0:
                raise NotImplementedError(
                    f"{self.name} cannot be traced and writes to its arguments"
                )
        self.dtypes = [r.dtype for r in results]
        self.devices = [r.device for r in results]
        self.has_gradient = [r.requires_grad for r in results]
        self.sizes = [tuple(r.shape) for r in results]
        # A result as large as an argument is so for all its sizes: this is checked at each run.
        shapes = [tuple(t.shape) for t in tensors]
        self.like = [shapes.index(s) if s in shapes else None for s in self.sizes]

    def result_sizes(self, tensors):
        return [
            tuple(tensors[like].shape) if like is not None else sizes
            for like, sizes in zip(self.like, self.sizes)
        ]


def _forward(number, tensors):
    site = _sites[number]
    leaves, results = site.first or site.call(tensors)
    expected = site.result_sizes(tensors)
    for result, sizes, dtype in zip(results, expected, site.dtypes, strict=True):
        if tuple(result.shape) != sizes or result.dtype != dtype:
            raise RuntimeError(
                f"{site.name} gave {result.dtype} of sizes {list(result.shape)} and was compiled "
                f"for {dtype} of sizes {list(sizes)}"
            )
    # The compiled program's values lie in memory of their own.
    own = [r.detach().clone(memory_format=taeda.contiguous_format) for r in results]
    run = _Run(next(_numbers).to_bytes(8, "little"))
    if site.first is None:  # a trace keeps what is computed along with it
        run.leaves, run.results = leaves, results
        _runs[int.from_bytes(run, "little")] = run
    return [*own, taeda.frombuffer(run, dtype=taeda.int64)]


def _fake_forward(number, tensors):
    site = _sites[number]
    made = zip(site.result_sizes(tensors), site.dtypes, site.devices)
    results = [taeda.empty(sizes, dtype=dtype, device=device) for sizes, dtype, device in made]
    return [*results, taeda.empty(1, dtype=taeda.int64)]


def _gradient(number, token, grads, sizes):
    site, run = _sites[number], _runs[token.item()]
    wanted = [leaf for leaf, needs in zip(run.leaves, site.needs) if needs]
    results = [r for r, has in zip(run.results, site.has_gradient) if has]
    with taeda.enable_grad():
        found = taeda.autograd.grad(results, wanted, grads, retain_graph=True, allow_unused=True)
    return [
        taeda.zeros_like(leaf, memory_format=taeda.contiguous_format)
        if grad is None
        else grad.detach().clone(memory_format=taeda.contiguous_format)
        for leaf, grad in zip(wanted, found, strict=True)
    ]


def _fake_gradient(number, token, grads, sizes):
    made, at = [], iter(sizes)
    for dtype, device, rank in _sites[number].gradients:
        made.append(taeda.empty([next(at) for _ in range(rank)], dtype=dtype, device=device))
    return made


# A traced tensor may stand for another one, which alone has values: an operator is run on them.
_seen = threading.local()


def _look(x):
    _seen.values.append(x.clone())
    return x.clone()


def _value_of(tensor):
    """What a traced tensor holds at this place of the program; None where that is not known."""
    _seen.values = []
    with taeda.no_grad():
        _operators()[0].look(tensor)
    return _seen.values.pop() if _seen.values else None


def _forget_looks(graph):
    for node in graph.find_nodes(op="call_function", target=_operators()[0].look.default):
        graph.erase_node(node)


@functools.cache
def _operators():
    """The two operators, defined when a program first needs them."""
    from taeda.library import Library, register_fake

    library = Library("taeda_callbacks", "DEF")
    library.define("look(Tensor x) -> Tensor")
    library.define("forward(int site, Tensor[] tensors) -> Tensor[]")
    library.define("gradient(int site, Tensor run, Tensor[] grads, SymInt[] sizes) -> Tensor[]")
    for name, real, fake in (
        ("look", _look, taeda.empty_like),
        ("forward", _forward, _fake_forward),
        ("gradient", _gradient, _fake_gradient),
    ):
        library.impl(name, real, "CompositeExplicitAutograd")
        register_fake(f"taeda_callbacks::{name}", fake, lib=library)
        if name != "look":
            has_side_effect(getattr(ops.taeda_callbacks, name).default)
    return ops.taeda_callbacks, library


class _Callback(Function):
    """The call in a trace."""

    @staticmethod
    def forward(ctx, site, *tensors):
        *results, token = _operators()[0].forward(site.number, list(tensors))
        ctx.site = site
        ctx.save_for_backward(token)
        wanted = [t for t, needs in zip(tensors, site.needs) if needs]
        ctx.sizes = [size for t in wanted for size in t.shape]
        site.gradients = [(t.dtype, t.device, t.dim()) for t in wanted]
        ctx.mark_non_differentiable(*[r for r, has in zip(results, site.has_gradient) if not has])
        return tuple(results)

    @staticmethod
    @once_differentiable
    def backward(ctx, *grads):
        site, (token,) = ctx.site, ctx.saved_tensors
        token.fake_mode.compute_values(False)  # gradients have none
        given = [g for g, has in zip(grads, site.has_gradient) if has]
        found = iter(_operators()[0].gradient(site.number, token, given, ctx.sizes))
        return (None, *[next(found) if needs else None for needs in site.needs])


class Functions:
    """Autograd Functions of a program while it is traced."""

    def __init__(self):
        self.applied = set()
        self.called_back = set()
        self.sites = []

    @contextlib.contextmanager
    def watched(self):
        before = _C._autograd._set_function_watcher(self._apply)
        try:
            yield
        finally:
            _C._autograd._set_function_watcher(before)

    def failed(self, error):
        """Whether a Function raised the error: it is called back from now on."""
        codes, trace = set(), error.__traceback__
        while trace is not None:
            codes.add(trace.tb_frame.f_code)
            trace = trace.tb_next
        found = {cls for cls in self.applied if codes & _codes_of(cls)} - self.called_back
        self.called_back |= found
        return bool(found)

    def kept_by(self, compiler):
        """The compiler, whose functions keep what calls the Functions back."""

        def compile_graph(graph, attributes):
            sites = self.sites
            if not sites:
                return compiler(graph, attributes)
            _forget_looks(graph)
            run = compiler(graph, attributes)

            def run_with_sites(inputs, sites=sites):
                return run(inputs)

            return run_with_sites

        return compile_graph

    def _apply(self, cls, *args, **kwargs):
        if cls not in self.called_back:
            self.applied.add(cls)
            return cls._apply_here(*args, **kwargs)
        tensors = [a for a in args if isinstance(a, taeda.Tensor)]
        values = [_value_of(t) if isinstance(t, FakeTensor) else t for t in tensors]
        if kwargs or any(v is None for v in values):
            raise NotImplementedError(
                f"{cls.__module__}.{cls.__qualname__} cannot be traced, and what it is called with "
                "has no values while the program is traced"
            )
        has_graph = taeda.is_grad_enabled()
        site = _Site(cls, args, [has_graph and t.requires_grad for t in tensors])
        self.sites.append(site)
        before = _C._autograd._set_function_watcher(None)
        try:
            _C._aot.call_untraced(lambda: site.learn(values))
            results = _Callback.apply(site, *tensors)
        finally:
            site.first = None
            _C._autograd._set_function_watcher(before)
        return results if len(results) > 1 else results[0]


def _codes_of(cls):
    codes = set()
    for name in ("forward", "backward", "vjp", "setup_context"):
        function = getattr(cls, name, None)
        while function is not None:
            code = getattr(function, "__code__", None)
            if code is not None:
                codes.add(code)
            function = getattr(function, "__wrapped__", None)
    return codes
