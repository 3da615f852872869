"""Passes and tracers under the import paths that PyTorch gave them."""
