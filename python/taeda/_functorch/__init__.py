"""Where PyTorch keeps its function transforms; `taeda.func` is the public place."""
