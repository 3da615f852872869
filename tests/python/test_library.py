"""taeda.library: definitions, kernels by dispatch key, removal, overrides of others' operators."""

import gc
import importlib
import itertools
import pickle
import warnings

import pytest
from under_test import NAME, t

library = importlib.import_module(f"{NAME}.library")
Library = library.Library
only_taeda = pytest.mark.skipif(NAME != "taeda", reason="PyTorch does otherwise")
_spaces = (f"library_test{i}" for i in itertools.count())


@pytest.fixture
def lib():
    made = Library(next(_spaces), "DEF")
    yield made
    made._destroy()


def ops_of(lib):
    return getattr(t.ops, lib.ns)


# ---- definitions ----
def test_an_operator_is_defined_from_a_schema(lib):
    assert lib.define("foo(Tensor x, int n=3, *, str s='a') -> Tensor") == "foo"
    lib.impl("foo", lambda x, n=3, *, s="a": x + n + len(s), "CPU")
    foo = ops_of(lib).foo
    assert foo(t.ones(1)).item() == 5
    assert foo.default(t.ones(1), 4, s="bcd").item() == 8
    assert foo.default.namespace == lib.ns
    assert str(foo.default) == f"{lib.ns}.foo.default"


def test_none_is_the_type_of_a_result(lib):
    lib.define("told(Tensor x) -> None")
    lib.impl("told", lambda x: None, "CPU")
    lib.impl("told", lambda x: 3, "Meta")
    op = ops_of(lib).told
    assert op(t.ones(1)) is None
    assert str(op.default._schema) == f"{lib.ns}::told(Tensor x) -> NoneType"
    assert [str(r.type) for r in op.default._schema.returns] == ["NoneType"]
    with pytest.raises(RuntimeError, match="Cannot cast 3 to None"):
        op(t.ones(1, device="meta"))


def test_overloads_are_found_as_they_are_defined(lib):
    lib.define("foo.Tensor(Tensor x, Tensor y) -> Tensor")
    lib.impl("foo.Tensor", lambda x, y: x + y, "CPU")
    assert ops_of(lib).foo.overloads() == ["Tensor"]
    lib.define("foo.text(Tensor x, str y) -> Tensor")
    lib.impl("foo.text", lambda x, y: x + len(y), "CPU")
    assert ops_of(lib).foo(t.ones(1), "abc").item() == 4
    assert ops_of(lib).foo(t.ones(1), t.ones(1)).item() == 2


def test_tags_are_given_at_the_definition(lib):
    lib.define("foo(Tensor x) -> Tensor", tags=(t.Tag.pointwise, t.Tag.core))
    assert {t.Tag.pointwise, t.Tag.core} <= set(ops_of(lib).foo.default.tags)
    lib.define("bar(Tensor x) -> Tensor", tags=t.Tag.pointwise)
    assert t.Tag.pointwise in ops_of(lib).bar.default.tags


def test_operators_of_the_table_carry_their_tags():
    assert t.Tag.core in t.ops.aten.add.Tensor.tags
    assert t.Tag.pointwise in t.ops.aten.add.Tensor.tags
    assert t.Tag.nondeterministic_seeded in t.ops.aten.bernoulli.default.tags
    assert t.Tag.dynamic_output_shape in t.ops.aten.nonzero.default.tags


@pytest.mark.parametrize(
    ("tag", "names"),
    [
        ("data_dependent_output", "item _local_scalar_dense equal allclose"),
        ("dynamic_output_shape", "index.Tensor nonzero masked_select argwhere one_hot"),
    ],
)
def test_tags_of_operators_that_read_values(tag, names):
    for name in names.split():
        packet, _, overload = name.partition(".")
        op = getattr(getattr(t.ops.aten, packet), overload or "default")
        assert getattr(t.Tag, tag) in op.tags, name


