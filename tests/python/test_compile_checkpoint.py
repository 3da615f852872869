"""Checkpoints inside of compiled programs: reentrant ones, and those that keep chosen results."""

import functools
import importlib
import os
import warnings

import pytest
from compiled_case import is_same
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
F = importlib.import_module(f"{NAME}.nn.functional")
checkpoints = importlib.import_module(f"{NAME}.utils.checkpoint")
aot_autograd = importlib.import_module(f"{NAME}._dynamo.backends.common").aot_autograd
counters = importlib.import_module(f"{NAME}._dynamo.utils").counters
operators = f"{NAME}._higher_order_ops"
scan = importlib.import_module(f"{operators}.scan").scan
map_slices = importlib.import_module(f"{operators}.map").map
associative_scan = importlib.import_module(f"{operators}.associative_scan").associative_scan
checkpoint = checkpoints.checkpoint
contexts = checkpoints.create_selective_checkpoint_contexts
Policy = checkpoints.CheckpointPolicy

OPTIONS = {"eager": {}, "aot_eager": {}, "inductor": {"options": {"native": "never"}}}


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setenv("TAEDA_COMPILE_STRICT", os.environ.get("TAEDA_COMPILE_STRICT", "1"))
    t.compiler.reset()
    counters.clear()


@pytest.fixture(params=OPTIONS)
def compiled(request):
    """Compiles with one of the backends, as one graph."""

    def compile_with(program):
        return t.compile(program, backend=request.param, fullgraph=True, **OPTIONS[request.param])

    return compile_with


def outcome(program, model, *args):
    """Result, gradients of leaves and parameters, and warnings of a call."""
    leaves = [*args, *model.parameters()]
    for leaf in leaves:
        leaf.grad = None
    t.manual_seed(3)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = program(*args)
    if result.requires_grad:
        result.sum().backward()
    return result, [leaf.grad for leaf in leaves], [str(one.message) for one in told], t.rand(2)


def assert_alike(compiled, program, model, *args):
    expected = outcome(program, model, *args)
    function = compiled(program)
    for _ in range(2):
        assert is_same(outcome(function, model, *args), expected, is_rounded=True)
    assert counters["stats"]["unique_graphs"] == 1
    return expected


def leaf():
    t.manual_seed(0)
    return t.randn(3, 4, requires_grad=True)


MODELS = {
    "linear": lambda: nn.Sequential(nn.Linear(4, 4), nn.Tanh()),
    "norm": lambda: nn.Sequential(nn.LayerNorm(4), nn.GELU()),
    "dropout": lambda: nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Sigmoid()),
    "pointwise": lambda: nn.Sequential(nn.Tanh(), nn.Sigmoid()),
}


# ---- reentrant ----


@pytest.mark.parametrize("name", MODELS)
def test_reentrant_checkpoints(compiled, name):
    model = MODELS[name]()
    program = lambda x: checkpoint(model, x, use_reentrant=True).cos()
    _, gradients, _, _ = assert_alike(compiled, program, model, leaf())
    assert all(gradient is not None for gradient in gradients)


def test_a_reentrant_checkpoint_of_arguments_without_gradients(compiled):
    """Parameters get none either, which the program is told."""
    model = MODELS["linear"]()
    program = lambda x: checkpoint(model, x, use_reentrant=True)
    result, _, told, _ = assert_alike(compiled, program, model, t.ones(3, 4))
    assert not result.requires_grad
    assert told == ["None of the inputs have requires_grad=True. Gradients will be None"]


def test_a_reentrant_checkpoint_by_default(compiled):
    model = MODELS["linear"]()
    _, _, told, _ = assert_alike(compiled, lambda x: checkpoint(model, x), model, leaf())
    assert len(told) == 1 and "use_reentrant parameter should be passed explicitly" in told[0]


def test_reentrant_checkpoints_refuse_keywords(compiled):
    model = MODELS["linear"]()
    function = compiled(lambda x: checkpoint(model, input=x, use_reentrant=True))
    with pytest.raises(ValueError, match="Unexpected keyword arguments: input"):
        function(leaf())


def test_a_sequence_of_reentrant_checkpoints(compiled):
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4), nn.Sigmoid())
    assert_alike(
        compiled,
        lambda x: checkpoints.checkpoint_sequential(model, 2, x, use_reentrant=True),
        model,
        leaf(),
    )


# ---- chosen results ----


def keep_products(ctx, op, *args, **kwargs):
    is_product = op == t.ops.aten.addmm.default
    return Policy.MUST_SAVE if is_product else Policy.PREFER_RECOMPUTE


@pytest.mark.parametrize("name", MODELS)
def test_a_policy(compiled, name):
    model = MODELS[name]()
    keep = functools.partial(contexts, keep_products)
    program = lambda x: checkpoint(model, x, use_reentrant=False, context_fn=keep).cos()
    assert_alike(compiled, program, model, leaf())


class Keeper:
    """Makes contexts when it is called."""

    def __call__(self):
        return contexts([t.ops.aten.addmm.default])

    def chosen(self):
        return contexts(keep_products)


def contexts_of_products():
    return contexts(keep_products)


