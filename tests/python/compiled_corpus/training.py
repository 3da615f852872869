"""Programs around gradients: Functions, hooks, optimizers, checkpoints, transforms, operators."""

import functools
import importlib

from compiled_case import case
from under_test import NAME, t

nn = importlib.import_module(f"{NAME}.nn")
F = importlib.import_module(f"{NAME}.nn.functional")
func = importlib.import_module(f"{NAME}.func")
optim = importlib.import_module(f"{NAME}.optim")
checkpoints = importlib.import_module(f"{NAME}.utils.checkpoint")
checkpoint = checkpoints.checkpoint
create_selective_checkpoint_contexts = checkpoints.create_selective_checkpoint_contexts
library = importlib.import_module(f"{NAME}.library")

t.manual_seed(0)
X = t.randn(4, 3)
W = t.randn(3, 2).requires_grad_()
TARGET = t.tensor([0, 1, 1, 0])


@case(X, W)
def loss_with_gradient(x, w):
    loss = F.cross_entropy(x @ w, TARGET)
    return loss, loss.requires_grad


@case(X, W)
def partly_without_gradient(x, w):
    with t.no_grad():
        scale = (x @ w).abs().mean()
    return (x @ w) / scale, scale.requires_grad


@case(X, W)
def detached_target(x, w):
    y = x @ w
    return ((y - y.detach().round()) ** 2).mean()


class Clamp(t.autograd.Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.bounds = (low, high)
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        low, high = ctx.bounds
        return g * ((x > low) & (x < high)), None, None


class StraightThrough(t.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g


@case(W)
def function_with_constants(w):
    return Clamp.apply(w, -0.5, 0.5).sum()


@case(W)
def function_straight_through(w):
    return (StraightThrough.apply(w * 3) * w).sum()


@case(W)
def functions_composed(w):
    y = w
    for _ in range(3):
        y = Clamp.apply(StraightThrough.apply(y * 2), -1.0, 1.0)
    return y


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)

    def forward(self, x):
        return Clamp.apply(self.a(x), -1.0, 1.0)


@case(Layer(), X)
def function_in_a_module(m, x):
    return m(x)


@case(X, W)
def checkpointed_function(x, w):
    def block(v, scale):
        return (v @ w).tanh() * scale

    return checkpoint(block, x, 2.0, use_reentrant=False)


@case(nn.Sequential(nn.Linear(3, 3), nn.GELU(), nn.Linear(3, 3)), X)
def checkpointed_layers(m, x):
    for layer in m:
        x = checkpoint(layer, x, use_reentrant=False)
    return x


@case(X, W)
def checkpointed_reentrant(x, w):
    return checkpoint(lambda v: (x @ v).tanh() * 2, w, use_reentrant=True).sum()


@case(nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3), nn.GELU()), X)
def checkpointed_by_a_policy(m, x):
    keep = functools.partial(create_selective_checkpoint_contexts, [t.ops.aten.addmm.default])
    return checkpoint(m, x, use_reentrant=False, context_fn=keep)


class Leaky(t.autograd.Function):
    """Keeps settings of a dict, and gives a mask that has no gradient."""

    @staticmethod
    def forward(ctx, x, settings):
        ctx.save_for_backward(x)
        ctx.settings = settings
        mask = x > settings["bound"]
        ctx.mark_non_differentiable(mask)
        return x.clone(), mask

    @staticmethod
    def backward(ctx, g, _):
        (x,) = ctx.saved_tensors
        slope = ctx.settings.get("slope", 0.1)
        return t.where(x > ctx.settings["bound"], g, g * slope), None


@case(W, {"bound": 0.5, "slope": 0.25})
def function_with_settings(w, settings):
    y, mask = Leaky.apply(w * 2, settings)
    return (y * y).sum() + mask.sum(), mask


