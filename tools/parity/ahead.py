"""Functions as `--aot` calls them: traced ahead of time, as plans of kernels and library calls."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from parity.comparison import tensors_in

SEED = 11


class AheadOfTime:
    """Makes compiled functions and keeps the operators that their plans call."""

    def __init__(self, taeda: ModuleType, is_dynamic: bool) -> None:
        self.taeda = taeda
        self.is_dynamic = is_dynamic
        self.called: set[str] = set()

    def compiled(
        self, function: Callable, is_native: bool = False, has_values: bool = True
    ) -> Callable:
        """The function compiled at its call; its result has eager's bits, or an error says so."""
        from taeda.fx.aot import aot_function, min_cut_rematerialization_partition

        def compile_graph(graph: Any, inputs: list) -> Callable:
            made = self.taeda._inductor.compile(
                graph, inputs, native="wait" if is_native else "never"
            )
            for plan in made.report():
                self.called.update(plan["called"])
            return made

        def call(*args: Any, **kwargs: Any) -> Any:
            made = aot_function(
                function,
                compile_graph,
                partition_fn=min_cut_rematerialization_partition,
                dynamic=self.is_dynamic,
            )
            own_args, own_kwargs = self.copies((args, kwargs))
            self.taeda.manual_seed(SEED)
            with self.taeda.no_grad():
                want = function(*own_args, **own_kwargs)
            self.taeda.manual_seed(SEED)
            got = made(*args, **kwargs)
            # A function may set the seed itself, which happens while it is traced.
            if has_values and not any(map(self.is_random, self.called)):
                self.check_bits(want, got)
            return got

        return call

    def is_random(self, name: str) -> bool:
        """Whether an operator, `name.overload`, draws random numbers."""
        packet, _, overload = name.partition(".")
        op = getattr(getattr(self.taeda.ops.aten, packet), overload or "default")
        return self.taeda.Tag.nondeterministic_seeded in op.tags

    def copies(self, values: Any) -> Any:
        """The arguments again, for a function that writes to them."""
        from taeda.utils import _pytree as pytree

        def copy(leaf: Any) -> Any:
            return leaf.detach().clone() if isinstance(leaf, self.taeda.Tensor) else leaf

        return pytree.tree_map(copy, values)

    def check_bits(self, want: Any, got: Any) -> None:
        pairs = zip(tensors_in(want, self.taeda.Tensor), tensors_in(got, self.taeda.Tensor))
        for number, (one, other) in enumerate(pairs):
            if one.stride() != other.stride():
                raise AssertionError(
                    f"result {number}: strides {other.stride()}, eager's are {one.stride()}"
                )
            if one.is_meta or self.taeda.equal(one, other):
                continue
            same = (one == other) | ((one != one) & (other != other))
            if not same.all():
                raise AssertionError(f"result {number}: bits are not eager's")
