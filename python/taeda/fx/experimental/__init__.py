"""PyTorch's paths of tracers, passes and symbolic shapes; they lie elsewhere in `taeda.fx`."""
