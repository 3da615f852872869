"""The records' samples as functions of their tensors, for tests that go over all records.

`samples(key, dtype)` gives a record's calls in a dtype. A sample holds the tensors of its call, lists
flattened; called with tensors in their place it runs the operator, on a copy of what that writes to,
with a generator that starts anew.
"""

import record_calls
from taeda.utils import _pytree as pytree

import taeda

# Operators that do not take 16-bit floats, as in PyTorch or by their nature.
REFUSES_HALVES = {"complex", "view_as_complex", "view_as_complex_copy"}
REFUSES_HALVES |= {"_fused_cross_entropy", "_fused_cross_entropy_backward"}
REFUSES_HALVES |= {"ctc_loss.IntList", "ctc_loss.Tensor", "_ctc_loss", "_ctc_loss.Tensor"}
REFUSES_HALVES |= {"_ctc_loss_backward", "_ctc_loss_backward.Tensor"}
REFUSES_HALVES |= {"multi_margin_loss", "multi_margin_loss_backward", "multilabel_margin_loss"}
REFUSES_HALVES |= {"multilabel_margin_loss_forward", "multilabel_margin_loss_backward"}
REFUSES_HALVES |= {"cdist", "_cdist_forward", "_cdist_backward"}
REFUSES_HALVES |= {"pdist", "_pdist_forward", "_pdist_backward"}
REFUSES_HALVES |= {"quantile", "quantile.scalar", "nanquantile", "nanquantile.scalar"}
REFUSES_HALVES |= {"special_zeta", "special_zeta.self_scalar", "special_zeta.other_scalar"}
REFUSES_HALVES |= {"linalg_vander", "geqrf", "orgqr", "linalg_householder_product"}
REFUSES_HALVES |= {"qr", "linalg_qr", "linalg_solve_triangular", "linalg_lu_factor"}
REFUSES_HALVES |= {"linalg_lu_factor_ex", "linalg_lu_solve", "_linalg_solve_ex"}
REFUSES_HALVES |= {"linalg_solve_ex", "linalg_solve", "_linalg_det", "linalg_det", "det"}
REFUSES_HALVES |= {"linalg_inv_ex", "linalg_inv", "inverse"}
REFUSES_HALVES |= {"_standard_gamma", "_standard_gamma_grad", "_sample_dirichlet", "binomial"}
REFUSES_HALVES |= {"linalg_cholesky_ex", "linalg_cholesky", "cholesky", "cholesky_solve"}
REFUSES_HALVES |= {"cholesky_inverse", "triangular_solve", "linalg_slogdet", "slogdet", "logdet"}
FAMILIES_WITHOUT_HALVES = ("bessel", "error_functions", "polynomials")
REFUSES_HALVES |= {
    key for key, r in record_calls.records().items() if r.family in FAMILIES_WITHOUT_HALVES
}


class Sample:
    """A sample call; `requires_grad` makes its differentiable arguments leaves of a graph."""

    def __init__(self, call, requires_grad=False):
        self.call, self.op = call, record_calls.overload(call.key)
        args, kwargs = call.arguments()
        values, self.spec = pytree.tree_flatten((list(args), kwargs))
        self.values = values
        self.places = [i for i, v in enumerate(values) if isinstance(v, taeda.Tensor)]
        self.has_generator = any(isinstance(v, taeda.Generator) for v in values)
        self.names = self._names(args, kwargs)
        wanted = record_calls.differentiable(call.record) if requires_grad else ()
        wanted = set(wanted) - set(record_calls.unchecked(call.record))
        self.tensors = [
            leaf(values[i]) if n in wanted and record_calls.is_number(values[i]) else values[i]
            for i, n in zip(self.places, self.names)
        ]

    def _names(self, args, kwargs):
        """The argument that each tensor belongs to."""
        found = []
        for name, value in record_calls.named(self.call.record, args, kwargs).items():
            leaves = pytree.tree_leaves(value)
            found += [name for v in leaves if isinstance(v, taeda.Tensor)]
        return found

    @property
    def written(self):
        """Places among the tensors that the operator writes to."""
        names = {a.name for a in self.call.record.schema.arguments if a.is_written}
        return [i for i, name in enumerate(self.names) if name in names]

    def __call__(self, *tensors):
        values = self.values
        if self.has_generator:
            args, kwargs = self.call.arguments()
            values = pytree.tree_leaves((list(args), kwargs))
        values = list(values)
        for i, (place, tensor) in enumerate(zip(self.places, tensors)):
            values[place] = tensor.clone() if i in self.written else tensor
        args, kwargs = pytree.tree_unflatten(values, self.spec)
        return self.op(*args, **kwargs)

    def results(self, *tensors):
        """The call's results as a flat list."""
        return flat(self(*tensors))

    def __str__(self):
        return str(self.call)


def leaf(tensor):
    return tensor.detach().requires_grad_()


def flat(results):
    if isinstance(results, (tuple, list)):
        return [item for part in results for item in flat(part)]
    return [results]


def samples(key, dtype, requires_grad=False):
    """The sample calls of a record in this dtype; none if it does not take the dtype."""
    return [Sample(call, requires_grad) for call in record_calls.calls(key, dtype)]


def derivatives(key, dtype):
    """The samples that have a derivative: some result depends on a leaf."""
    record = record_calls.records()[key]
    reasons = record_calls.unchecked(record)
    if "no_grad" in record.data or "" in reasons:
        return []
    found = [s for s in samples(key, dtype, requires_grad=True) if s.call.text not in reasons]
    return [s for s in found if any(t.requires_grad for t in s.tensors) and has_roots(s)]


def has_roots(sample):
    results = sample.results(*sample.tensors)
    return any(isinstance(r, taeda.Tensor) and r.requires_grad for r in results)


def without_plain(sample):
    """The call without results that have no derivative, such as statistics, or are not there."""
    plain = sample.call.record.data.get("plain_results", ())

    def function(*tensors):
        results = enumerate(sample.results(*tensors))
        return tuple(r for i, r in results if i not in plain and r is not None)

    return function