def test_a_namespace_has_one_definition(lib):
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY can be used"):
        Library(lib.ns, "DEF")
    more = Library(lib.ns, "FRAGMENT")
    more.define("bar(Tensor x) -> Tensor")
    more._destroy()


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("foo(Tensor x) -> Tensor", "with the same name and overload name multiple times"),
        ("other::bar(Tensor x) -> Tensor", "does not match namespace of enclosing TORCH_LIBRARY"),
        ("bar(Tensr x) -> Tensor", "unknown type specifier"),
        ("bar(Tensor x", "expected"),
    ],
)
def test_wrong_definitions_are_errors(lib, schema, message):
    lib.define("foo(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match=message):
        lib.define(schema)


def test_wrong_libraries_are_errors():
    with pytest.raises(ValueError, match="Unsupported kind: OTHER"):
        Library("library_test", "OTHER")
    with pytest.raises(ValueError, match="prim is a reserved namespace"):
        Library("prim", "DEF")
    with pytest.raises(RuntimeError, match="Invalid alias_analysis type"):
        Library(next(_spaces), "DEF").define("foo() -> ()", "OTHER")


def test_kernels_only_libraries_define_nothing(lib):
    with pytest.raises(RuntimeError, match="Cannot define an operator inside of a"):
        Library(lib.ns, "IMPL").define("foo(Tensor x) -> Tensor")


# ---- kernels ----
def test_a_kernel_may_come_before_its_operator(lib):
    lib.impl("later", lambda x: x + 1, "CPU")
    lib.define("later(Tensor x) -> Tensor")
    assert ops_of(lib).later(t.ones(1)).item() == 2


def test_wrong_kernels_are_errors(lib):
    lib.define("foo(Tensor x) -> Tensor")
    with pytest.raises(TypeError, match="Input function is required to be a callable"):
        lib.impl("foo", 3, "CPU")
    with pytest.raises(RuntimeError, match="could not parse dispatch key: QPU"):
        lib.impl("foo", lambda x: x, "QPU")


def test_a_key_without_a_kernel_is_named(lib):
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: x, "CUDA")
    with pytest.raises(NotImplementedError, match=f"Could not run '{lib.ns}::foo' with arguments"):
        ops_of(lib).foo(t.ones(1))


def test_the_newest_kernel_wins_and_specific_ones_beat_defaults(lib):
    lib.define("foo(Tensor x) -> Tensor")
    foo = ops_of(lib).foo
    lib.impl("foo", lambda x: x + 1, "CPU")
    lib.impl("foo", lambda x: x + 10, "CompositeExplicitAutograd")
    assert foo(t.ones(1)).item() == 2
    with warnings.catch_warnings(record=True):
        lib.impl("foo", lambda x: x + 2, "CPU")
    assert foo(t.ones(1)).item() == 3


def test_a_kernel_without_a_key_is_differentiated_through(lib):
    lib.define("square(Tensor x) -> Tensor")
    lib.impl("square", lambda x: x * x)
    x = t.tensor([3.0], requires_grad=True)
    ops_of(lib).square(x).backward()
    assert x.grad.item() == 6
    assert t.allclose(t.vmap(ops_of(lib).square)(t.arange(3.0)), t.arange(3.0) ** 2)


@only_taeda
def test_a_kernel_at_autograd_gets_the_keys_and_goes_on(lib):
    seen = []
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: x * 2, "CPU")
    foo = ops_of(lib).foo.default

    def autograd(keys, x):
        seen.append((keys.has("AutogradCPU"), keys.has("CPU")))
        return foo.redispatch(keys.remove("AutogradCPU"), x) + 1

    lib.impl("foo", autograd, "AutogradCPU", with_keyset=True)
    assert foo(t.ones(1, requires_grad=True)).item() == 3
    assert seen == [(True, True)]


def test_a_fallthrough_passes_the_call_on(lib):
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: x.detach() + 1, "CPU")
    lib.impl("foo", library.fallthrough_kernel, "Autograd")
    y = ops_of(lib).foo(t.ones(1, requires_grad=True))
    assert y.item() == 2 and not y.requires_grad
    with pytest.raises(NotImplementedError, match="should never be called"):
        library.fallthrough_kernel()


