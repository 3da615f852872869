"""PyTorch's paths for what its own tests share, where other projects use it too."""
