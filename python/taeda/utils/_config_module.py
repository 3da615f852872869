"""Settings that a program may change, for good or for a while, as modules with attributes.

taeda._functorch.config.fake_tensor_propagate_real_tensors = True
with taeda._functorch.config.patch(fake_tensor_propagate_real_tensors=True):
    ...
"""

import contextlib
import sys
import types

__all__ = [
    "ConfigModule",
    "dynamo_config",
    "export_config",
    "functorch_config",
    "inductor_config",
    "shapes_config",
]


class ConfigModule(types.ModuleType):
    """A module of settings: names that it has not are refused."""

    def __init__(self, name, doc, **defaults):
        super().__init__(name, doc)
        self.__dict__.update(defaults)
        self.__dict__["_defaults"] = defaults
        sys.modules[name] = self

    def __setattr__(self, name, value):
        if name not in self._defaults and not name.startswith("__"):
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        super().__setattr__(name, value)

    def get_config_copy(self):
        """The settings as a dict."""
        return {name: getattr(self, name) for name in self._defaults}

    shallow_copy_dict = get_config_copy

    def load_config(self, settings):
        """Sets what a dict of settings says."""
        for name, value in settings.items():
            setattr(self, name, value)

    def patch(self, arg1=None, arg2=None, **kwargs):
        """A scope, or a decorator, in which settings have other values.

        patch("name", value), patch({"name": value}) or patch(name=value).
        """
        if isinstance(arg1, str):
            settings = {arg1: arg2}
        else:
            settings = kwargs if arg1 is None else dict(arg1)
        unknown = [name for name in settings if name not in self._defaults]
        if unknown:
            raise AttributeError(f"{self.__name__}.{unknown[0]} does not exist")
        return self._patched(settings)

    @contextlib.contextmanager
    def _patched(self, settings):
        before = {name: getattr(self, name) for name in settings}
        self.load_config(settings)
        try:
            yield
        finally:
            self.load_config(before)


functorch_config = ConfigModule(
    "taeda._functorch.config",
    "Settings of fake tensors, read when a FakeTensorMode is made, and of ahead-of-time traces.",
    # Values are computed along with shapes.
    fake_tensor_propagate_real_tensors=False,
    # The type of device that a result is on when the arguments are on two; None: an error.
    fake_tensor_prefer_device_type=None,
    # The share, from 0 to 1, of what a backward would have saved that may be saved.
    activation_memory_budget=1.0,
    # Programs written for PyTorch set these; nothing depends on them here. Views are always
    # replayed, tangents always have the strides of their outputs, checks are always made.
    debug_assert=False,
    view_replay_for_aliased_outputs=True,
    guess_tangent_strides_as_outputs=True,
    disable_guess_zero_tangent_for_mutated_input_subclass=False,
    backward_pass_autocast="same_as_forward",
    enable_autograd_cache=False,
    saved_tensors_hooks_filtering_mode="donated",
    donated_buffer=True,
    functionalize_rng_ops=False,
    recompute_views=False,
    cse=True,
    strict_autograd_cache=False,
    unlift_effect_tokens=False,
)

inductor_config = ConfigModule(
    "taeda._inductor.config",
    "Settings of the compiler of graphs, read when a graph is compiled.",
    # When kernels are compiled: "background", "wait", "never" or "only".
    native="background",
    # Attention that a program spells out becomes attention in one pass, which rounds differently.
    pattern_matcher=True,
    # Without gradients, what a program computes from parameters and buffers alone is computed once
    # and kept until one of them is written to; norms become part of the convolutions before them.
    freezing=False,
    # Frozen filters have channels innermost, and so have the values around their convolutions.
    layout_optimization=True,
    # Functions of a taeda.fx.Graph, which they change: of the graph as it is given, of the joint
    # graph before it is cut, and of each graph before it is lowered.
    pre_grad_custom_pass=None,
    joint_custom_pre_pass=None,
    joint_custom_post_pass=None,
    post_grad_custom_pre_pass=None,
    post_grad_custom_post_pass=None,
    **{
        # Texts by name that a package keeps.
        "aot_inductor.metadata": {},
        # Refused: the argument package_path says where a package lies.
        "aot_inductor.output_path": "",
        # As those below.
        "cpp.min_chunk_size": 512,
        "cpp.threads": -1,
        "cpp.enable_tiling_heuristics": True,
        "triton.autotune_pointwise": True,
        "triton.cudagraphs": False,
        "triton.unique_kernel_names": True,
    },
    # Programs written for PyTorch set these; nothing depends on them here. Kernels are always kept
    # on disk, by their content; indices are always checked; what has no lowering is always called;
    # the numbers of random operators are always eager's.
    cpu_backend="cpp",
    debug=False,
    debug_index_asserts=False,
    implicit_fallbacks=True,
    generate_intermediate_hooks=False,
    fallback_random=False,
    max_autotune=False,
    max_autotune_gemm=False,
    max_autotune_pointwise=False,
    coordinate_descent_tuning=False,
    epilogue_fusion=True,
    split_reductions=True,
    unroll_reductions_threshold=8,
    compile_threads=None,
    fx_graph_cache=True,
    fx_graph_remote_cache=False,
    force_disable_caches=False,
)

dynamo_config = ConfigModule(
    "taeda._dynamo.config",
    "Settings of the capture of frames, read when a function is compiled.",
    # How often one place of a program is compiled before it runs as it is.
    recompile_limit=8,
    # taeda.compile gives back what it gets.
    disable=False,
    # Programs written for PyTorch set these; nothing depends on them here.
    verbose=False,
    suppress_errors=False,
    assume_static_by_default=True,
    automatic_dynamic_shapes=True,
    specialize_int=False,
    specialize_float=False,
    dynamic_shapes=True,
    capture_scalar_outputs=False,
    capture_dynamic_output_shape_ops=False,
    inline_inbuilt_nn_modules=True,
    guard_nn_modules=True,
    error_on_recompile=False,
    accumulated_recompile_limit=256,
    fail_on_recompile_limit_hit=False,
    cache_size_limit=8,
    allow_rnn=True,
    raise_on_ctx_manager_usage=True,
    reorderable_logging_functions=set(),
    assume_dunder_attributes_remain_unchanged=True,
    nested_graph_breaks=True,
    force_parameter_static_shapes=True,
    force_nn_module_property_static_shapes=True,
    allow_unspec_int_on_nn_module=False,
    replay_side_effects=True,
    enable_trace_contextlib=True,
    enable_faithful_generator_behavior=True,
    install_free_tensors=False,
    error_on_nested_fx_trace=True,
    capture_func_transforms=True,
    optimize_ddp=False,
    dead_code_elimination=True,
    minimum_call_count=1,
    log_compilation_metrics=True,
    ignore_logger_methods=set(),
    repro_after=None,
    repro_level=2,
    numpy_default_float="float64",
)

shapes_config = ConfigModule(
    "taeda.fx.experimental._config",
    "Settings of symbolic shapes; a ShapeEnv reads them when it is made.",
    # Shape rules and guard_or_false treat sizes of inputs as numbers that only data tells: no guard
    # on their values where there is an answer without, and sizes 0 and 1 have symbols too.
    backed_size_oblivious=False,
)

export_config = ConfigModule(
    "taeda._export.config",
    "Settings of `taeda.export`; every export reads them.",
    # Warns of tensors without values that a traced program kept.
    detect_non_strict_fake_tensor_leaks=False,
)