def test_backward_without_an_autograd_kernel_warns(lib):
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: t.from_numpy(x.detach().numpy() + 1), "CPU")
    x = t.ones(1, requires_grad=True)
    y = ops_of(lib).foo(x)
    assert y.requires_grad
    with pytest.warns(UserWarning, match="an autograd kernel was not registered"):
        y.backward()
    assert x.grad is None


def test_operators_of_others_may_be_overridden():
    override = Library("aten", "IMPL")
    with warnings.catch_warnings(record=True):
        override.impl("neg", lambda x: x + 100, "CPU")
    try:
        assert t.neg(t.ones(1)).item() == 101
    finally:
        override._destroy()
    assert t.neg(t.ones(1)).item() == -1


@only_taeda
def test_a_replaced_kernel_can_still_be_called(lib):
    previous = library.get_kernel(t.ops.aten.neg.default, "CPU")
    override = Library("aten", "IMPL")
    override.impl("neg", lambda keys, x: previous.call_boxed(keys, x) * 2, "CPU", with_keyset=True)
    try:
        assert t.neg(t.ones(1)).item() == -2
    finally:
        override._destroy()
    lib.define("foo(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match=f"no kernel for CPU for {lib.ns}::foo"):
        library.get_kernel(f"{lib.ns}::foo", "CPU")


@only_taeda
def test_a_fallback_serves_what_has_no_kernel(lib):
    seen = []
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: x.detach() + 1, "CPU")

    def fallback(op, keys, *args, **kwargs):
        seen.append(op)
        return op.redispatch(keys.remove("AutogradCPU"), *args, **kwargs)

    with pytest.raises(RuntimeError, match='on the global namespace "_"'):
        lib.fallback(fallback, "AutogradCPU")
    foo = ops_of(lib).foo.default
    everything = Library("_", "IMPL", "AutogradCPU")
    everything.fallback(fallback, with_keyset=True)
    try:
        assert foo(t.ones(1, requires_grad=True)).item() == 2
        assert seen[0] is foo
        assert t.neg(t.ones(1, requires_grad=True)).grad_fn is not None  # has its own kernel
        assert t.ops.aten.neg.default not in seen
    finally:
        everything._destroy()
    seen.clear()
    foo(t.ones(1, requires_grad=True))
    assert seen == []


# ---- removal ----
def test_destroying_a_library_takes_everything_back(lib):
    fragment = Library(lib.ns, "FRAGMENT")
    fragment.define("gone(Tensor x) -> Tensor")
    fragment.impl("gone", lambda x: x, "CPU")
    assert ops_of(lib).gone is not None
    fragment._destroy()
    with pytest.raises(AttributeError, match="object has no attribute 'gone'"):
        ops_of(lib).gone  # noqa: B018
    lib.define("gone(Tensor x, Tensor y) -> Tensor")
    assert len(ops_of(lib).gone.default._schema.arguments) == 2


def test_a_library_that_nobody_holds_is_gone(lib):
    lib.define("foo(Tensor x) -> Tensor")
    more = Library(lib.ns, "IMPL", "CPU")
    more.impl("foo", lambda x: x + 1)
    assert ops_of(lib).foo(t.ones(1)).item() == 2
    del more
    gc.collect()
    with pytest.raises(NotImplementedError):
        ops_of(lib).foo(t.ones(1))


# ---- by qualified name ----
def test_functions_register_by_qualified_name(lib):
    name = f"{lib.ns}::scaled"
    library.define(name, "(Tensor x, float by) -> Tensor", lib=lib)

    @library.impl(name, "cpu", lib=lib)
    def scaled(x, by):
        return t.from_numpy(x.detach().numpy() * by)

    @library.register_fake(name, lib=lib)
    def scaled_fake(x, by):
        return t.empty_like(x)

    library.register_autograd(
        name,
        lambda ctx, g: (g * ctx.by, None),
        setup_context=lambda ctx, inputs, output: setattr(ctx, "by", inputs[1]),
        lib=lib,
    )
    op = ops_of(lib).scaled

    @library.register_vmap(name, lib=lib)
    def scaled_batch(info, in_dims, x, by):
        return op(x, by), in_dims[0]

    x = t.ones(2, 2, dtype=t.float64, requires_grad=True)
    op(x, 3.0).sum().backward()
    assert x.grad.tolist() == [[3.0, 3.0]] * 2
    assert op(t.empty(3, device="meta"), 2.0).shape == (3,)
    assert t.vmap(lambda v: op(v, 2.0))(t.ones(2, 2)).tolist() == [[2.0, 2.0]] * 2
    assert t.autograd.gradcheck(lambda v: op(v, 3.0), (x.detach().requires_grad_(),))
    library.opcheck(op.default, (x.detach().requires_grad_(), 2.0))


