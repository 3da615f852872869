"""Settings that a program may change, for good or for a while, as modules with attributes.

taeda._functorch.config.fake_tensor_propagate_real_tensors = True
with taeda._functorch.config.patch(fake_tensor_propagate_real_tensors=True):
    ...
"""

import contextlib
import sys
import types
import warnings

from taeda.utils import _inert_settings

__all__ = [
    "ConfigModule",
    "compiler_config",
    "dynamo_config",
    "export_config",
    "functorch_config",
    "inductor_config",
    "shapes_config",
]


class _Group:
    """Settings of a module whose names begin alike: config.cpp.threads is "cpp.threads"."""

    def __init__(self, module, name):
        self.__dict__.update(_module=module, _name=name)

    def __getattr__(self, name):
        return getattr(self._module, f"{self._name}.{name}")

    def __setattr__(self, name, value):
        setattr(self._module, f"{self._name}.{name}", value)

    def __dir__(self):
        start = self._name + "."
        return [name[len(start) :] for name in self._module._defaults if name.startswith(start)]


class ConfigModule(types.ModuleType):
    """A module of settings: names that it has not are refused."""

    def __init__(self, name, doc, aliases=None, missing=None, **defaults):
        super().__init__(name, doc)
        self.__dict__.update(defaults)
        self.__dict__["_defaults"] = defaults
        # Settings of PyTorch whose effect is not there, with what to do instead.
        self.__dict__["_missing"] = missing or {}
        # Settings that are another's: from name to (module, name).
        self.__dict__["_aliases"] = aliases or {}
        for group in {setting.partition(".")[0] for setting in defaults if "." in setting}:
            self.__dict__[group] = _Group(self, group)
        sys.modules[name] = self
        if "torch" in sys.modules and sys.modules["torch"] is sys.modules.get("taeda"):
            sys.modules["torch" + name[len("taeda") :]] = self  # `taeda run` answers for both

    def __getattr__(self, name):
        if name not in self.__dict__.get("_aliases", ()):
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        module, own = self._aliases[name]
        return getattr(module or self, own)

    def __setattr__(self, name, value):
        if name in self._aliases:
            module, own = self._aliases[name]
            return setattr(module or self, own, value)
        if name not in self._defaults and not name.startswith("__"):
            raise AttributeError(f"{self.__name__}.{name} does not exist")
        if name in self._missing and value != self._defaults[name]:
            warnings.warn(
                f"{self.__name__}.{name} has no effect here: {self._missing[name]}", stacklevel=2
            )
        super().__setattr__(name, value)

    def get_config_copy(self):
        """The settings as a dict."""
        return {name: getattr(self, name) for name in (*self._defaults, *self._aliases)}

    shallow_copy_dict = get_config_copy

    to_dict = get_config_copy

    def save_config(self):
        """The settings as bytes, for load_config(); aliases are another module's."""
        import pickle  # a first compile has no need of it

        return pickle.dumps({name: getattr(self, name) for name in self._defaults}, protocol=2)

    def load_config(self, maybe_pickled_config):
        """Sets what a dict of settings says, or what save_config() gave."""
        settings = maybe_pickled_config
        if not isinstance(settings, dict):
            import pickle

            settings = pickle.loads(settings)
        for name, value in settings.items():
            setattr(self, name, value)

    def codegen_config(self):
        """The settings that differ from their defaults, as statements."""
        changed = {name: getattr(self, name) for name in self._defaults}
        return "\n".join(
            f"{self.__name__}.{name} = {value!r}"
            for name, value in changed.items()
            if value != self._defaults[name]
        )

    def _changed(self):
        """The settings that are not their defaults, as a text, in less time."""
        values = self.__dict__
        changed = {
            n: values[n] for n, default in self._defaults.items() if values[n] is not default
        }
        return repr(changed) if changed else ""

    def patch(self, arg1=None, arg2=None, **kwargs):
        """A scope, or a decorator, in which settings have other values.

        patch("name", value), patch({"name": value}) or patch(name=value).
        """
        if isinstance(arg1, str):
            settings = {arg1: arg2}
        else:
            settings = kwargs if arg1 is None else dict(arg1)
        known = {*self._defaults, *self._aliases}
        unknown = [name for name in settings if name not in known]
        if unknown:
            raise AttributeError(f"{self.__name__}.{unknown[0]} does not exist")
        return _Patch(self, settings)


