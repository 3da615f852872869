"""Parts of fx under the import paths that PyTorch gives them."""
