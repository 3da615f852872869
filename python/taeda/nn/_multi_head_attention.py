"""multi_head_attention_forward with PyTorch's signature; what it computes is in C++."""

from taeda._C import Tensor, _nn
from taeda._C._nn import (  # noqa: F401
    _canonical_mask,
    _in_projection,
    _in_projection_packed,
    _mha_shape_check,
)
from taeda.overrides import _handle_call, has_torch_function


def _none_or_dtype(input):
    """The dtype of a mask that may be None."""
    if input is None:
        return None
    if isinstance(input, Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """Attention of several heads: (length, batch, features) in and out, and the weights."""
    arguments = locals()
    tensors = (
        (query, key, value, in_proj_weight, in_proj_bias)
        + (bias_k, bias_v, out_proj_weight, out_proj_bias)
    )  # fmt: skip
    if has_torch_function(tensors):
        return _handle_call(multi_head_attention_forward, tensors, arguments)
    return _nn._multi_head_attention_forward(*arguments.values())
