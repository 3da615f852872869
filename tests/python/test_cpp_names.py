"""C++ extensions: PyTorch's names beyond the basics, and classes of one's own."""

import copy
import pickle
from pathlib import Path

import pytest
from taeda.utils import cpp_extension

import taeda as t

SOURCES = Path(__file__).with_name("extensions")


@pytest.fixture(scope="module")
def names():
    return cpp_extension.load("taeda_test_names", [str(SOURCES / "names.cpp")])


@pytest.fixture(scope="module")
def classes():
    return cpp_extension.load("taeda_test_classes", [str(SOURCES / "classes.cpp")])


pytestmark = pytest.mark.slow


# ---- tensors in C++ ----
def test_index_is_brackets(names):
    x = t.arange(12, dtype=t.float32).reshape(3, 4)
    mask = x > 9
    expected = t.cat([x[1:, ..., 0].flatten(), x[mask], x[None, 0, ::2].flatten()])
    written = x.clone()
    written[0, :] = 7
    written[mask] = -1
    assert t.equal(names.indexed(x, mask), expected)
    assert t.equal(x, written)


def test_streams_print_as_in_pytorch(names):
    assert names.printed(t.ones(2, 2)) == " 1  1\n 1  1\n[ CPUFloatType{2,2} ] [2, 2] Float cpu"
    assert names.printed(t.tensor(2.5)).startswith("2.5\n[ CPUFloatType{} ]")
    cube = names.printed(t.arange(8).reshape(2, 2, 2))
    assert cube.startswith("(1,.,.) = \n 0  1\n  2  3\n\n(2,.,.) = \n 4  5\n")
    assert names.printed(t.tensor([1e-5, 2e-5])).startswith("1e-05 *\n 1.0000\n 2.0000\n")
    assert names.printed(t.tensor([0.5, 1e7])).startswith(" 5.0000e-01\n 1.0000e+07\n")
    wide = names.printed(t.arange(30, dtype=t.float32).reshape(1, 30) / 3)
    assert "\nColumns 11 to 20 3.3333" in wide


def test_generators_are_made_by_their_class(names):
    expected = t.rand(3, generator=t.Generator().manual_seed(5))
    assert t.equal(names.drawn(5), expected)


def test_hooks_and_nodes(names):
    x = t.ones(2, requires_grad=True)
    grad, inner, name, was_removed = names.hooked(x)
    assert (grad.tolist(), inner.tolist()) == ([6.0, 6.0], [1.0, 1.0])
    assert name == "MulBackward0" and was_removed


def test_edges_of_nodes(names):
    found = names.edges(t.ones(2, requires_grad=True))
    assert found == ["AddBackward00", "MaxBackward00"]


def test_tensors_are_objects_of_python(names):
    is_tensor, twice = names.unpacked(t.tensor([1.0, 2.0]))
    assert is_tensor and twice.tolist() == [2.0, 4.0]
    assert names.unpacked([1.0]) == (False, None)


def test_lists_of_sizes(names):
    assert names.lists() == [2, 3, 3, 6, 8, 4, 1, 4]


def test_forward_mode(names):
    values, tangent = names.pushed_forward(t.tensor([2.0, 3.0]), t.tensor([1.0, 10.0]))
    assert (values.tolist(), tangent.tolist()) == ([8.0, 27.0], [12.0, 270.0])