class _Patch(contextlib.ContextDecorator):
    """Settings with other values, in a scope, in a function or in the tests of a class."""

    def __init__(self, config, settings):
        self._config = config
        self._settings = settings
        self._before = []

    def __enter__(self):
        self._before.append({name: getattr(self._config, name) for name in self._settings})
        self._config.load_config(self._settings)

    def __exit__(self, *_):
        self._config.load_config(self._before.pop())

    def __call__(self, decorated):
        if not isinstance(decorated, type):
            return super().__call__(decorated)

        class Patched(decorated):
            @classmethod
            def setUpClass(cls):
                self.__enter__()
                cls.addClassCleanup(self.__exit__)
                super().setUpClass()

        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(Patched, name, getattr(decorated, name))
        return Patched


def _inert(by_reason):
    return {name: value for settings in by_reason.values() for name, value in settings.items()}


functorch_config = ConfigModule(
    "taeda._functorch.config",
    "Settings of fake tensors, read when a FakeTensorMode is made, and of ahead-of-time traces.",
    # Values are computed along with shapes.
    fake_tensor_propagate_real_tensors=False,
    # The type of device that a result is on when the arguments are on two; None: an error.
    fake_tensor_prefer_device_type=None,
    # The share, from 0 to 1, of what a backward would have saved that may be saved.
    activation_memory_budget=1.0,
    # Autocast while gradients are traced: "same_as_forward", "off", or a list of arguments of
    # taeda.autocast, as dicts.
    backward_pass_autocast="same_as_forward",
    **_inert(_inert_settings.FUNCTORCH),
)

inductor_config = ConfigModule(
    "taeda._inductor.config",
    "Settings of the compiler of graphs, read when a graph is compiled.",
    missing={
        "nan_asserts": "taeda.autograd.detect_anomaly finds NaN in a backward",
        "profile_bandwidth": "CompiledModule.time() and report() tell bytes and seconds",
        "trace.enabled": "CompiledModule.html() writes everything about a program to one page",
    },
    # When kernels are compiled: "background", "wait", "never" or "only".
    native="background",
    # Each kernel runs interpreted and native, and differing bits are an error.
    check=False,
    # Every number is eager's, bit for bit: nothing that rounds otherwise is used.
    exact=False,
    # Attention that a program spells out becomes attention in one pass, which rounds differently.
    pattern_matcher=True,
    # Without gradients, what a program computes from parameters and buffers alone is computed once
    # and kept until one of them is written to; norms become part of the convolutions before them.
    freezing=False,
    # Pointwise work on the result of a product, and on its operands, runs block by block inside of
    # it.
    epilogue_fusion=True,
    # Small products that do not depend on each other run side by side.
    batch_fusion=True,
    # Frozen filters have channels innermost, and so have the values around their convolutions.
    layout_optimization=True,
    # Functions of a taeda.fx.Graph, which they change: of the graph as it is given, of the joint
    # graph before it is cut, and of each graph before it is lowered.
    pre_grad_custom_pass=None,
    joint_custom_pre_pass=None,
    joint_custom_post_pass=None,
    post_grad_custom_pre_pass=None,
    post_grad_custom_post_pass=None,
    # Cuts joint graphs: a CustomPartitionerFn, or a function of what a `partition_fn` takes.
    custom_partitioner_fn=None,
    **{
        # Texts by name that a package keeps.
        "aot_inductor.metadata": {},
        # Refused: the argument package_path says where a package lies.
        "aot_inductor.output_path": "",
    },
    **_inert(_inert_settings.INDUCTOR),
)