class Cube(t.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


@case(X)
def function_under_vmap(x):
    return t.vmap(lambda row: Cube.apply(row).sum())(x)


@case(X)
def function_under_grad(x):
    return func.grad(lambda v: Cube.apply(v).sum())(x)


@case(X)
def function_under_both(x):
    return t.vmap(func.grad(lambda row: Cube.apply(row * 2).sum()))(x)


@case(X, W)
def penalty_of_gradients(x, w):
    g = func.grad(lambda v: ((x @ v) ** 2).sum())(w.detach())
    return g.norm()


@case(X)
def value_and_gradient(x):
    g, v = func.grad_and_value(lambda v: (v**3).sum())(x)
    return g, v


@case(X)
def gradient_with_extras(x):
    def loss(v):
        y = v.sin()
        return y.sum(), {"y": y}

    g, extras = func.grad(loss, has_aux=True)(x)
    return g, extras["y"]


@case(X)
def vmapped_norms(x):
    return t.vmap(lambda row: row / row.norm())(x), t.vmap(t.dot)(x, x)


@case(X)
def vmapped_twice(x):
    return t.vmap(lambda a: t.vmap(lambda b: (a * b).sum())(x))(x)


@case(X)
def jacobian_of_a_layer(x):
    w = t.ones(3, 3)
    return func.jacrev(lambda v: t.tanh(v @ w))(x[0]), func.jacfwd(lambda v: v * v)(x[0])


@case(nn.Linear(3, 2), X)
def functional_gradients(m, x):
    params = {k: v.detach() for k, v in m.named_parameters()}

    def loss(p, v):
        return (func.functional_call(m, p, (v,)) ** 2).mean()

    return func.grad(loss)(params, x)


@case(X)
def linearized(x):
    out, push = func.linearize(t.sin, x)
    return out, push(t.ones_like(x))


@case(X)
def cond_with_closures(x):
    scale = x.mean()
    return t.cond(x.sum() > 0, lambda v: v * scale, lambda v: v - scale, (x,))


@case(X)
def cond_with_branches_by_name(x):
    def positive(v):
        return v.relu()

    def negative(v):
        return -v

    return t.cond(x[0, 0] > 0, positive, negative, [x])


@library.custom_op(f"corpus_{NAME}::scaled_sine", mutates_args=())
def scaled_sine(x: t.Tensor, scale: float) -> t.Tensor:
    return x.sin() * scale


@scaled_sine.register_fake
def _(x, scale):
    return t.empty_like(x)


@library.custom_op(f"corpus_{NAME}::add_into", mutates_args={"x"})
def add_into(x: t.Tensor, by: float) -> None:
    x.add_(by)


@case(X)
def own_operator(x):
    return scaled_sine(x, 2.0) + 1


@case(X)
def own_operator_that_writes(x):
    y = x.clone()
    add_into(y, 1.5)
    return y * 2


@case(X)
def own_operator_by_name(x):
    op = getattr(t.ops, f"corpus_{NAME}").scaled_sine
    return op(x, 0.5), op.default(x, 1.0)


@case(X)
def sgd_steps(x):
    w = nn.Parameter(t.ones(3))
    lr = 0.1
    for _ in range(3):
        g = t.autograd.grad(((x * w) ** 2).sum(), w)[0]
        with t.no_grad():
            w -= lr * g
    return w.detach()


@case(X)
def momentum_by_hand(x):
    w, v = t.ones(3), t.zeros(3)
    for _ in range(3):
        g = 2 * (x * x * w).sum(0)
        v = 0.9 * v + g
        w = w - 0.01 * v
    return w, v


@case([t.ones(3), t.ones(2)], [t.ones(3), t.zeros(2)])
def foreach_updates(params, grads):
    scaled = t._foreach_mul(grads, 0.1)
    return t._foreach_sub(params, scaled), t._foreach_norm(grads)


@case(X, W)
def moving_average(x, w):
    average = {"w": w.detach().clone()}
    with t.no_grad():
        for key in average:
            average[key].lerp_(x[:3, :2], 0.1)
    return average


@case([t.ones(3), t.full((2,), 4.0)])
def clipped_by_norm(grads):
    total = t.stack([g.norm() for g in grads]).norm()
    factor = (1.0 / (total + 1e-6)).clamp(max=1.0)
    return [g * factor for g in grads], total


@case(X, W, [])
def tensor_hook_inside(x, w, log):
    y = x @ w
    y.register_hook(lambda g: g * 2)
    return y.sum()


@case(X, W)
def retained_gradient(x, w):
    y = x @ w
    z = y.relu()
    return z.sum(), z.grad_fn is not None, y.is_leaf


@case(X)
def autocast_product(x):
    with t.autocast("cpu", dtype=t.bfloat16):
        y = x @ x.T
        z = y.float() + 1
    return y.dtype, z


@case(X)
def autocast_switched_off(x):
    with t.autocast("cpu", dtype=t.bfloat16):
        with t.autocast("cpu", enabled=False):
            y = x @ x.T
        return y, t.is_autocast_enabled("cpu")


@case(X)
def attention_kernel(x):
    q = x.view(1, 1, 4, 3)
    return F.scaled_dot_product_attention(q, q, q, is_causal=True)


class Scaled(t.Tensor):
    """A subclass whose operators are the plain ones."""


@case(X)
def subclass_made(x):
    y = x.as_subclass(Scaled) * 2 + 1
    return y, type(y).__name__


class Logged(t.Tensor):
    """A subclass with a handler of its own."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        out = super().__torch_function__(function, types, args, kwargs or {})
        return out + 1 if function is t.Tensor.mul else out


@case(X)
def subclass_with_handler(x):
    return x.as_subclass(Logged).mul(2)


class Doubles(importlib.import_module(f"{NAME}.overrides").TorchFunctionMode):
    """A mode that doubles what sine gives."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        return out * 2 if function is t.sin else out


@case(X)
def function_mode(x):
    with Doubles():
        y = t.sin(x)
    return y + t.sin(x)


class Wrapper:
    """An object that stands for a tensor."""

    def __init__(self, value):
        self.value = value

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        args = [a.value if isinstance(a, cls) else a for a in args]
        return cls(function(*args, **(kwargs or {})))


@case(X)
def object_with_handler(x):
    return t.add(Wrapper(x), 1).value


@case(X)
def random_state_kept(x):
    state = t.get_rng_state()
    a = t.rand(2)
    t.set_rng_state(state)
    return x, t.equal(a, t.rand(2))


@case(X)
def forked_randomness(x):
    with t.random.fork_rng():
        t.manual_seed(3)
        a = t.rand(2)
    return x + 1, a
