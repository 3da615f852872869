"""PyTorch's private paths of custom operators; `taeda.library` holds them."""
