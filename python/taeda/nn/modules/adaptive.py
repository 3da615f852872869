"""AdaptiveLogSoftmaxWithLoss: a softmax over many classes, the rare ones in clusters."""

from collections import namedtuple
from itertools import pairwise

from taeda.nn import functional as F
from taeda.nn.modules.container import ModuleList, Sequential
from taeda.nn.modules.linear import Linear
from taeda.nn.modules.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Frequent classes in a head, others in clusters with smaller projections (Grave, 2017)."""

    def __init__(
        self,
        in_features,
        n_classes,
        cutoffs,
        div_value=4.0,
        head_bias=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        cutoffs = list(cutoffs)
        _check_cutoffs(cutoffs, n_classes)
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        options = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for place, (start, stop) in enumerate(pairwise(self.cutoffs)):
            hidden = int(in_features // div_value ** (place + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, **options),
                    Linear(hidden, stop - start, bias=False, **options),
                )
            )

    def reset_parameters(self):
        """New values in head and tail."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_, target_):
        _check_shapes(input_, target_)
        is_batched = target_.dim() > 0
        input = input_ if is_batched else input_.unsqueeze(0)
        target = target_ if is_batched else target_.unsqueeze(0)
        output = input.new_zeros(target.size(0))
        # The column of the head: a frequent class's own, or that of its cluster.
        columns = target.new_empty(target.size(0))
        used = 0
        for place, (start, stop) in enumerate(pairwise([0, *self.cutoffs])):
            is_here = (target >= start) & (target < stop)
            rows = is_here.nonzero().squeeze()
            if rows.numel() == 0:
                continue
            used += rows.numel()
            if place == 0:
                columns.index_copy_(0, rows, target[is_here])
                continue
            scores = self.tail[place - 1](input.index_select(0, rows))
            columns.index_fill_(0, rows, self.shortlist_size + place - 1)
            within = (target[is_here] - start).unsqueeze(1)
            log_prob = F.log_softmax(scores, dim=1).gather(1, within)
            output.index_copy_(0, rows, log_prob.squeeze(1))
        if used != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(input), dim=1)
        output += head.gather(1, columns.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _ASMoutput(output if is_batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input, head_output):
        """The logarithms of the probabilities of all classes."""
        head = F.log_softmax(head_output, dim=1)
        out = input.new_empty((head_output.size(0), self.n_classes))
        out[:, : self.shortlist_size] = head[:, : self.shortlist_size]
        for place, (start, stop) in enumerate(pairwise(self.cutoffs)):
            cluster = F.log_softmax(self.tail[place](input), dim=1)
            out[:, start:stop] = cluster + head[:, self.shortlist_size + place].unsqueeze(1)
        return out

    def log_prob(self, input):
        """The logarithms of the probabilities of all classes, one row per example."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input):
        """The most probable class of each example."""
        head = self.head(input)
        output = head.argmax(dim=1)
        is_rare = output >= self.shortlist_size
        if not is_rare.any():
            return output
        if is_rare.all():
            return self._get_full_log_prob(input, head).argmax(dim=1)
        rare = self._get_full_log_prob(input[is_rare], head[is_rare])
        output[is_rare] = rare.argmax(dim=1)
        return output


def _check_cutoffs(cutoffs, n_classes):
    if not cutoffs:
        raise ValueError("cutoffs should be a sequence of length larger than 0")
    is_increasing = cutoffs == sorted(set(cutoffs))
    is_within = min(cutoffs) > 0 and max(cutoffs) <= n_classes - 1
    if not is_increasing or not is_within or any(int(c) != c for c in cutoffs):
        raise ValueError(
            "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
            "order, where each value is between 1 and n_classes-1"
        )


def _check_shapes(input, target):
    ndim = target.dim()
    if ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if ndim == 1 and input.size(0) != target.size(0):
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input.dim() != ndim + 1:
        raise RuntimeError(
            f"{ndim}D target tensor expects {ndim + 1}D input tensors, but found inputs with size "
            f"{input.size()}"
        )