FORMS = {
    "a function": lambda: contexts_of_products,
    "a partial that is made inside": lambda: functools.partial(contexts, keep_products),
    "a partial of a list": lambda: functools.partial(contexts, [t.ops.aten.addmm.default]),
    "a function that is made inside": lambda: lambda: contexts(keep_products),
    "a method": lambda: KEEPER.chosen,
    "an object": lambda: KEEPER,
}
KEEPER = Keeper()


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_a_policy(compiled, form):
    model = MODELS["linear"]()
    make = FORMS[form]
    program = lambda x: checkpoint(model, x, use_reentrant=False, context_fn=make()).cos()
    assert_alike(compiled, program, model, leaf())


def products(policy):
    """Products in the graphs of forward and backward."""
    model = MODELS["linear"]()
    counts = []

    def count(gm, examples):
        targets = [node.target for node in gm.graph.nodes if node.op == "call_function"]
        counts.append(sum(target == t.ops.aten.addmm.default for target in targets))
        return gm.forward

    keep = functools.partial(contexts, policy)

    def program(x):
        return checkpoint(model, x, use_reentrant=False, context_fn=keep)

    t.compile(program, backend=aot_autograd(fw_compiler=count))(leaf()).sum().backward()
    return counts


def test_what_a_policy_keeps_is_not_computed_again():
    assert products(keep_products) == [1, 0]
    assert products(lambda ctx, op, *args, **kwargs: Policy.MUST_RECOMPUTE) == [1, 1]


# ---- control flow inside ----


def branch(x):
    return t.cond(x.sum() > 0, lambda x: x.sin() @ x.t(), lambda x: x.cos() @ x.t(), (x,))


def sweep(x):
    return scan(lambda carry, row: (t.tanh(carry + row), carry * row), t.zeros_like(x[0]), x)[1]


def combine(x):
    return associative_scan(lambda a, b: a * b + a, x, 0, combine_mode="generic")


def map_rows(x):
    return map_slices(lambda row: t.outer(row, row).sin(), x)


def keep_mm(context, op, *args, **kwargs):
    return Policy.MUST_SAVE if "mm" in str(op) else Policy.MUST_RECOMPUTE


@pytest.mark.sampled(5)
@pytest.mark.parametrize("function", [branch, sweep, combine, map_rows], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "policy",
    [keep_mm, lambda *_, **__: Policy.MUST_SAVE, lambda *_, **__: Policy.PREFER_RECOMPUTE],
    ids=["products", "everything", "nothing"],
)
@pytest.mark.parametrize("is_nested", [False, True])
def test_policies_around_control_flow(compiled, function, policy, is_nested):
    context_fn = functools.partial(contexts, policy)

    def keeping(function, x):
        return checkpoint(function, x, use_reentrant=False, context_fn=context_fn)

    def body(x):
        x = x.sin()
        return (keeping(function, x) if is_nested else function(x)).cos()

    outcomes = []
    for run in (lambda x: function(x.sin()).cos(), compiled(lambda x: keeping(body, x))):
        x = leaf()
        result = run(x)
        (result * t.arange(float(result.numel())).reshape(result.shape)).sum().backward()
        outcomes.append((result.detach(), x.grad))
    t.testing.assert_close(outcomes[1], outcomes[0])


# ---- scopes inside ----


def test_a_recomputation_that_stops_early_ends_the_scopes_inside():
    vmap = importlib.import_module(f"{NAME}.func").vmap

    def program(x):
        return checkpoint(vmap(lambda row: row.tanh() * row.sum()), x, use_reentrant=False)

    compiled = t.compile(program, backend="eager", fullgraph=True)
    x, y = leaf(), leaf()
    compiled(x).sum().backward()
    program(y).sum().backward()
    t.testing.assert_close(x.grad, y.grad)
    # Inside of a transform this is an error.
    assert t.ones(2).requires_grad_().requires_grad


def doubled_twice(x):
    y = x * 2
    y[x > 0] = y[x > 0] * 3
    return y * x


MASKED = {
    "chosen": lambda x: x[x > 0].sin(),
    "places": lambda x: x[tuple((x > 0).nonzero().unbind(1))].sin(),
    "written": doubled_twice,
    "of random numbers": lambda x: x[t.rand(4) > 0.5].sin(),
    "dropped": lambda x: F.dropout(x.sin(), 0.5),
    "inside of another": lambda x: checkpoint(lambda v: v[v > 0].sin(), x * 2, use_reentrant=False),
    "with its size": lambda x: x[x > 0].sin() * x[x > 0].numel(),
}


@pytest.mark.parametrize("name", MASKED)
def test_masks_in_checkpoints(compiled, name):
    def program(x):
        return checkpoint(MASKED[name], x, use_reentrant=False) * 2

    run = compiled(program)
    for seed in (1, 2, 3):
        results = []
        for function in (program, run):
            t.manual_seed(seed)
            x = t.randn(4, 4, requires_grad=True)
            y = function(x)
            y.sum().backward()
            results.append((y.detach(), x.grad))
        assert is_same(*results, True)
    assert not counters["fallback"]
