"""Kernels that run as one: equal ones over other memory, and single elements; writes to inputs."""

import importlib

import pytest
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
optim = importlib.import_module(f"{NAME}.optim")
compile_fx = importlib.import_module(f"{NAME}._inductor.compile_fx").compile_fx

FORMS = {"interpreted": {"native": "never"}, "native": {"native": "wait", "check": True}}

STEPS = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "maximize": True, "lr": t.tensor(0.01)}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {"lr": t.tensor(0.01)}),
    ("Adam", {"capturable": True}),
    ("AdamW", {}),
    ("AdamW", {"fused": True}),
    ("AdamW", {"foreach": True}),
    ("AdamW", {"foreach": False, "amsgrad": True}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1}),
    ("Adadelta", {}),
    ("Adamax", {}),
    ("NAdam", {}),
    ("RAdam", {}),
    ("RMSprop", {"centered": True, "momentum": 0.5}),
    ("ASGD", {"t0": 2}),
    ("Rprop", {}),
    ("RMSprop", {"lr": t.tensor(0.01)}),
    ("Adadelta", {"lr": t.tensor(0.01)}),
    ("NAdam", {"lr": t.tensor(0.01)}),
]


@pytest.fixture(autouse=True)
def fresh():
    t.compiler.reset()


def watched(plans, **options):
    """A backend that keeps what it compiles."""

    def backend(gm, inputs):
        plans.append(compile_fx(gm, inputs, **options))
        return plans[-1]

    return backend


def stepped(name, options, compile_step, shapes, dtype, steps=5):
    """Parameters and states after some steps, each with a smaller rate than the one before."""
    t.manual_seed(0)
    params = [nn.Parameter(t.randn(shape, dtype=dtype)) for shape in shapes]
    if not compile_step:
        options = {key: value for key, value in options.items() if key != "capturable"}
    optimizer = getattr(optim, name)(params, **{"lr": 0.01, **options})
    step = t.compile(optimizer.step, backend=compile_step) if compile_step else optimizer.step
    for _ in range(steps):
        for p in params:
            p.grad = t.randn(p.shape, dtype=dtype)
        step()
        for group in optimizer.param_groups:
            group["lr"] = group["lr"] * 0.9
    return [*params, *(v for p in params for v in optimizer.state[p].values())]


def assert_equal_bits(got, expected):
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        assert t.equal(a, b), (a - b).abs().max()


# Sizes of all kinds, one that threads share, a single element, and one without any.
SHAPES = [(4, 3), (5,), (7, 2, 3), (1,), (0, 3), (70_000,), (), (16,)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [t.float32, t.float64], ids=str)
@pytest.mark.parametrize(("name", "options"), STEPS)
def test_a_step_is_one_kernel_with_eager_bits(name, options, dtype, form):
    if form == "native" and dtype == t.float64:
        pytest.skip("one dtype is enough for the compiler")
    plans = []
    got = stepped(name, options, watched(plans, **FORMS[form]), SHAPES, dtype)
    assert_equal_bits(got, stepped(name, options, None, SHAPES, dtype))
    for plan in plans:
        forward = plan.report()[0]
        assert (forward["kernels"], forward["calls"]) == (1, 0), plan.text()
    # The first step makes states; others write to what there is.
    assert plans[-1].report()[0]["output_bytes"] == 0


@pytest.mark.slow
def test_adamw_over_148_tensors_is_one_kernel():
    plans = []
    shapes = [(3 + i % 7, 1 + i % 5) for i in range(148)]
    got = stepped("AdamW", {}, watched(plans, native="never"), shapes, t.float32)
    assert_equal_bits(got, stepped("AdamW", {}, None, shapes, t.float32))
    (step,) = plans[-1].report()[0]["steps"]
    # Those of one element belong to the same launch.
    assert step["members"] > 100
    sources = set(plans[-1]._plan.sources())
    assert sum(source.count('extern "C"') for source in sources) <= 4


def test_groups_of_other_options_are_kernels_of_their_own():
    plans = []
    params = [nn.Parameter(t.randn(3 + i)) for i in range(6)]
    groups = [{"params": params[:3]}, {"params": params[3:], "weight_decay": 0.5}]
    step = t.compile(optim.SGD(groups, lr=0.1).step, backend=watched(plans, native="never"))
    for p in params:
        p.grad = t.ones_like(p)
    step()
    assert [s["members"] for s in plans[0].report()[0]["steps"]] == [3, 3]


def test_lists_of_operators_are_one_kernel():
    def chain(*xs):
        ys = t._foreach_mul(list(xs), 2.0)
        ys = t._foreach_add(ys, 1.0)
        return t._foreach_sqrt(t._foreach_abs(ys))

    xs = [t.randn(n) for n in (3, 1000, 17, 5)]
    plans = []
    compiled = t.compile(chain, backend=watched(plans, native="never"))
    assert_equal_bits(compiled(*xs), chain(*xs))
    (step,) = plans[0].report()[0]["steps"]
    assert step["members"] == 4


