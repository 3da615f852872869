"""Meta equals real: every operator that the samples reach, run again without memory.

A mode sees each call, gradients included, and repeats it on meta tensors of the same geometry: once
with plain sizes, once with symbolic ones. Sizes, strides, dtype and what shares storage must agree.
"""

import pytest
import record_calls
from must_fail_cases import CASES
from taeda._C._fx import _symbolic_meta
from taeda.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext
from taeda.utils._python_dispatch import TorchDispatchMode
from taeda.utils._pytree import tree_leaves, tree_map
from test_dispatch_mode_records import NAMES, plain_call, run, with_gradients

import taeda

# The result's size is in the data, or the result is no tensor; of index and one_hot, without masks
# and with a number of classes, it is not.
DATA_DEPENDENT = {
    f"aten::{record.key}"
    for record in record_calls.records().values()
    if {"dynamic_output_shape", "data_dependent_output"} & set(record.data.get("tags", ()))
}
SOMETIMES = {"aten::index.Tensor", "aten::one_hot"}
DATA_DEPENDENT -= SOMETIMES
# Their arguments are sizes, or how many results there are follows from a size.
NAMES_SIZES = {
    "aten::_histogramdd_bin_edges",
    "aten::_histogramdd_from_bin_tensors",
    "aten::_chunked_linear_cross_entropy",
    "aten::_ctc_loss",
    "aten::_ctc_loss_backward",
    "aten::_fused_rms_norm",
    "aten::_fused_rms_norm_backward",
    "aten::_unsafe_view",
    "aten::as_strided_scatter",
    "aten::diagonal_backward",
    "aten::expand",
    "aten::linalg_cross",
    "aten::native_group_norm",
    "aten::native_group_norm_backward",
    "aten::native_layer_norm",
    "aten::native_layer_norm_backward",
    "aten::resize_",
    "aten::select_backward",
    "aten::slice.Tensor",
    "aten::slice_backward",
    "aten::slice_scatter",
    "aten::split.Tensor",
    "aten::split_with_sizes",
    "aten::unbind.int",
    "aten::unfold_backward",
    "aten::unsafe_split.Tensor",
    "aten::unsafe_split_with_sizes",
    "aten::view",
    "aten::view_as_complex",
}
# So do those whose results have a given size.
NAMES_SIZES |= {
    f"aten::{key}"
    for key, record in record_calls.records().items()
    if {"output_size", "input_size"} & {a.name for a in record.schema.arguments}
}
# The places of a grid have as many numbers as an image has dimensions.
NAMES_SIZES |= {f"aten::grid_sampler_{n}d{tail}" for n in (2, 3) for tail in ("", "_backward")}
NAMES_SIZES.add("aten::affine_grid_generator")
# Vectors of a cross product have three elements.
NAMES_SIZES.add("aten::linalg_cross")

# With symbols for sizes their results are contiguous, whatever the argument's strides.
CONTIGUOUS_WITH_SYMBOLS = {"aten::sort", "aten::sort.stable"}


class Twins:
    """Meta tensors for real ones: views of one storage stay views of one storage."""

    def __init__(self):
        self.bases = {}

    def __call__(self, x):
        if not isinstance(x, taeda.Tensor):
            return taeda.device("meta") if isinstance(x, taeda.device) else x
        key = x.untyped_storage()
        if key not in self.bases:
            self.bases[key] = taeda.empty(key.nbytes(), dtype=taeda.uint8, device="meta")
        base = self.bases[key].view(x.dtype).as_strided(x.size(), x.stride(), x.storage_offset())
        base = base.conj() if x.is_conj() else base
        return base._neg_view() if x.is_neg() else base

    def constants(self):
        return {}


class SymbolicTwins:
    """Meta tensors whose sizes are symbols, each its own."""

    def __init__(self):
        self.env = ShapeEnv(duck_shape=False)
        self.count = 0

    def __call__(self, x):
        if not isinstance(x, taeda.Tensor):
            return taeda.device("meta") if isinstance(x, taeda.device) else x
        self.count += 1
        context = StatelessSymbolicContext([DimDynamic.DYNAMIC] * x.dim())
        geometry = self.env.create_symbolic_sizes_strides_storage_offset(
            x, f"x{self.count}", symbolic_context=context
        )
        twin = _symbolic_meta(geometry[0], geometry[1], x.dtype, geometry[2])
        twin = twin.conj() if x.is_conj() else twin
        return twin._neg_view() if x.is_neg() else twin

    def constants(self):
        """The symbols that had to become constants."""
        return {s: v for s, v in self.env.replacements.items() if v.is_number}


def plain(numbers):
    """The numbers under the hints."""
    return tuple(n.node.hint if isinstance(n, taeda.SymInt) else n for n in numbers)


