"""MultiheadAttention: the parameters of attention with several heads."""

from taeda import _C
from taeda.nn import functional as F
from taeda.nn import init
from taeda.nn._multi_head_attention import _canonical_mask, _none_or_dtype
from taeda.nn.modules._weights import add_parameters
from taeda.nn.modules.linear import NonDynamicallyQuantizableLinear
from taeda.nn.modules.module import Module
from taeda.overrides import has_torch_function


class MultiheadAttention(Module):
    """Attention of queries over keys, whose values are averaged, in several heads.

    Inputs are (length, batch, features), or (batch, length, features) with `batch_first`.
    """

    __constants__ = ["batch_first"]

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        bias=True,
        add_bias_kv=False,
        add_zero_attn=False,
        kdim=None,
        vdim=None,
        batch_first=False,
        device=None,
        dtype=None,
    ):
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        add_parameters(self, self._projections(bias), device, dtype)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        if add_bias_kv:
            shape = (1, 1, embed_dim)
            add_parameters(self, {"bias_k": shape, "bias_v": shape}, device, dtype)
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _projections(self, bias):
        """The shapes of the projections of the input, in one matrix or in three."""
        size = self.embed_dim
        three = {
            "q_proj_weight": (size, size),
            "k_proj_weight": (size, self.kdim),
            "v_proj_weight": (size, self.vdim),
        }
        if self._qkv_same_embed_dim:
            shapes = {"in_proj_weight": (3 * size, size), **dict.fromkeys(three)}
        else:
            shapes = {**three, "in_proj_weight": None}
        return {**shapes, "in_proj_bias": (3 * size,) if bias else None}

    def _reset_parameters(self):
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state):
        state.setdefault("_qkv_same_embed_dim", True)
        super().__setstate__(state)

    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        need_weights=True,
        attn_mask=None,
        average_attn_weights=True,
        is_causal=False,
    ):
        why_not = self._why_not_fast(query, key, value, key_padding_mask, attn_mask)
        key_padding_mask = _canonical_mask(
            key_padding_mask,
            "key_padding_mask",
            _none_or_dtype(attn_mask),
            "attn_mask",
            query.dtype,
        )
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        if not why_not:
            mask, mask_type = self.merge_masks(attn_mask, key_padding_mask, query)
            return _C._native_multi_head_attention(
                query,
                key,
                value,
                self.embed_dim,
                self.num_heads,
                self.in_proj_weight,
                self.in_proj_bias,
                self.out_proj.weight,
                self.out_proj.bias,
                mask,
                need_weights,
                average_attn_weights,
                mask_type,
            )
        is_turned = self.batch_first and query.dim() == 3
        if is_turned:
            query, key, value = _turned(query, key, value)
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return output.transpose(1, 0) if is_turned else output, weights

    def _why_not_fast(self, query, key, value, key_padding_mask, attn_mask):
        """Why the fused operator for evaluation can not be used; "" where it can."""
        from taeda.backends import mha

        weight, bias = self.in_proj_weight, self.in_proj_bias
        reasons = (
            (
                any(m is not None and m.is_floating_point() for m in (key_padding_mask, attn_mask)),
                "floating-point masks are not supported for fast path.",
            ),
            (
                not mha.get_fastpath_enabled(),
                "torch.backends.mha.get_fastpath_enabled() was not True",
            ),
            (
                query.dim() != 3,
                f"input not batched; expected query.dim() of 3 but got {query.dim()}",
            ),
            (
                query is not key or key is not value,
                "non-self attention was used (query, key, and value are not the same Tensor)",
            ),
            (
                bias is not None and query.dtype != bias.dtype,
                "dtypes of query and self.in_proj_bias don't match",
            ),
            (weight is None, "in_proj_weight was None"),
            (bias is None, "in_proj_bias was None"),
            (
                weight is not None and query.dtype != weight.dtype,
                "dtypes of query and self.in_proj_weight don't match",
            ),
            (self.training, "training is enabled"),
            (self.num_heads % 2 != 0, "self.num_heads is not even"),
            (not self.batch_first, "batch_first was not True"),
            (self.bias_k is not None, "self.bias_k was not None"),
            (self.bias_v is not None, "self.bias_v was not None"),
            (self.add_zero_attn, "add_zero_attn was enabled"),
        )
        reason = next((text for holds, text in reasons if holds), "")
        return reason or why_not_fused(
            (query, weight, bias, self.out_proj.weight, self.out_proj.bias)
        )

    def merge_masks(self, attn_mask, key_padding_mask, query):
        """(mask, its type): of padding 1, of scores 2, and 2 for the sum of both."""
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            padding = key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
            merged = merged + padding
        return merged, 2


def why_not_fused(tensors):
    """Why a fused operator for evaluation can not be used on the tensors; "" where it can."""
    if has_torch_function(tensors):
        return "some Tensor argument has_torch_function"
    device = tensors[0].device.type
    if _C._is_autocast_available(device) and _C.is_autocast_enabled(device):
        return "autocast is enabled"
    if _C.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
        return (
            "grad is enabled and at least one of query or the input/output projection weights or "
            "biases requires_grad"
        )
    return ""


def _turned(query, key, value):
    """(length, batch, features) of each; one tensor given twice stays one."""
    turned_query = query.transpose(1, 0)
    turned_key = turned_query if key is query else key.transpose(1, 0)
    if value is query:
        return turned_query, turned_key, turned_query
    return turned_query, turned_key, turned_key if value is key else value.transpose(1, 0)