def test_averages_of_models_are_one_kernel():
    def update(averages, params):
        with t.no_grad():
            for a, p in zip(averages, params):
                a.mul_(0.9).add_(p, alpha=0.1)

    params = [t.randn(n, 3) for n in (2, 40, 7)]
    averages = [p.clone() for p in params]
    expected = [p.clone() for p in params]
    params = [p * 2 for p in params]
    plans = []
    t.compile(update, backend=watched(plans, native="never"))(averages, params)
    update(expected, params)
    assert_equal_bits(averages, expected)
    (step,) = plans[0].report()[0]["steps"]
    assert step["members"] == 3
    assert plans[0].report()[0]["output_bytes"] == 0


def test_kernels_that_depend_on_each_other_are_not_joined():
    def f(x, y):
        a = (x * 2).sum()
        return (y * 2 + a).sum(), a

    x, y = t.randn(5), t.randn(9)
    plans = []
    assert_equal_bits(t.compile(f, backend=watched(plans, native="never"))(x, y), f(x, y))
    assert plans[0].report()[0]["kernels"] == 2


# ---- writes to inputs ----
def swap(a, b):
    c = a.clone()
    a.copy_(b)
    b.copy_(c)


def reverse(a, b):
    a.copy_(a.flip(0))
    b.add_(a)


def shift(a, b):
    a[1:] += a[:-1].clone()
    b.mul_(a)


def cross(a, b):
    a, b = a.add_(b), b.mul_(2)
    return a + b


def rows(a, b):
    a.sub_(a.mean(0))
    b.copy_(a.softmax(0))


def transposed(a, b):
    a.copy_((b.view(2, 3).t().reshape(-1)) + a)


def product(a, b):
    a.copy_((b.view(2, 3) @ a.view(3, 2)).sum() + a)
    b.add_(1)


def gathered(a, b):
    b.copy_(a[b.long().clamp(0, 5)])
    a.add_(1)


def returned(a, b):
    a.add_(1)
    return a, a * b, a.view(2, 3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "f", [swap, reverse, shift, cross, rows, transposed, product, gathered, returned]
)
def test_writes_are_eager_s(f, form):
    t.manual_seed(0)
    given = [t.randn(6), t.randn(6)]
    ours, theirs = [x.clone() for x in given], [x.clone() for x in given]
    compiled = t.compile(f, backend=watched([], **FORMS[form]))
    for _ in range(2):
        got, expected = compiled(*ours), f(*theirs)
        assert_equal_bits(ours, theirs)
        if expected is not None:
            pairs = zip(got, expected) if isinstance(expected, tuple) else [(got, expected)]
            for a, b in pairs:
                t.testing.assert_close(a, b)


def test_a_write_counts_in_versions():
    x = t.ones(4)
    compiled = t.compile(lambda x: x.mul_(2), backend=watched([], native="never"))
    compiled(x)
    before = x._version
    compiled(x)
    assert x._version == before + 1


def test_a_written_input_of_other_strides_is_written():
    def f(x):
        x.mul_(3)

    compiled = t.compile(f, backend=watched([], native="never"), dynamic=False)
    compiled(t.ones(3, 2))
    x = t.ones(2, 3).t()
    compiled(x)
    assert t.equal(x, t.full((3, 2), 3.0))


def test_inputs_are_as_they_were_after_an_index_out_of_range():
    def f(x, i):
        x.add_(1)
        return x[i]

    compiled = t.compile(f, backend=watched([], native="never"))
    x = t.zeros(4)
    compiled(x, t.tensor([0, 3]))
    assert t.equal(x, t.ones(4))
    with pytest.raises(IndexError):
        compiled(x, t.tensor([0, 4]))


def test_writes_around_sizes_that_only_data_tells():
    def f(x, y):
        y.add_(x.sum())
        places = (x > 0).nonzero()
        x.mul_(2)
        return places + 1

    ours, theirs = ([t.tensor([1.0, -2.0, 3.0]), t.ones(4)] for _ in range(2))
    got = t.compile(f, backend=watched([], native="never"))(*ours)
    assert t.equal(got, f(*theirs))
    assert_equal_bits(ours, theirs)


def test_inputs_that_share_memory():
    def f(x, y):
        x.add_(1)
        y.mul_(2)
        return x + y

    def given():
        whole = t.arange(6.0)
        return whole, (whole[:4], whole[2:])

    (ours, views), (theirs, expected) = given(), given()
    compiled = t.compile(f, backend=watched([], native="never"))
    assert t.equal(compiled(*views), f(*expected))
    assert t.equal(ours, theirs)


def test_the_fusion_log_says_what_was_joined():
    report = importlib.import_module(f"{NAME}._inductor._report")
    plans = []
    stepped("AdamW", {}, watched(plans, native="never"), [(4,), (5,), (6,)], t.float32)
    text = report.fusion_text(plans[-1].report()[0])
    assert "kernel0, 3 equal ones joined, with 1 of single elements, gives" in text
