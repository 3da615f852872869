"""Layers with the batch normalization behind them folded into their weights (evaluation only)."""

import copy

import taeda
from taeda.nn.parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]


def _scale(bn_rv, bn_eps, bn_w):
    return (taeda.ones_like(bn_rv) if bn_w is None else bn_w) * taeda.rsqrt(bn_rv + bn_eps)


def _folded(weight, bias, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape):
    scale = _scale(bn_rv, bn_eps, bn_w)
    bias = taeda.zeros_like(bn_rm) if bias is None else bias
    bn_b = taeda.zeros_like(bn_rm) if bn_b is None else bn_b
    new_weight = (weight * scale.reshape(shape)).to(weight.dtype)
    new_bias = ((bias - bn_rm) * scale + bn_b).to(weight.dtype)
    return (
        Parameter(new_weight.detach(), weight.requires_grad),
        Parameter(new_bias.detach(), bias.requires_grad),
    )


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """(weight, bias) of the convolution that does both."""
    shape = [1] * conv_w.ndim
    shape[1 if transpose else 0] = -1
    return _folded(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """(weight, bias) of the linear layer that does both."""
    return _folded(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, (-1, 1))


def _check_eval(first, second, kind):
    if first.training or second.training:
        raise AssertionError("Fusion only for eval!")
    if second.running_mean is None or second.running_var is None:
        raise AssertionError(f"Only support fusing {kind} with a bn that tracks running statistics")


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A copy of the convolution that does both."""
    _check_eval(conv, bn, "conv")
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight,
        fused.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return fused


def fuse_linear_bn_eval(linear, bn):
    """A copy of the linear layer that does both."""
    _check_eval(linear, bn, "linear")
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused
