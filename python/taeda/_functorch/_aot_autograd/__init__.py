"""PyTorch's private paths of programs that are traced ahead of time: `taeda.fx.aot`."""