def test_forward_of_a_function_may_have_defaults(names):
    x = t.ones(3, requires_grad=True)
    names.shifted(x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_dispatch_over_dtypes(names):
    assert names.dispatched(t.ones(1, dtype=t.float16)) == "all:2"
    assert names.dispatched(t.ones(1, dtype=t.complex128)) == "all:16"
    assert names.switched(t.ones(1, dtype=t.int32)) == "int"
    assert names.switched(t.ones(1)) == "real"
    with pytest.raises(NotImplementedError, match="\"dispatched\" not implemented for 'BFloat16'"):
        names.dispatched(t.ones(1, dtype=t.bfloat16))
    with pytest.raises(NotImplementedError, match="\"switched\" not implemented for 'Long'"):
        names.switched(t.ones(1, dtype=t.int64))


def test_messages_take_what_streams_take(names):
    with pytest.raises(IndexError, match=r"expected 3 dims at 1/2, got \[2\] of Float"):
        names.complains(t.ones(2))


def test_memory_of_others(names):
    expected = t.tensor([[1 + 1 + 5 + 1, 2 + 3 + 6 + 2], [3 + 2 + 7 + 3, 4 + 4 + 8 + 4]]) + 9.0
    assert t.equal(names.borrowed(), expected)


def test_sizes_and_numbers_convert(names):
    assert names.sized([2], 1.5, 2).tolist() == [3.5, 3.5]
    assert names.sized(2, True, 0).tolist() == [True, True]


# ---- operators ----
def test_kernels_see_keys_and_redispatch(names):
    op = t.ops.test_names.keyed
    assert op(t.ones(1, requires_grad=True)).item() == 11.0
    assert t.Tag.pt2_compliant_tag in op.default.tags


def test_kernels_at_the_autocast_key(names):
    x = t.ones(2)
    assert t.ops.test_names.mixed(x).dtype == t.float32
    with t.autocast("cpu", dtype=t.bfloat16):
        assert t.ops.test_names.mixed(x).dtype == t.bfloat16


def test_stable_names(names):
    assert t.ops.test_names.negated(t.ones(2)).tolist() == [-1.0, -1.0]
    with pytest.raises(RuntimeError, match="float only"):
        t.ops.test_names.negated(t.ones(2, dtype=t.int64))


def test_errors_name_the_module_with_the_fake_kernels(names):
    with pytest.raises(NotImplementedError, match=r"Python module 'test_names\.fakes'"):
        t.ops.test_names.negated(t.ones(2, device="meta"))


def test_lists_of_strings(names):
    assert t.ops.test_names.joined(["a", "b"], 3) == ["a", "b", "3"]
    with pytest.raises(RuntimeError, match=r"Expected a value of type 'List\[str\]'"):
        t.ops.test_names.joined(["a", 1], 3)


# ---- classes through pybind11 ----
def test_classes_have_constructors_methods_and_fields(classes):
    layer = classes.Layer(in_features=3)
    assert layer.width == 2 and layer.name == "layer"
    layer.name = "first"
    assert layer.name == "first"
    layer(t.ones(1, 3)).sum().backward()
    assert layer.weight.grad.tolist() == [[1.0, 1.0, 1.0]] * 2
    with pytest.raises(AttributeError):
        layer.weight = t.ones(1)
    with pytest.raises(TypeError, match="incompatible constructor arguments"):
        classes.Layer("x")


def test_properties_raise_the_errors_of_their_setters(classes):
    layer = classes.Layer(1)
    layer.scale = 2.0
    assert layer.kind() == classes.Kind.Scaled
    assert layer != classes.Layer(1)
    with pytest.raises(ValueError, match="scale must be positive, got -1"):
        layer.scale = -1.0


def test_shared_objects_functions_and_dicts(classes):
    layer = classes.made(2)
    assert classes.shared(layer) is layer
    assert classes.mapped(lambda x: x * 2, t.ones(1)).item() == 3.0
    assert classes.described({"x": 1}, t.device("cpu")) == (True, "cpu")
    assert classes.described({}, None) == (False, "none")
    with pytest.raises(ZeroDivisionError):
        classes.mapped(lambda x: 1 // 0, t.ones(1))


# ---- classes that operators know ----
def test_custom_classes(classes):
    counter = t.classes.test_classes.Counter(5)
    assert isinstance(counter, t.ScriptObject)
    assert (counter.next(2), counter.twice(), counter.at) == (7, 14, 7)
    assert counter.filled(t.ones(2)).tolist() == [7.0, 7.0]
    counter.notes = ["a", "b"]
    assert counter.notes == ["a", "b"]
    assert t.classes.test_classes.Counter.zero().at == 0
    assert t.ops.test_classes.advanced(counter, 10).at == 17


def test_custom_classes_are_copied_and_pickled(classes):
    counter = t.classes.test_classes.Counter(3)
    other = copy.deepcopy(counter)
    counter.next(1)
    assert (counter.at, other.at) == (4, 3)
    assert pickle.loads(pickle.dumps(counter)).at == 4


def test_custom_classes_refuse_what_does_not_fit(classes):
    counter = t.classes.test_classes.Counter(3)
    with pytest.raises(RuntimeError, match="Expected a value of type 'int' for argument '_1'"):
        counter.next("x")
    with pytest.raises(AttributeError, match="no attribute 'previous'"):
        _ = counter.previous
    with pytest.raises(AttributeError, match="can't set attribute"):
        counter.at = 3
    with pytest.raises(RuntimeError, match=r"Class test_classes\.Nothing not registered!"):
        _ = t.classes.test_classes.Nothing
    with pytest.raises(RuntimeError, match=r"test_classes\.Counter' for argument 'c'"):
        t.ops.test_classes.advanced(3, 1)