dynamo_config = ConfigModule(
    "taeda._dynamo.config",
    "Settings of the capture of frames, read when a function is compiled.",
    aliases={
        "cache_size_limit": (None, "recompile_limit"),
        "ignore_logger_methods": (None, "ignore_logging_functions"),
        "accumulated_cache_size_limit": (None, "accumulated_recompile_limit"),
        "fail_on_cache_limit_hit": (None, "fail_on_recompile_limit_hit"),
        "skip_code_recursive_on_cache_limit_hit": (
            None,
            "skip_code_recursive_on_recompile_limit_hit",
        ),
    },
    missing={
        "repro_after": "graphs are not made smaller; taeda._dynamo.explain shows them",
        "verify_correctness": 'compile with options={"check": True}',
        "replay_record_enabled": "nothing is recorded; taeda._dynamo.explain tells of a call",
        "cprofile": "captures run in C++; taeda._dynamo.explain tells their time",
        "dynamo_profiler": "captures run in C++; taeda._dynamo.explain tells their time",
        "log_file_name": "logs go to the standard error stream",
        "minimum_call_count": 'taeda.compiler.set_stance("eager_then_compile")',
        "compiled_autograd": "gradients are compiled with the program",
        "caching_precompile": "see taeda.compiler.save_cache_artifacts",
        "strict_precompile": "see taeda.compiler.save_cache_artifacts",
        "debug_backend_override": "taeda.compiler.set_stance(force_backend=...)",
        "debug_inductor_config_override": "taeda._inductor.config.patch(...)",
        "debug_dynamo_config_override": "taeda._dynamo.config.patch(...)",
        "generate_pycode": "results are put together in C++",
        "only_allow_pt2_compliant_ops": "every operator is allowed",
        "automatic_dynamic_shapes_mark_as": "sizes that changed have a value at capture",
        "force_parameter_static_shapes": "parameters have the sizes that they have",
        "use_numpy_random_stream": "calls of NumPy run as they are",
        "enable_compiler_collectives": "ranks compile by themselves",
    },
    # How often one place of a program is compiled before it runs as it is; the smaller counts.
    recompile_limit=8,
    accumulated_recompile_limit=256,
    # Reaching that limit is an error; so is every recompile.
    fail_on_recompile_limit_hit=False,
    error_on_recompile=False,
    # taeda.compile gives back what it gets.
    disable=False,
    # Whether what a program writes to its objects is written when a compiled region runs; and what
    # such writes are while it is captured: "silent", "info", "warn" or "error".
    replay_side_effects=True,
    side_effect_replay_policy="info",
    # A graph that a backend fails at runs as it is, with a warning.
    suppress_errors=False,
    # Sizes are constants at first; False: symbols from the first call on.
    assume_static_by_default=True,
    # Sizes that changed become symbols.
    automatic_dynamic_shapes=True,
    dynamic_shapes=True,
    # Numbers and sizes that only data tells are values of the graph instead of breaks.
    capture_scalar_outputs=False,
    capture_dynamic_output_shape_ops=False,
    # Functions, such as print, that are called behind the graph in place of a break.
    reorderable_logging_functions=set(),
    # Functions, methods of logging.Logger or of one logger, whose calls are left out.
    ignore_logging_functions=set(),
    # Assertions of tensors are checks of the graph instead of breaks.
    rewrite_assert_with_torch_assert=True,
    # Ints, and floats, are constants though they change.
    specialize_int=False,
    specialize_float=False,
    # Programs written for PyTorch set these; nothing depends on them here, except for those above
    # that warn.
    verbose=False,
    inline_inbuilt_nn_modules=True,
    guard_nn_modules=True,
    skip_code_recursive_on_recompile_limit_hit=True,
    allow_rnn=True,
    raise_on_ctx_manager_usage=True,
    assume_dunder_attributes_remain_unchanged=True,
    nested_graph_breaks=True,
    force_parameter_static_shapes=True,
    force_nn_module_property_static_shapes=True,
    allow_unspec_int_on_nn_module=False,
    enable_trace_contextlib=True,
    enable_faithful_generator_behavior=True,
    install_free_tensors=False,
    error_on_nested_fx_trace=True,
    capture_func_transforms=True,
    optimize_ddp=False,
    dead_code_elimination=True,
    minimum_call_count=1,
    log_compilation_metrics=True,
    repro_after=None,
    repro_level=2,
    numpy_default_float="float64",
    numpy_default_complex="complex128",
    numpy_default_int="int64",
    log_file_name=None,
    verify_correctness=False,
    leaf_function_validate_outputs=False,
    leaf_function_check_escaped_gradients=False,
    generate_pycode=False,
    use_lazy_graph_module=True,
    automatic_dynamic_shapes_mark_as="dynamic",
    automatic_dynamic_exclusion_guard=False,
    automatic_dynamic_local_pgo=True,
    automatic_dynamic_remote_pgo=None,
    log_graph_in_out_metadata=False,
    allow_ignore_mark_dynamic=False,
    guard_nn_modules_using_dict_tags=True,
    prepare_freezing=False,
    traceable_tensor_subclasses=set(),
    nontraceable_tensor_subclasses=set(),
    replay_record_enabled=False,
    cprofile=False,
    dynamo_profiler=False,
    skipfiles_inline_module_allowlist={},
    allowed_functions_module_string_ignorelist=set(),
    repro_forward_only=False,
    repro_tolerance=1e-3,
    repro_ignore_non_fp=False,
    same_two_models_use_fp64=True,
    prefer_deferred_runtime_asserts_over_guards=False,
    force_unspec_int_unbacked_size_like_on_torchrec_kjt=False,
    do_not_emit_runtime_asserts=False,
    skip_torchrec=True,
    dont_skip_tracing=False,
    optimize_ddp_lazy_compile=False,
    use_lamba_guard_for_object_aliasing=True,
    skip_fsdp_guards=True,
    skip_nnmodule_hook_guards=True,
    skip_no_tensor_aliasing_guards_on_parameters=True,
    skip_tensor_guards_with_matching_dict_tags=True,
    skip_guards_on_constant_func_defaults=False,
    use_recursive_dict_tags_for_guards=False,
    max_saved_pointers_for_recursive_dict_tags_check=256,
    raise_on_unsafe_aot_autograd=False,
    error_on_nested_jit_trace=True,
    force_compile_during_fx_trace=False,
    capture_sparse_compute=True,
    report_guard_failures=True,
    trace_numpy=True,
    trace_autograd_ops=False,
    use_numpy_random_stream=False,
    enable_cpp_guard_manager=True,
    enable_cpp_symbolic_shape_guards=False,
    enable_cpp_framelocals_guard_eval=True,
    enable_trace_unittest=False,
    enable_trace_load_build_class=False,
    error_on_dynamo_callback_in_fullgraph_compiled_code=False,
    install_free_tensors_for_export=True,
    use_graph_deduplication=False,
    track_nodes_for_deduplication=False,
    graph_deduplication_lint=False,
    issue_3_13_0_warning=True,
    allow_empty_graphs=False,
    debug_force_nested_calls=False,
    debug_force_graph_break_on_leaf_return=False,
    debug_disable_compile_counter=False,
    debug_backend_override="",
    debug_inductor_config_override="",
    debug_dynamo_config_override="",
    record_compile_time_instruction_count=False,
    debug_dir_root="torch_compile_debug",
    cudagraph_backend_keep_input_mutation=False,
    cudagraph_backend_support_input_mutation=False,
    only_allow_pt2_compliant_ops=False,
    capture_autograd_function=True,
    capture_profiler_record_function=False,
    fake_tensor_cache_enabled=True,
    fake_tensor_cache_crosscheck_enabled=False,
    fake_tensor_disable_inference_mode=True,
    caching_precompile=False,
    strict_precompile=False,
    compiled_autograd=False,
    compiled_autograd_kwargs_override={},
    enable_dynamo_decompositions=True,
    graph_break_on_nn_param_ctor=True,
    inline_torch_dispatch_torch_compile=True,
    skip_fwd_side_effects_in_bwd_under_checkpoint=False,
    enable_compiler_collectives=False,
    enable_p2p_compilation=False,
    pt2_compile_id_prefix=None,
    run_gc_after_compile=True,
    constant_fold_autograd_profiler_enabled=False,
    wrap_top_frame=False,
    record_runtime_overhead=True,
    enable_aot_compile=True,
    enable_invoke_subgraph_regional_compile=False,
    inline_invoke_subgraph=False,
    inline_single_use_invoke_subgraph=True,
    invalidate_compile_context_weakrefs=None,
)

