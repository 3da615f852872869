"""The layers of a transformer: attention and a network of two matrices, each added to its input."""

from taeda import _C
from taeda.nn import functional as F
from taeda.nn._multi_head_attention import _canonical_mask, _none_or_dtype
from taeda.nn.modules._multihead_attention import MultiheadAttention, why_not_fused
from taeda.nn.modules.activation import GELU, ReLU
from taeda.nn.modules.dropout import Dropout
from taeda.nn.modules.linear import Linear
from taeda.nn.modules.module import Module
from taeda.nn.modules.normalization import LayerNorm


def _get_activation_fn(activation):
    """The function of a name."""
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


class _Layer(Module):
    """What both kinds of layers do with a block: normalize before it, or after the sum."""

    __constants__ = ["norm_first"]

    def _add(self, x, norm, block, *args):
        if self.norm_first:
            return x + block(norm(x), *args)
        return norm(x + block(x, *args))

    def _ff(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention, then a network of two matrices."""

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        options = {"bias": bias, "device": device, "dtype": dtype}
        norm = {"eps": layer_norm_eps, **options}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **options
        )
        self.linear1 = Linear(d_model, dim_feedforward, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **options)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, **norm)
        self.norm2 = LayerNorm(d_model, **norm)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        if isinstance(activation, str):
            activation = _get_activation_fn(activation)
        # The fused operator knows two functions, by number.
        if activation is F.relu or isinstance(activation, ReLU):
            self.activation_relu_or_gelu = 1
        elif activation is F.gelu or isinstance(activation, GELU):
            self.activation_relu_or_gelu = 2
        else:
            self.activation_relu_or_gelu = 0
        self.activation = activation

    def __setstate__(self, state):
        super().__setstate__(state)
        if not hasattr(self, "activation"):
            self.activation = F.relu

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        src_key_padding_mask = _canonical_mask(
            src_key_padding_mask,
            "src_key_padding_mask",
            _none_or_dtype(src_mask),
            "src_mask",
            src.dtype,
        )
        src_mask = _canonical_mask(src_mask, "src_mask", None, "", src.dtype, False)
        if not self._why_not_fast(src):
            return self._fast(src, src_mask, src_key_padding_mask)
        x = self._add(src, self.norm1, self._sa_block, src_mask, src_key_padding_mask, is_causal)
        return self._add(x, self.norm2, self._ff_block)

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        output, _ = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            need_weights=False,
            is_causal=is_causal,
        )
        return self.dropout1(output)

    def _ff_block(self, x):
        return self.dropout2(self._ff(x))

    def _weights(self):
        """The parameters in the order of the fused operator."""
        attention = self.self_attn
        first = (attention.in_proj_weight, attention.in_proj_bias)
        first += (attention.out_proj.weight, attention.out_proj.bias)
        last = (self.norm1, self.norm2, self.linear1, self.linear2)
        return first, tuple(t for module in last for t in (module.weight, module.bias))

    def _why_not_fast(self, src):
        """Why the fused operator for evaluation can not be used; "" where it can."""
        from taeda.backends import mha

        attention = self.self_attn
        reasons = (
            (
                not mha.get_fastpath_enabled(),
                "torch.backends.mha.get_fastpath_enabled() was not True",
            ),
            (src.dim() != 3, f"input not batched; expected src.dim() of 3 but got {src.dim()}"),
            (self.training, "training is enabled"),
            (not attention.batch_first, "self_attn.batch_first was not True"),
            (attention.in_proj_bias is None, "self_attn was passed bias=False"),
            (
                not attention._qkv_same_embed_dim,
                "self_attn._qkv_same_embed_dim was not True",
            ),
            (not self.activation_relu_or_gelu, "activation_relu_or_gelu was not True"),
            (self.norm1.eps != self.norm2.eps, "norm1.eps is not equal to norm2.eps"),
            (attention.num_heads % 2 == 1, "num_head is odd"),
            (
                any(m._forward_hooks or m._forward_pre_hooks for m in self.modules()),
                "forward pre-/hooks are attached to the module",
            ),
        )
        reason = next((text for holds, text in reasons if holds), "")
        return reason or self._why_not_fused(src)

    def _why_not_fused(self, src):
        first, last = self._weights()
        return why_not_fused((src, *first, *last))

    def _fast(self, src, src_mask, src_key_padding_mask):
        attention = self.self_attn
        mask, mask_type = attention.merge_masks(src_mask, src_key_padding_mask, src)
        first, last = self._weights()
        return _C._transformer_encoder_layer_fwd(
            src,
            attention.embed_dim,
            attention.num_heads,
            *first,
            self.activation_relu_or_gelu == 2,
            self.norm_first,
            self.norm1.eps,
            *last,
            mask,
            mask_type,
        )


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention over the encoder's results, then a network of two matrices."""

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        options = {"bias": bias, "device": device, "dtype": dtype}
        norm = {"eps": layer_norm_eps, **options}
        attention = {"dropout": dropout, "batch_first": batch_first, **options}
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **attention)
        self.linear1 = Linear(d_model, dim_feedforward, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **options)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, **norm)
        self.norm2 = LayerNorm(d_model, **norm)
        self.norm3 = LayerNorm(d_model, **norm)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        if isinstance(activation, str):
            activation = _get_activation_fn(activation)
        self.activation = activation

    def __setstate__(self, state):
        state.setdefault("activation", F.relu)
        super().__setstate__(state)

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=False,
        memory_is_causal=False,
    ):
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        x = self._add(tgt, self.norm1, self._sa_block, *own)
        x = self._add(x, self.norm2, self._mha_block, *other)
        return self._add(x, self.norm3, self._ff_block)

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        masks = (attn_mask, key_padding_mask, is_causal)
        return self.dropout1(_attended(self.self_attn, x, x, *masks))

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        masks = (attn_mask, key_padding_mask, is_causal)
        return self.dropout2(_attended(self.multihead_attn, x, mem, *masks))

    def _ff_block(self, x):
        return self.dropout3(self._ff(x))


def _attended(attention, x, memory, attn_mask, key_padding_mask, is_causal):
    output, _ = attention(
        x,
        memory,
        memory,
        attn_mask=attn_mask,
        key_padding_mask=key_padding_mask,
        is_causal=is_causal,
        need_weights=False,
    )
    return output
