"""PyTorch's private paths of the function transforms; `taeda.func` holds them."""
