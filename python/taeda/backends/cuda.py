"""Whether this build has CUDA, and switches that PyTorch keeps here.

No CPU kernel reads those of matrix products. Those of attention are read on every device that has
more than one form of it.
"""

from warnings import warn

from taeda import _C, _settings

__all__ = [
    "allow_fp16_bf16_reduction_math_sdp",
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_ck_sdpa_available",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "sdp_kernel",
]


def is_built():
    """Whether this build has CUDA kernels; says nothing about the machine."""
    return False


class _Matmul:
    def __init__(self):
        self.allow_fp16_reduced_precision_reduction = True
        self.allow_bf16_reduced_precision_reduction = True

    @property
    def allow_tf32(self):
        """Whether float32 products may be less exact, as set_float32_matmul_precision says."""
        return _settings.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, is_allowed):
        _settings.set_float32_matmul_precision("high" if is_allowed else "highest")


matmul = _Matmul()


def flash_sdp_enabled():
    """Whether attention may be computed in one pass over the keys."""
    return _C._get_flash_sdp_enabled()


def enable_flash_sdp(enabled):
    """Lets attention be computed in one pass over the keys, or not."""
    _C._set_sdp_use_flash(enabled)


def math_sdp_enabled():
    """Whether attention may be composed of products and a softmax."""
    return _C._get_math_sdp_enabled()


def enable_math_sdp(enabled):
    """Lets attention be composed of products and a softmax, or not."""
    _C._set_sdp_use_math(enabled)


def mem_efficient_sdp_enabled():
    """Whether PyTorch's memory-efficient kernel may be chosen; no device here has it."""
    return _C._get_mem_efficient_sdp_enabled()


def enable_mem_efficient_sdp(enabled):
    """Sets what mem_efficient_sdp_enabled tells."""
    _C._set_sdp_use_mem_efficient(enabled)


def cudnn_sdp_enabled():
    """Whether cuDNN's kernel may be chosen; no device here has it."""
    return _C._get_cudnn_sdp_enabled()


def enable_cudnn_sdp(enabled):
    """Sets what cudnn_sdp_enabled tells."""
    _C._set_sdp_use_cudnn(enabled)


_is_half_reduction_allowed = False


def fp16_bf16_reduction_math_sdp_allowed():
    """Whether attention that is composed may add halves as halves; no device here does."""
    return _is_half_reduction_allowed


def allow_fp16_bf16_reduction_math_sdp(enabled):
    """Sets what fp16_bf16_reduction_math_sdp_allowed tells."""
    global _is_half_reduction_allowed
    _is_half_reduction_allowed = enabled


def is_flash_attention_available():
    """Whether this build has PyTorch's kernel of that name for CUDA."""
    return False


def is_ck_sdpa_available():
    """Whether this build has AMD's kernels of attention."""
    return False


def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """Inside, attention takes the forms that are enabled."""
    from taeda.nn.attention import SDPBackend, sdpa_kernel

    warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager "
        "will be removed. Please see `torch.nn.attention.sdpa_kernel()` for the new context "
        "manager, with updated signature.",
        FutureWarning,
        stacklevel=2,
    )
    chosen = (
        (enable_flash, SDPBackend.FLASH_ATTENTION),
        (enable_mem_efficient, SDPBackend.EFFICIENT_ATTENTION),
        (enable_math, SDPBackend.MATH),
        (enable_cudnn, SDPBackend.CUDNN_ATTENTION),
    )
    return sdpa_kernel([backend for is_enabled, backend in chosen if is_enabled])