compiler_config = ConfigModule(
    "taeda.compiler.config",
    "Settings of taeda.compile; those that taeda._dynamo.config has, too, are the same.",
    aliases={
        name: (dynamo_config, name)
        for name in (
            "dynamic_shapes",
            "assume_static_by_default",
            "automatic_dynamic_shapes",
            "recompile_limit",
            "accumulated_recompile_limit",
            "verbose",
            "capture_scalar_outputs",
            "capture_dynamic_output_shape_ops",
            "log_file_name",
            "fail_on_recompile_limit_hit",
            "allow_unspec_int_on_nn_module",
            "skip_tensor_guards_with_matching_dict_tags",
            "enable_cpp_symbolic_shape_guards",
            "wrap_top_frame",
            "reorderable_logging_functions",
        )
    },
    # Names of inputs, or patterns of names, with commas between: "L['x'], L['self'].*". They are
    # symbols, or have symbols as sizes, from the first call on, whatever else is said.
    dynamic_sources="",
    # Programs written for PyTorch set these; nothing depends on them here.
    job_id=None,
    pgo_extra_read_key=None,
    pgo_extra_write_key=None,
    cache_key_tag="",
    force_disable_caches=False,
    dynamic_values="",
    unbacked_sources="",
    force_cudagraph_gc=False,
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
