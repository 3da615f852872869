"""Modes and options of the backend inductor, as settings of the compiler of graphs."""

import os

from taeda.utils._config_module import dynamo_config
from taeda.utils._config_module import inductor_config as config

__all__ = [
    "InductorBackend",
    "NamedBackend",
    "is_disabled",
    "is_strict",
    "list_mode_options",
    "list_options",
]

# PyTorch's settings by mode. On the CPU a run allocates nothing but its arena and results, and
# kernels have one form: none of these changes what is compiled. PyTorch's "lite" calls eager's
# kernels; here `exact` keeps their numbers.
_MODES = {
    "default": {},
    "lite": {
        "exact": True,
        "fallback_by_default": True,
        "selective_decompose": True,
        "reorder_for_peak_memory": False,
        "reorder_for_compute_comm_overlap": False,
        "triton.reorder_for_reducing_graph_partitions": False,
        "use_pre_grad_passes": False,
        "use_joint_graph_passes": False,
        "use_post_grad_passes": False,
        "use_dce": False,
        "allow_buffer_reuse": False,
    },
    "reduce-overhead": {"triton.cudagraphs": True},
    "max-autotune-no-cudagraphs": {"max_autotune": True, "coordinate_descent_tuning": True},
    "max-autotune": {
        "max_autotune": True,
        "triton.cudagraphs": True,
        "coordinate_descent_tuning": True,
    },
}


def is_strict():
    """Whether running as it is in place of compiled is an error: TAEDA_COMPILE_STRICT."""
    return _is_on("TAEDA_COMPILE_STRICT")


def is_disabled():
    """Whether `taeda.compile` gives back what it gets: a setting, or TAEDA_COMPILE_DISABLE.

    PyTorch's variables say the same.
    """
    names = ("TAEDA_COMPILE_DISABLE", "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")
    return dynamo_config.disable or any(map(_is_on, names))


def _is_on(variable):
    return os.environ.get(variable, "0") not in ("", "0")


def list_mode_options(mode=None, dynamic=None):
    """The settings that a mode of taeda.compile stands for; by mode without one."""
    if not mode:
        return {name: dict(options) for name, options in _MODES.items()}
    if mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    return dict(_MODES[mode])


def list_options():
    """The names of settings that `options` of taeda.compile may hold."""
    return list(config.get_config_copy())


def _checked(options):
    known = config.get_config_copy()
    checked = {}
    for name, value in options.items():
        attribute = name.replace("-", "_")
        if attribute not in known:
            raise RuntimeError(
                f"Unexpected optimization option {name}, known options are {list(known)}"
            )
        default = known[attribute]
        if default is not None and not isinstance(value, type(default)):
            raise RuntimeError(
                f"Unexpected type of attr {name}, got {type(value).__name__} should be "
                f"{type(default).__name__}"
            )
        checked[attribute] = value
    return checked


class InductorBackend:
    """The backend inductor under settings of its own."""

    compiler_name = "inductor"
    __name__ = "inductor"

    def __init__(self, mode=None, options=None):
        self.config = {**list_mode_options(mode or "default"), **_checked(options or {})}

    def __eq__(self, other):
        return isinstance(other, InductorBackend) and self.config == other.config

    def __hash__(self):
        return hash(tuple(sorted(self.config)))

    def __call__(self, gm, example_inputs):
        from taeda import _inductor

        with config.patch(self.config):
            return _inductor.compile_open(gm, example_inputs)

    # What a capture gives has what the compiler reads of a GraphModule.
    compile_captured = __call__


class NamedBackend:
    """Any other backend, with the mode and the options that are not its defaults."""

    def __init__(self, function, mode=None, options=None):
        self.compiler_fn = function
        self.compiler_name = self.__name__ = getattr(function, "__name__", str(function))
        self.kwargs = {}
        if mode and mode != "default":
            self.kwargs["mode"] = mode
        if options:
            self.kwargs["options"] = options

    def __eq__(self, other):
        return (
            isinstance(other, NamedBackend)
            and self.compiler_fn == other.compiler_fn
            and self.kwargs == other.kwargs
        )

    def __hash__(self):
        return hash(self.compiler_name)

    def __call__(self, gm, example_inputs):
        return self.compiler_fn(gm, example_inputs, **self.kwargs)

    def reset(self):
        """Lets the backend forget what it knows of graphs."""
        if hasattr(self.compiler_fn, "reset"):
            self.compiler_fn.reset()