def test_older_forms_register_too(lib):
    @library.define(lib, "foo(Tensor x) -> Tensor")
    def foo(x):
        return x + 1

    lib.define("bar(Tensor x) -> Tensor")

    @library.impl(lib, "bar", "CPU")
    def bar(x):
        return x + 2

    assert ops_of(lib).foo(t.ones(1)).item() == 2
    assert ops_of(lib).bar(t.ones(1)).item() == 3


def test_wrong_names_are_errors(lib):
    with pytest.raises(ValueError, match='to be of the form "namespace::name", but got baz'):
        library.define("baz", "(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="expected schema to look like"):
        library.define(f"{lib.ns}::baz", "Tensor x -> Tensor")
    with pytest.raises(RuntimeError, match=f"operator {lib.ns}::none does not exist"):
        library.register_fake(f"{lib.ns}::none", lambda x: x)
    with pytest.raises(ValueError, match=r"register_kernel\(3\): got unexpected type for op"):
        library.register_kernel(3, "cpu", lambda x: x)


# ---- what schemas may say ----
@pytest.mark.parametrize(
    "argument",
    ["Tensor x=3", "int x=foo", "float x=foo", "bool x=yes", "str x=abc", "ScalarType x=foo"],
)
def test_a_default_is_one_of_its_type(lib, argument):
    with pytest.raises(RuntimeError):
        lib.define(f"foo({argument}) -> ()")
    assert "foo" not in dir(ops_of(lib))


def test_arguments_without_default_come_first(lib):
    with pytest.raises(RuntimeError, match="Non-default positional argument follows default"):
        lib.define("foo(int x=1, int y) -> ()")
    lib.define("foo(int x=1, *, int y) -> ()")


def test_dtypes_and_strings_as_defaults(lib):
    lib.define("foo(Tensor x, ScalarType d=double, str s='a,b)', Layout l=strided) -> Tensor")
    _, dtype, text, layout = (a.default_value for a in ops_of(lib).foo.default._schema.arguments)
    assert text == "a,b)"
    if NAME == "taeda":  # PyTorch shows numbers
        assert (dtype, layout) == (t.float64, t.strided)


def test_a_library_for_a_scope():
    with library._scoped_library(next(_spaces), "FRAGMENT") as scoped:
        scoped.define("foo(Tensor x) -> Tensor")
        scoped.impl("foo", lambda x: x * 3, "CPU")
        operators = ops_of(scoped)
        assert operators.foo(t.ones(1)).tolist() == [3.0]
    with pytest.raises(AttributeError, match="has no attribute 'foo'"):
        _ = operators.foo


@pytest.mark.parametrize("tags", ["core", ["core"], 3])
def test_tags_are_tags(lib, tags):
    with pytest.raises(TypeError):
        lib.define("foo(Tensor x) -> Tensor", tags=tags)


def test_the_namespace_of_the_library_itself_is_taken():
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY can be used"):
        Library("aten", "DEF")


def test_meta_tensors_need_a_fake_kernel(lib):
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: x.clone(), "CPU")
    with pytest.raises(NotImplementedError, match="there was no fake impl or Meta kernel"):
        ops_of(lib).foo(t.ones(2, device="meta"))


