"""Dynamic shapes as plain data and back."""

import pytest
from taeda._export.serde.dynamic_shapes import _dump_dynamic_shapes, _load_dynamic_shapes

import taeda
from taeda.export import Dim, UserError, export

N = Dim("n", min=4, max=16)
ARGS = ([taeda.ones(8, 4), taeda.ones(9, 4)], taeda.ones(4), taeda.ones(2, 2), "text")
SHAPES = {"a": [(2 * N, 4), (2 * N + 1, 4)], "b": (N,), "c": None, "d": None}


def test_the_form_of_a_spec():
    spec = _dump_dynamic_shapes(SHAPES, ARGS)
    static = "_DimHint.STATIC"
    assert spec.dynamic_shapes == ([["2*n", 4], ["2*n + 1", 4]], ["n"], [static, static], None)
    root = spec.dims["n"]
    assert (root.min, root.max, root.derived) == (4, 16, ["2*n", "2*n + 1"])


@pytest.mark.parametrize("to_dict", [False, True])
def test_dimensions_keep_their_roots_and_bounds(to_dict):
    spec = _dump_dynamic_shapes(SHAPES, ARGS, to_dict=to_dict)
    ((twice, _), (more, _)), (n,), (fixed, _), nothing = _load_dynamic_shapes(spec, to_dict)
    assert twice.root is n and more.root is n
    assert (more.fn(5), n.min, n.max) == (11, 4, 16)
    assert fixed == Dim.STATIC and nothing is None


def test_a_loaded_spec_exports_the_same_program():
    def f(x, y):
        return x + y[4:]

    args, shapes = (taeda.ones(6), taeda.ones(10)), {"x": (Dim.AUTO,), "y": {0: Dim.AUTO}}
    loaded = _load_dynamic_shapes(_dump_dynamic_shapes(shapes, args))
    module = export(f, args, dynamic_shapes=loaded).module()
    assert module(taeda.ones(3), taeda.ones(7)).shape == (3,)
    with pytest.raises(AssertionError, match="Guard failed"):
        module(taeda.ones(3), taeda.ones(8))


def test_keyword_arguments_and_no_shapes():
    spec = _dump_dynamic_shapes({"x": {0: Dim("m")}, "k": None}, (taeda.ones(2),), {"k": 3})
    assert spec.dynamic_shapes == (["m"], None) and spec.dims["m"].max is None
    assert _load_dynamic_shapes(_dump_dynamic_shapes(None, (taeda.ones(2),))) is None


def test_specs_that_do_not_fit_are_refused():
    with pytest.raises(UserError, match="`dynamic_shapes` has 1 elements"):
        _dump_dynamic_shapes((None,), (taeda.ones(2), taeda.ones(2)))
    with pytest.raises(UserError, match="bounds of its own"):
        _dump_dynamic_shapes(((Dim.AUTO(min=3),),), (taeda.ones(4),))
    with pytest.raises(UserError, match="unknown dimension 'k'"):
        _load_dynamic_shapes({"dynamic_shapes": (["k"],), "dims": {}}, from_dict=True)
    with pytest.raises(UserError, match="expected a dict with dynamic_shapes and dims"):
        _load_dynamic_shapes({"dims": {}}, from_dict=True)
