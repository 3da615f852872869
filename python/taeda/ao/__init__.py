"""Quantization comes later; its packages of layers are empty."""

from taeda.ao import nn

__all__ = ["nn"]
