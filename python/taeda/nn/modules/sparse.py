"""Embedding and EmbeddingBag: tables of vectors by index."""

from taeda import _C
from taeda.autograd.grad_mode import no_grad
from taeda.nn import functional as F
from taeda.nn import init
from taeda.nn.modules._member_calls import calls
from taeda.nn.modules.module import Module
from taeda.nn.parameter import Parameter

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """The base of both: a matrix of vectors, one of which may stand for padding."""

    def _set_table(self, rows, columns, weight, requires_grad, device, dtype):
        """Registers the matrix: the one given, or a new one."""
        self.num_embeddings = rows
        self.embedding_dim = columns
        if weight is None:
            data = _C.empty((rows, columns), device=device, dtype=dtype)
            self.weight = Parameter(data, requires_grad=requires_grad)
            self.reset_parameters()
            return
        if list(weight.shape) != [rows, columns]:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self.weight = Parameter(weight, requires_grad=requires_grad)

    def reset_parameters(self):
        """Normal values, and zeros in the padding row."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self):
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def _unusual(self, *pairs):
        """name=value of the settings that are not the default."""
        shown = [f"{self.num_embeddings}, {self.embedding_dim}"]
        shown += [f"{name}={getattr(self, name)}" for name, d in pairs if getattr(self, name) != d]
        return ", ".join(shown)


def _row(padding_idx, rows, text):
    """The row counted from the first."""
    if padding_idx is None:
        return None
    if padding_idx != 0 and not -rows <= padding_idx < rows:
        raise AssertionError(text)
    return padding_idx + rows if padding_idx < 0 else padding_idx


def _check_matrix(embeddings):
    if embeddings.dim() != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")


class Embedding(_Table):
    """Rows of `weight` by index; the row `padding_idx` is zero at first and is not trained."""

    __constants__ = [
        "num_embeddings",
        "embedding_dim",
        "padding_idx",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "sparse",
    ]

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
        _weight=None,
        _freeze=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        text = "Padding_idx must be within num_embeddings"
        self.padding_idx = _row(padding_idx, num_embeddings, text)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self._set_table(num_embeddings, embedding_dim, _weight, not _freeze, device, dtype)
        self.sparse = sparse

    @calls(
        F,
        "embedding",
        "weight",
        "padding_idx",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "sparse",
    )
    def forward(self, input):
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self):
        return self._unusual(
            ("padding_idx", None),
            ("max_norm", None),
            ("norm_type", 2),
            ("scale_grad_by_freq", False),
            ("sparse", False),
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings,
        freeze=True,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
    ):
        """An embedding whose table is the given matrix, not trained unless `freeze` is False."""
        _check_matrix(embeddings)
        rows, columns = embeddings.shape
        return cls(
            num_embeddings=rows,
            embedding_dim=columns,
            _weight=embeddings,
            _freeze=freeze,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
        )


class EmbeddingBag(_Table):
    """The sum, mean or maximum of the rows of each bag of indices, without the rows in between."""

    __constants__ = [
        "num_embeddings",
        "embedding_dim",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "mode",
        "sparse",
        "include_last_offset",
        "padding_idx",
    ]

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        _weight=None,
        include_last_offset=False,
        padding_idx=None,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        text = "padding_idx must be within num_embeddings"
        self.padding_idx = _row(padding_idx, num_embeddings, text)
        self._set_table(num_embeddings, embedding_dim, _weight, True, device, dtype)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self):
        shown = self._unusual(("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False))
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{shown}, mode={self.mode!r}{padding}"

    @classmethod
    def from_pretrained(
        cls,
        embeddings,
        freeze=True,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        include_last_offset=False,
        padding_idx=None,
    ):
        """A bag whose table is the given matrix, not trained unless `freeze` is False."""
        _check_matrix(embeddings)
        rows, columns = embeddings.shape
        bag = cls(
            num_embeddings=rows,
            embedding_dim=columns,
            _weight=embeddings,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        bag.weight.requires_grad = not freeze
        return bag
