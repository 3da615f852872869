"""SparseAdam: Adam that changes only the rows of which a sparse gradient speaks."""

from taeda.autograd.grad_mode import enable_grad, no_grad
from taeda.optim._settings import check_betas, check_lr
from taeda.optim.optimizer import Optimizer

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam for sparse gradients. Until there are sparse tensors it has no gradient to take."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        check_lr(lr)
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places = [
            ([index, place], param)
            for index, group in enumerate(self.param_groups)
            for place, param in enumerate(group["params"])
        ]
        sparse = [place for place, param in places if param.is_sparse]
        if sparse:
            raise ValueError(
                f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors"
            )
        complex_ones = [place for place, param in places if param.is_complex()]
        if complex_ones:
            raise ValueError(
                f"Complex params at indices {complex_ones}: SparseAdam does not support complex "
                "parameters"
            )

    @no_grad()
    def step(self, closure=None):
        """Refuses the gradients that there are: all of them are dense."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            if any(param.grad is not None for param in group["params"]):
                raise RuntimeError(
                    "SparseAdam does not support dense gradients, please consider Adam instead"
                )
        return loss
