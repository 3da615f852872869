"""Functions as `--aot` calls them: traced ahead of time, as plans of kernels and library calls."""

from collections.abc import Callable
from types import ModuleType
from typing import Any
from unittest import mock

from parity.comparison import tensors_in

SEED = 11


class AheadOfTime:
    """A function that is compiled at each call; an error says where bits are not eager's."""

    def __init__(
        self,
        taeda: ModuleType,
        function: Callable,
        *,
        is_dynamic: bool = False,
        is_native: bool = False,
        has_values: bool = True,
        fallbacks: set[str] | None = None,
    ) -> None:
        self.taeda = taeda
        self.function = function
        self.is_dynamic = is_dynamic
        self.native = "wait" if is_native else "never"
        self.has_values = has_values
        self.draws = False  # random numbers, which are eager's and not PyTorch's
        # Operators that plans call for want of a lowering, those of backward passes included.
        self.fallbacks = set() if fallbacks is None else fallbacks

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from taeda.fx.aot import aot_function, min_cut_rematerialization_partition

        made = aot_function(
            self.function,
            self.compile_graph,
            partition_fn=min_cut_rematerialization_partition,
            dynamic=self.is_dynamic,
        )
        own_args, own_kwargs = self.copies((args, kwargs))
        # Functions that set a seed for a while do so when they are traced, not when they run.
        with mock.patch.object(self.taeda, "manual_seed"):
            self.taeda.default_generator.manual_seed(SEED)
            with self.taeda.no_grad():
                want = self.function(*own_args, **own_kwargs)
            self.taeda.default_generator.manual_seed(SEED)
            got = made(*args, **kwargs)
        if self.has_values:
            self.check_bits(want, got)
        return got

    def compile_graph(self, graph: Any, inputs: list) -> Callable:
        made = self.taeda._inductor.compile(graph, inputs, native=self.native)
        for plan in made.report():
            self.fallbacks.update(plan["fallbacks"])
        self.draws |= any(map(self.is_random, graph.graph.nodes))
        return made

    def is_random(self, node: Any) -> bool:
        """Whether a node draws random numbers."""
        return self.taeda.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())

    def copies(self, values: Any) -> Any:
        """The arguments again, for a function that writes to them, each in a copy of its memory."""
        from taeda.utils import _pytree as pytree

        def copy(leaf: Any) -> Any:
            if not isinstance(leaf, self.taeda.Tensor):
                return leaf
            if leaf.is_meta or leaf.is_conj() or leaf.is_neg():
                return leaf.detach().clone()
            memory = leaf.untyped_storage().clone()
            place = leaf.storage_offset(), leaf.size(), leaf.stride()
            return self.taeda.empty(0, dtype=leaf.dtype).set_(memory, *place)

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
