"""Whether this build has CUDA, and switches of its matrix products; no CPU kernel reads them."""

__all__ = ["is_built", "matmul"]


def is_built():
    """Whether this build has CUDA kernels; says nothing about the machine."""
    return False


class _Matmul:
    def __init__(self):
        self.allow_tf32 = False
        self.allow_fp16_reduced_precision_reduction = True
        self.allow_bf16_reduced_precision_reduction = True


matmul = _Matmul()
