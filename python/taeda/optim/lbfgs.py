"""LBFGS: quasi-Newton steps from the last few changes of parameters and gradients."""

from taeda import _C
from taeda.autograd.grad_mode import enable_grad, no_grad
from taeda.optim._line_search import strong_wolfe as _strong_wolfe
from taeda.optim._settings import _to_scalar, check_lr
from taeda.optim.optimizer import Optimizer

__all__ = ["LBFGS"]

# What a step leaves for the next one.
_KEPT = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")


class LBFGS(Optimizer):
    """L-BFGS; `line_search_fn` is None (steps of size `lr`) or "strong_wolfe".

    Its state is that of the first parameter; all parameters and gradients are one long vector.
    """

    def __init__(
        self,
        params,
        lr=1,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-7,
        tolerance_change=1e-9,
        history_size=100,
        line_search_fn=None,
    ):
        check_lr(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    # ---- parameters as one vector ----
    @property
    def _params(self):
        return self.param_groups[0]["params"]

    def _gather_flat_grad(self):
        pieces = []
        for param in self._params:
            grad = _C.zeros_like(param) if param.grad is None else param.grad
            pieces.append(_real(grad).reshape(-1))
        return _C.cat(pieces, 0)

    def _add_grad(self, step_size, update):
        offset = 0
        for param in map(_real, self._params):
            piece = update[offset : offset + param.numel()]
            param.add_(piece.view_as(param), alpha=step_size)
            offset += param.numel()

    def _directional_evaluate(self, closure, x, t, d):
        """Loss and gradient at `x + t * d`; the parameters are `x` again after it."""
        self._add_grad(t, d)
        loss = float(closure())
        flat_grad = self._gather_flat_grad()
        for param, value in zip(self._params, x):
            param.copy_(value)
        return loss, flat_grad

    # ---- stepping ----
    @no_grad()
    def step(self, closure):
        """Up to `max_iter` iterations; `closure` computes the loss and its gradients anew."""
        if len(self.param_groups) != 1:
            raise AssertionError(
                f"Expected exactly one param_group, but got {len(self.param_groups)}"
            )
        closure = enable_grad()(closure)
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        state["func_evals"] += 1
        flat_grad = self._gather_flat_grad()
        if flat_grad.abs().max() <= self.param_groups[0]["tolerance_grad"]:
            return first_loss
        search = _Search(self, self.param_groups[0], state, closure)
        search.run(float(first_loss), flat_grad)
        return first_loss


def _real(tensor):
    return _C.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


class _Search:
    """The iterations of one call of `step`."""

    def __init__(self, optimizer, group, state, closure):
        self.optimizer, self.group, self.state, self.closure = optimizer, group, state, closure
        self.lr = _to_scalar(group["lr"])
        self.evals = 1
        for name in _KEPT:
            setattr(self, name, state.get(name))

    def run(self, loss, flat_grad):
        group = self.group
        for n_iter in range(1, group["max_iter"] + 1):
            self.state["n_iter"] += 1
            self._choose_direction(flat_grad)
            self._remember(loss, flat_grad)
            slope = flat_grad.dot(self.d)
            if slope > -group["tolerance_change"]:
                break
            is_last = n_iter == group["max_iter"]
            loss, flat_grad, is_flat = self._move(loss, flat_grad, slope, is_last)
            if is_last or is_flat or self.evals >= group["max_eval"]:
                break
            if self.d.mul(self.t).abs().max() <= group["tolerance_change"]:
                break
            if abs(loss - self.prev_loss) < group["tolerance_change"]:
                break
        for name in _KEPT:
            self.state[name] = getattr(self, name)

    def _remember(self, loss, flat_grad):
        """Keeps loss and gradient for the next iteration, and chooses the size of the step."""
        if self.prev_flat_grad is None:
            self.prev_flat_grad = flat_grad.clone(memory_format=_C.contiguous_format)
        else:
            self.prev_flat_grad.copy_(flat_grad)
        self.prev_loss = loss
        is_first = self.state["n_iter"] == 1
        self.t = min(1.0, 1.0 / flat_grad.abs().sum()) * self.lr if is_first else self.lr

    def _choose_direction(self, flat_grad):
        if self.state["n_iter"] == 1:
            self.d = flat_grad.neg()
            self.old_dirs, self.old_stps, self.ro, self.H_diag = [], [], [], 1
            return
        self._learn(flat_grad.sub(self.prev_flat_grad), self.d.mul(self.t))
        # The inverse of the Hessian times the gradient, in two loops over the kept changes.
        al = self.state.setdefault("al", [None] * self.group["history_size"])
        q = flat_grad.neg()
        for i in reversed(range(len(self.old_dirs))):
            al[i] = self.old_stps[i].dot(q) * self.ro[i]
            q.add_(self.old_dirs[i], alpha=-al[i])
        self.d = q.mul(self.H_diag)
        for i, (change, step) in enumerate(zip(self.old_dirs, self.old_stps)):
            self.d.add_(step, alpha=al[i] - change.dot(self.d) * self.ro[i])

    def _learn(self, change, step):
        """Takes a change of the gradient and its step into the history, if it curves up."""
        curvature = change.dot(step)
        if not curvature > 1e-10:
            return
        history = ((self.old_dirs, change), (self.old_stps, step), (self.ro, 1.0 / curvature))
        is_full = len(self.old_dirs) == self.group["history_size"]
        for kept, new in history:
            if is_full:
                kept.pop(0)
            kept.append(new)
        self.H_diag = curvature / change.dot(change)

    def _move(self, loss, flat_grad, slope, is_last):
        """Moves along the direction. Loss and gradient there; whether the gradient is flat."""
        optimizer, evals = self.optimizer, 0
        name = self.group["line_search_fn"]
        if name is not None:
            if name != "strong_wolfe":
                raise RuntimeError("only 'strong_wolfe' is supported")
            start = [p.clone(memory_format=_C.contiguous_format) for p in optimizer._params]
            loss, flat_grad, self.t, evals = _strong_wolfe(
                lambda x, t, d: optimizer._directional_evaluate(self.closure, x, t, d),
                start,
                self.t,
                self.d,
                loss,
                flat_grad,
                slope,
                max_ls=self.group["max_eval"] - self.evals,
            )
            optimizer._add_grad(self.t, self.d)
        else:
            optimizer._add_grad(self.t, self.d)
            if not is_last:
                loss = float(self.closure())
                flat_grad, evals = optimizer._gather_flat_grad(), 1
        self.evals += evals
        self.state["func_evals"] += evals
        return loss, flat_grad, bool(flat_grad.abs().max() <= self.group["tolerance_grad"])
