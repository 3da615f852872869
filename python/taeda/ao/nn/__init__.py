"""Packages of quantized layers."""

from taeda.ao.nn import qat, quantizable, quantized

__all__ = ["qat", "quantizable", "quantized"]
