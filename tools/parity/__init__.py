"""`./run parity`: runs PyTorch's operator records on PyTorch and on Taeda and compares."""
