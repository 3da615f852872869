"""Causal masks that attention knows by their name, not by their elements."""

from enum import IntEnum, auto
from warnings import warn

import taeda
from taeda.nn import functional as F

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """The corner in which the diagonal of a causal mask ends.

    Both are the same where there are as many queries as keys. Else the first query sees the first
    key alone (UPPER_LEFT), or the last query sees every key (LOWER_RIGHT).
    """

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(taeda.Tensor):
    """A causal mask of so many queries and keys, for scaled_dot_product_attention.

    Its elements are made only where a kernel needs them.
    """

    def __new__(cls, variant, seq_len_q, seq_len_kv):
        return super().__new__(cls)

    def __init__(self, variant, seq_len_q, seq_len_kv):
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        super().__init__()
        self.variant = variant
        self.seq_len_q = seq_len_q
        self.seq_len_kv = seq_len_kv
        if variant == CausalVariant.LOWER_RIGHT and seq_len_q > seq_len_kv:
            warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > "
                "seq_len_kv!",
                stacklevel=2,
            )

    def _materialize(self, device=None):
        """The mask: True where a query sees a key."""
        is_lower = self.variant == CausalVariant.LOWER_RIGHT
        size = (self.seq_len_q, self.seq_len_kv)
        every = taeda.ones(size, dtype=taeda.bool, device=device or "cpu")
        return every.tril(size[1] - size[0] if is_lower else 0)

    @staticmethod
    def _attend(
        query,
        key,
        value,
        attn_mask,
        dropout_p=0.0,
        is_causal=False,
        scale=None,
        enable_gqa=False,
    ):
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        options = {"dropout_p": dropout_p, "scale": scale, "enable_gqa": enable_gqa}
        is_square = attn_mask.seq_len_q == attn_mask.seq_len_kv
        if is_square or attn_mask.variant == CausalVariant.UPPER_LEFT:
            return F.scaled_dot_product_attention(query, key, value, is_causal=True, **options)
        mask = attn_mask._materialize(query.device)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, **options)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            return cls._attend(*args, **kwargs)
        return super().__torch_function__(func, types, args, kwargs)

    def __repr__(self):
        return repr(self._materialize())


def _bias(variant, size):
    if len(size) != 2:
        name = f"causal_{variant.name.lower()}"
        raise AssertionError(f"{name} only supports 2D tensors, got {len(size)}D")
    return CausalBias(variant, *size)


def causal_upper_left(*size):
    """The causal mask of (queries, keys) in which the first query sees the first key alone."""
    return _bias(CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size):
    """The causal mask of (queries, keys) in which the last query sees every key."""
    return _bias(CausalVariant.LOWER_RIGHT, size)
