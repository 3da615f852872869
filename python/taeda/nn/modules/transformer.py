"""The transformer of Vaswani et al. (2017): layers, stacks of them, and both together."""

import copy
from warnings import warn

from taeda import _C
from taeda._own_names import adopt_private_classes
from taeda.backends import mha
from taeda.compiler import is_compiling
from taeda.nn import functional as F
from taeda.nn import init
from taeda.nn._multi_head_attention import _canonical_mask, _none_or_dtype
from taeda.nn.modules._transformer_layers import (
    TransformerDecoderLayer,
    TransformerEncoderLayer,
)
from taeda.nn.modules._weights import check_memory
from taeda.nn.modules.container import ModuleList
from taeda.nn.modules.module import Module
from taeda.nn.modules.normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


def _generate_square_subsequent_mask(sz, device=None, dtype=None):
    """Minus infinity where a place would look at later ones, zero elsewhere."""
    return _C.full((sz, sz), float("-inf"), dtype=dtype, device=device).triu(diagonal=1)


def _get_seq_len(src, batch_first):
    return src.size(1 if batch_first and src.dim() == 3 else 0)


def _detect_is_causal_mask(mask, is_causal=None, size=None):
    """Whether the mask is the causal one; looks at it where the caller does not say."""
    if is_causal is not None or mask is None:
        return is_causal is True
    size = mask.size(-2) if size is None else size
    causal = _generate_square_subsequent_mask(size, mask.device, mask.dtype)
    return mask.size() == causal.size() and bool((mask == causal).all())


def _get_clones(module, N):
    clones, numbers = ModuleList(), range(N)
    if isinstance(module, Module):
        tensors = [*module.parameters(), *module.buffers()]
        # Every part has a table of its own, whatever its device.
        sizes = [0 if t.is_meta else t.nbytes for t in tensors] + [0 for _ in module.modules()]
        check_memory(type(module).__name__, N, sizes)
    elif module is None:
        check_memory("None", N, [0])
    for _ in numbers:
        clones.append(copy.deepcopy(module))
    return clones


class TransformerEncoder(Module):
    """Copies of an encoder layer, one after the other, and a normalization.

    In evaluation without gradients PyTorch runs padded batches without their padding, unless
    `enable_nested_tensor` is off; `mask_check` makes sure that all of it is at the end. Results are
    zero there, before the normalization.
    """

    __constants__ = ["norm"]

    def __init__(
        self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True
    ):
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        why_not = _why_not_nested(encoder_layer) if enable_nested_tensor else ""
        self.use_nested_tensor = enable_nested_tensor and not why_not
        if why_not:
            warn(
                "enable_nested_tensor is True, but self.use_nested_tensor is False because "
                + why_not,
                stacklevel=2,
            )

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        src_key_padding_mask = _canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", _none_or_dtype(mask), "mask", src.dtype
        )
        mask = _canonical_mask(mask, "mask", None, "", src.dtype, False)
        length = _get_seq_len(src, self.layers[0].self_attn.batch_first)
        is_causal = _detect_is_causal_mask(mask, is_causal, length)
        output = src
        is_kept = self._kept_places(src, mask, src_key_padding_mask)
        if is_kept is not None:
            src_key_padding_mask = _canonical_mask(~is_kept, "", None, "", src.dtype)
        for layer in self.layers:
            output = layer(
                output,
                src_mask=mask,
                is_causal=is_causal,
                src_key_padding_mask=src_key_padding_mask,
            )
        if is_kept is not None:
            output = output.masked_fill(~is_kept.unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)

    def _kept_places(self, src, mask, padding):
        """The places that PyTorch runs where it leaves the padding out, else None."""
        layer = self.layers[0]
        if not (mha.get_fastpath_enabled() and self.use_nested_tensor) or layer.training:
            return None
        if src.dim() != 3 or padding is None or mask is not None:
            return None
        if (self.mask_check and is_compiling()) or layer._why_not_fused(src):
            return None
        given = padding.logical_not()
        kept = _C.arange(given.size(1), device=src.device) < given.sum(1, keepdim=True)
        return None if self.mask_check and not kept.equal(given) else kept


def _why_not_nested(layer):
    """Why PyTorch would not take the form without padding for a layer; "" where it would."""
    name = "encoder_layer"
    if not isinstance(layer, TransformerEncoderLayer):
        return f"{name} was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = (
        (layer.norm_first, f"{name}.norm_first was True"),
        (
            not attention.batch_first,
            f"{name}.self_attn.batch_first was not True"
            "(use batch_first for better inference performance)",
        ),
        (
            not attention._qkv_same_embed_dim,
            f"{name}.self_attn._qkv_same_embed_dim was not True",
        ),
        (attention.in_proj_bias is None, f"{name}.self_attn was passed bias=False"),
        (
            not layer.activation_relu_or_gelu,
            f"{name}.activation_relu_or_gelu was not True",
        ),
        (
            layer.norm1.eps != layer.norm2.eps,
            f"{name}.norm1.eps was not equal to {name}.norm2.eps",
        ),
        (attention.num_heads % 2 == 1, f"{name}.self_attn.num_heads is odd"),
    )
    return next((text for holds, text in reasons if holds), "")


class TransformerDecoder(Module):
    """Copies of a decoder layer, one after the other, and a normalization."""

    __constants__ = ["norm"]

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        length = _get_seq_len(tgt, self.layers[0].self_attn.batch_first)
        tgt_is_causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal, length)
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """An encoder of sources and a decoder of targets."""

    def __init__(
        self,
        d_model=512,
        nhead=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        custom_encoder=None,
        custom_decoder=None,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        settings = (d_model, nhead, dim_feedforward, dropout, activation)
        settings += (layer_norm_eps, batch_first, norm_first, bias, device, dtype)
        norm = {"eps": layer_norm_eps, "bias": bias, "device": device, "dtype": dtype}
        if custom_encoder is None:
            layer = TransformerEncoderLayer(*settings)
            custom_encoder = TransformerEncoder(
                layer, num_encoder_layers, LayerNorm(d_model, **norm)
            )
        self.encoder = custom_encoder
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*settings)
            custom_decoder = TransformerDecoder(
                layer, num_decoder_layers, LayerNorm(d_model, **norm)
            )
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src,
        tgt,
        src_mask=None,
        tgt_mask=None,
        memory_mask=None,
        src_key_padding_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        src_is_causal=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src,
            mask=src_mask,
            src_key_padding_mask=src_key_padding_mask,
            is_causal=src_is_causal,
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """The causal mask: minus infinity where a place would look at later ones."""
        return _generate_square_subsequent_mask(sz, device, dtype)

    def _reset_parameters(self):
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)


adopt_private_classes(globals())
