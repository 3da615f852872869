"""PyTorch's path of programs that are traced ahead of time: `taeda.fx.aot`."""

from taeda.fx.aot.compilers import SerializableAOTDispatchCompiler
from taeda.fx.aot.export import BackwardSignature, GraphSignature, aot_export_module
from taeda.fx.aot.functions import (
    AOT_COUNTER,
    aot_function,
    aot_module,
    aot_module_simplified,
    get_aot_compilation_context,
    make_boxed_compiler,
    make_boxed_func,
)
from taeda.fx.aot.joint import aot_export_joint_simple
from taeda.fx.aot.stages import (
    AOTConfig,
    JointWithDescriptors,
    aot_compile_joint_with_descriptors,
    aot_export_joint_with_descriptors,
    create_aot_state,
)

__all__ = [
    "AOT_COUNTER",
    "AOTConfig",
    "BackwardSignature",
    "GraphSignature",
    "JointWithDescriptors",
    "SerializableAOTDispatchCompiler",
    "aot_compile_joint_with_descriptors",
    "aot_export_joint_simple",
    "aot_export_joint_with_descriptors",
    "aot_export_module",
    "aot_function",
    "aot_module",
    "aot_module_simplified",
    "create_aot_state",
    "get_aot_compilation_context",
    "make_boxed_compiler",
    "make_boxed_func",
]