def test_an_autograd_kernel_runs_without_gradients_too():
    calls = []
    with t.library._scoped_library("test_library_own", "DEF") as lib:
        lib.define("twice(Tensor x) -> Tensor")
        lib.impl("twice", lambda x: x * 2, "CPU")

        def recorded(x):
            calls.append(x.requires_grad)
            with t._C._AutoDispatchBelowAutograd():
                return t.ops.test_library_own.twice(x)

        lib.impl("twice", recorded, "Autograd")
        x = t.ones(2)
        assert t.equal(t.ops.test_library_own.twice(x), x * 2)
        t.ops.test_library_own.twice(x.clone().requires_grad_())
        assert calls == [False, True]
        with t.inference_mode():
            t.ops.test_library_own.twice(x)
        assert len(calls) == 2


def test_a_schema_may_return_none(lib):
    lib.define("nothing(Tensor x) -> None")
    lib.impl("nothing", lambda x: None, "CPU")
    assert getattr(t.ops, lib.ns).nothing(t.ones(2)) is None


def test_a_library_of_one_key_takes_no_other(lib):
    lib.define("of_one_key(Tensor x) -> Tensor")
    implementations = Library(lib.ns, "IMPL", dispatch_key="CPU")
    with pytest.raises(RuntimeError, match=r"\(Autograd\) is inconsistent with the dispatch key"):
        implementations.impl("of_one_key", lambda x: x, "Autograd")


def test_sets_of_keys():
    keys = importlib.import_module(f"{NAME}._C")
    some = keys.DispatchKeySet(keys.DispatchKey.AutogradCPU)
    assert some == keys.DispatchKeySet(keys.DispatchKey.AutogradCPU)
    assert some != keys.DispatchKeySet(keys.DispatchKey.CPU)
    assert pickle.loads(pickle.dumps(some)) == some
    assert some.has(keys.DispatchKey.AutogradCPU) and not some.has(keys.DispatchKey.AutogradMeta)


@pytest.mark.parametrize("name", ["CPU", "Meta", "Autograd"])
def test_a_guard_restores_the_keys_that_were_left_out(name):
    extension = importlib.import_module(f"{NAME}._C")
    before = extension._dispatch_tls_local_exclude_set()
    with extension._ExcludeDispatchKeyGuard(extension.DispatchKeySet(name)):
        assert extension._dispatch_tls_local_exclude_set() != before
    assert extension._dispatch_tls_local_exclude_set() == before


def test_a_guard_includes_a_key_for_a_while():
    extension = importlib.import_module(f"{NAME}._C")
    before = extension._dispatch_tls_local_include_set()
    with extension._IncludeDispatchKeyGuard(extension.DispatchKey.Meta):
        assert extension._dispatch_tls_local_include_set().has(extension.DispatchKey.Meta)
    assert extension._dispatch_tls_local_include_set() == before


def test_kernels_are_listed_until_they_are_taken_back(lib):
    lib.define("listed(Tensor x) -> Tensor")
    other = Library(lib.ns, "IMPL")
    other.impl("listed", lambda x: x.clone(), "CPU")
    entry = f"{lib.ns}/listed/CPU"
    assert entry in library._impls and entry in other._op_impls
    with pytest.raises(RuntimeError, match="already a kernel registered from python"):
        lib.impl("listed", lambda x: x.clone(), "CPU", allow_override=False)
    del other
    gc.collect()
    assert entry not in library._impls


def test_a_namespace_lists_the_operators_found_in_it(lib):
    lib.define("found(Tensor x) -> Tensor")
    space = ops_of(lib)
    assert "found" not in space._dir
    assert space.found is not None and space._dir == ["found"] and list(space) == ["found"]
    lib._destroy()
    assert space._dir == []


def test_an_operator_by_name_and_overload(lib):
    lib.define("twice.of(Tensor x) -> Tensor")
    lib.impl("twice.of", lambda x: x * 2, "CPU")
    handle = t._C._dispatch_find_schema_or_throw(f"{lib.ns}::twice", "of")
    assert t._C._dispatch_call_boxed(handle, t.ones(1)).item() == 2
    sin = t._C._dispatch_find_schema_or_throw("aten::sin", "")
    assert t._C._dispatch_call_boxed(sin, t.zeros(1)).item() == 0
    with pytest.raises(RuntimeError, match="Could not find schema for"):
        t._C._dispatch_find_schema_or_throw("aten::sin", "nowhere")
