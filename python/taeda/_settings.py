"""Settings of the process that programs set to have results that repeat, or faster products.

The CPU's kernels repeat their results anyway and take float32 products in float32, so that little
follows from them here; each function says what.
"""

from warnings import warn

from taeda import _C

__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_num_interop_threads",
    "use_deterministic_algorithms",
]

_MODES = ("default", "warn", "error")
_PRECISIONS = ("highest", "high", "medium")

_matmul_precision = "highest"
_num_interop_threads = None


def _checked_bool(value, name):
    if not isinstance(value, bool):
        raise TypeError(
            f"_set_deterministic_algorithms(): argument {name} must be bool, not "
            + type(value).__name__
        )
    return value


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Whether results must be the same from run to run.

    All operators of the CPU give the same bits for the same inputs, so that none is refused. While
    it is on, `empty` and the like fill their memory, unless
    `utils.deterministic.fill_uninitialized_memory` is off.
    """
    _checked_bool(mode, "'mode' (position 1)")
    _checked_bool(warn_only, "'warn_only'")
    _C._set_determinism(mode, warn_only, _C._get_determinism()[2])


def are_deterministic_algorithms_enabled():
    """Whether results must be the same from run to run."""
    return _C._get_determinism()[0]


def is_deterministic_algorithms_warn_only_enabled():
    """Whether an operator whose results may change would warn only."""
    return _C._get_determinism()[1]


def _get_deterministic_fill_uninitialized_memory():
    """What `utils.deterministic.fill_uninitialized_memory` reads."""
    return _C._get_determinism()[2]


def _set_deterministic_fill_uninitialized_memory(mode):
    """What `utils.deterministic.fill_uninitialized_memory` sets."""
    is_required, is_warning_enough, _ = _C._get_determinism()
    if not isinstance(mode, bool):
        raise TypeError(
            "_set_deterministic_fill_uninitialized_memory(): argument must be bool, not "
            + type(mode).__name__
        )
    _C._set_determinism(is_required, is_warning_enough, mode)


def set_deterministic_debug_mode(debug_mode):
    """The same setting by number or name: 0 "default", 1 "warn", 2 "error"."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                + debug_mode
            )
        debug_mode = _MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode():
    """The mode as a number: 0, 1 or 2."""
    is_required, is_warning_enough, _ = _C._get_determinism()
    return 0 if not is_required else 1 if is_warning_enough else 2


def set_float32_matmul_precision(precision):
    """How exact products of float32 matrices must be: "highest", "high" or "medium".

    It lets devices with faster, less exact units use these; the CPU has none and stays exact.
    """
    global _matmul_precision
    if not isinstance(precision, str):
        raise RuntimeError(
            f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}"
        )
    if precision not in _PRECISIONS:
        warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
            "setFloat32MatmulPrecision call has no effect.",
            stacklevel=2,
        )
        return
    _matmul_precision = precision


def get_float32_matmul_precision():
    """How exact products of float32 matrices must be."""
    return _matmul_precision


def set_num_interop_threads(n):
    """How many operators may run side by side; may be set once.

    Operators of a program run one after the other here; it is get_num_threads that counts.
    """
    global _num_interop_threads
    if not isinstance(n, int) or isinstance(n, bool):
        raise RuntimeError(f"set_num_interop_threads expects an int, but got {type(n).__name__}")
    if n <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    if n >= 2**63:
        raise ValueError("Overflow when unpacking long long")
    if _num_interop_threads is not None:
        raise RuntimeError(
            "Error: cannot set number of interop threads after parallel work has started or "
            "set_num_interop_threads called"
        )
    _num_interop_threads = n


def get_num_interop_threads():
    """How many operators may run side by side: what was set, else the number of threads."""
    return _C.get_num_threads() if _num_interop_threads is None else _num_interop_threads