def sharing(result, inputs):
    """Which inputs' storage the result looks at."""
    storage = result.untyped_storage()
    return [i for i, x in enumerate(inputs) if x.untyped_storage() == storage]


def strides(tensor):
    """An empty tensor's say nothing."""
    return plain(tensor.stride()) if 0 not in plain(tensor.size()) else ()


def tensors_in(tree):
    return [x for x in tree_leaves(tree) if isinstance(x, taeda.Tensor)]


def outcome(func, args, kwargs):
    """What a call gives: geometry, dtype and sharing of its results, or the type of its error."""
    inputs = tensors_in((args, kwargs))
    try:
        results = tensors_in(func(*args, **kwargs))
    except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}"
    return [
        (plain(r.size()), strides(r), r.dtype, r.is_conj(), sharing(r, inputs)) for r in results
    ]


class Repeat(TorchDispatchMode):
    """Runs every call again on twins and keeps what differs."""

    def __init__(self, make_twins):
        self.make_twins = make_twins
        self.differences = []
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        inputs = tensors_in((args, kwargs))
        if func.name() in DATA_DEPENDENT or not inputs:
            return func(*args, **kwargs)
        twins = self.make_twins()
        twin_args, twin_kwargs = tree_map(twins, (args, kwargs))
        results = func(*args, **kwargs)
        expected = [
            (tuple(r.size()), strides(r), r.dtype, r.is_conj(), sharing(r, inputs))
            for r in tensors_in(results)
        ]
        got = outcome(func, twin_args, twin_kwargs)
        if func.name() in CONTIGUOUS_WITH_SYMBOLS and self.make_twins is SymbolicTwins:
            return results
        self.count += 1
        shapes = [tuple(x.size()) for x in inputs]
        if isinstance(got, str) and func.name() in SOMETIMES and "depends on" in got:
            return results
        if got != expected:
            self.differences.append(f"{func} of {shapes}: meta gives {got}, real {expected}")
        if func.name() not in NAMES_SIZES and twins.constants():
            self.differences.append(f"{func} of {shapes} fixes sizes: {twins.constants()}")
        return results


def differences(name, make_twins):
    found = []
    for dtype in (taeda.float64, taeda.complex128):
        for sample in with_gradients(name, dtype):
            with Repeat(make_twins) as mode:
                run(plain_call, sample)
            found += mode.differences
    return sorted(set(found))


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_meta_equals_real(name):
    assert differences(name, Twins) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_symbolic_meta_equals_real(name):
    assert differences(name, SymbolicTwins) == []


# What only memory, values or a device tells.
NEEDS_VALUES = (
    "can't allocate memory",
    "out of bounds",
    "out of range in self",
    "ZeroDivisionError",  # the CPU's kernels look at the divisor, as in PyTorch
    "expected device cpu",
    "cross-device copies",
    "Cannot copy out of meta tensor",
    "p_in >= 0",
    "indexing result of shape [2]",
    "cannot convert float",
    "at::autocast::prioritize",
    "for 'ComplexFloat'",
    "converted to type c10::",
    "bincount only supports 1-d non-negative",
    "invalid max index",
    "aweights cannot be negative",
    "to be at least the length of the longest sequence",
    "is not finite",
    "sorter index out of range",
    "invalid multinomial distribution",
    "contains either `inf`",
    "repeats can not be negative",
    "should be 1-d and have the same length as input",
    "minlength should be",
    "Storage size calculation overflowed with sizes=[4611686018427387905]",
    "all elements of input should be between 0 and 1",
    "all elements of target should be between 0 and 1",
    "var has negative entry",
    "target out of range",
    "U[1,1] is zero",
    "LU without pivoting is not implemented on the CPU",
    "pivots passed to lu_unpack must be",
    "Pivots given to lu_solve must all be",
    "RNN input dtype",  # no autocast of the meta device, which is asked first
)
# Operators whose results have sizes that only values tell have no meta kernel.
NO_META = ("t.unique(", "t.unique_consecutive(", "one_hot(", "embedding_bag(", "multilabel_margin")
NO_META += ("EmbeddingBag(",)
SAME_ERRORS = [
    case
    for case in CASES
    if not any(text in case.phrase for text in NEEDS_VALUES)
    and not any(text in case.source for text in NO_META)
]


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", SAME_ERRORS, ids=[case.source for case in SAME_ERRORS])
def test_meta_fails_as_real(case):
    taeda.set_default_device("meta")
    try:
        with pytest.raises(case.error) as raised:
            exec(case.source, {"t": taeda})
    finally:
        taeda.set_default_device(None)
    assert raised.type is case.error
