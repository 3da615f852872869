// The extension module taeda._C: puts types and functions together.
#include "python/interop/errors.h"
#include "python/interop/named_results.h"
#include "python/interop/types.h"
#include "python/src/attention_functions.h"
#include "python/src/autograd/grad_fn_type.h"
#include "python/src/autograd/hooks.h"
#include "python/src/autograd/python_node.h"
#include "python/src/autograd/saved_access.h"
#include "python/src/compile/aot_functions.h"
#include "python/src/compile/compile_functions.h"
#include "python/src/dispatch/control_flow_functions.h"
#include "python/src/dispatch/decomposition_functions.h"
#include "python/src/dispatch/handler_call.h"
#include "python/src/dispatch/native_mode.h"
#include "python/src/dispatch/overrides.h"
#include "python/src/dispatch/sample_functions.h"
#include "python/src/dispatch/script_object.h"
#include "python/src/dynamo/compiled_callable.h"
#include "python/src/fx/export_functions.h"
#include "python/src/fx/fx_fake.h"
#include "python/src/fx/fx_regions.h"
#include "python/src/fx/fx_types.h"
#include "python/src/generated.h"
#include "python/src/module_call.h"
#include "python/src/multi_head_attention.h"
#include "python/src/multiprocessing/storage_sharing.h"
#include "python/src/serialization/serialization_functions.h"
#include "python/src/shapes/sym_types.h"
#include "python/src/tensor/factories.h"
#include "python/src/tensor/storage_type.h"
#include "python/src/tensor/tensor_type.h"
#include "python/src/tensor/weak_storage_ref.h"
#include "python/src/tensor/weak_tensor_ref.h"
#include "python/src/valgrind_requests.h"

namespace taeda::python {

namespace {

// The generated tables are const; Python only reads them.
bool add_functions(PyObject* module, const PyMethodDef* const* tables) {
  for (; *tables; ++tables)
    if (PyModule_AddFunctions(module, const_cast<PyMethodDef*>(*tables)) < 0) return false;
  return true;
}

bool add_submodule(PyObject* module, const char* name, const PyMethodDef* const* tables) {
  Ref child(PyModule_New(name));
  const char* dot = name;
  for (const char* c = name; *c; ++c)
    if (*c == '.') dot = c + 1;
  // In sys.modules too, so that `from taeda._C._nn import relu` works.
  return child && add_functions(child.get(), tables) &&
         PyModule_AddObjectRef(module, dot, child.get()) == 0 &&
         PyDict_SetItemString(PyImport_GetModuleDict(), name, child.get()) == 0;
}

const PyMethodDef* const own_functions[] = {factory_table,
                                            mode_table,
                                            autograd_table,
                                            interop_table,
                                            device_table,
                                            transform_table,
                                            autocast_table,
                                            dispatch_mode_table,
                                            control_flow_table,
                                            shape_table,
                                            operator_handle_table,
                                            module_call_table,
                                            attention_table,
                                            pickle_table,
                                            storage_file_table,
                                            safetensors_table,
                                            archive_table,
                                            valgrind_table,
                                            nullptr};
const PyMethodDef* const no_tables[] = {nullptr};
const PyMethodDef* const dispatch_tables[] = {
    dispatch_table,      boxed_call_table, library_table, decomposition_table,
    script_object_table, sample_table,     nullptr};

bool fill_fx(PyObject* module) {
  PyObject* fx = PyImport_AddModule("taeda._C._fx");
  return fx && init_sym_types(module, fx) && init_fx_types(fx) && init_native_mode_type(fx) &&
         init_fake_mode_type(fx) && init_tracer_type(fx) && init_retrace(fx) && init_regions(fx);
}

const PyMethodDef* const autograd_private_tables[] = {autograd_private_table, nullptr};

bool add_autograd_submodules(PyObject* module) {
  if (!add_submodule(module, "taeda._C._autograd", autograd_private_tables) ||
      !add_submodule(module, "taeda._C._functions", no_tables))
    return false;
  PyObject* autograd = PyImport_AddModule("taeda._C._autograd");
  PyObject* functions = PyImport_AddModule("taeda._C._functions");
  return autograd && functions && init_saved_tensor_type(autograd) &&
         init_leaf_node_type(functions);
}

bool fill_compilers() {
  PyObject* inductor = PyImport_AddModule("taeda._C._inductor");
  PyObject* aot = PyImport_AddModule("taeda._C._aot");
  PyObject* dynamo = PyImport_AddModule("taeda._C._dynamo");
  return inductor && aot && dynamo && init_compiled_graph_type(inductor) && init_aot(aot) &&
         init_dynamo(dynamo);
}

const PyMethodDef* const own_nn_functions[] = {multi_head_attention_table, nullptr};

bool add_nn(PyObject* module) {
  return add_submodule(module, "taeda._C._nn", nn_function_tables) &&
         add_functions(PyImport_AddModule("taeda._C._nn"), own_nn_functions);
}

const PyMethodDef* const multiprocessing_tables[] = {multiprocessing_table, nullptr};

bool add_multiprocessing(PyObject* module) {
  constexpr const char* kName = "taeda._C._multiprocessing";
  return add_submodule(module, kName, multiprocessing_tables) &&
         init_shared_arena_type(PyImport_AddModule(kName));
}

const PyMethodDef* const export_tables[] = {export_table, nullptr};

bool fill(PyObject* module) {
  return init_dtype_type(module) && init_layout_types(module) && init_device_type(module) &&
         init_size_type(module) && init_generator_type(module) && init_storage_type(module) &&
         init_hook_handle_type(module) && init_grad_fn_type(module) && init_function_type(module) &&
         init_tensor_type(module) && init_overrides(module) && init_handlers(module) &&
         add_functions(module, function_tables) &&
         // Hand-written functions replace generated ones of the same name.
         add_functions(module, own_functions) && add_nn(module) &&
         add_submodule(module, "taeda._C._special", special_function_tables) &&
         add_submodule(module, "taeda._C._linalg", linalg_function_tables) &&
         add_submodule(module, "taeda._C._dispatch", dispatch_tables) &&
         add_submodule(module, "taeda._C._fx", no_tables) && fill_fx(module) &&
         add_submodule(module, "taeda._C._export", export_tables) &&
         add_submodule(module, "taeda._C._inductor", no_tables) &&
         add_submodule(module, "taeda._C._aot", no_tables) &&
         add_submodule(module, "taeda._C._dynamo", no_tables) && fill_compilers() &&
         add_autograd_submodules(module) && init_weak_tensor_ref_type(module) &&
         init_weak_storage_ref_type(module) && add_multiprocessing(module) &&
         init_file_writer_type(module) && init_file_reader_type(module) &&
         PyModule_AddObjectRef(module, "_return_types", return_types_module()) == 0 &&
         init_script_object_type(module) && init_extension_api(module) && install_warnings() &&
         install_anomaly_hooks();
}

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "taeda._C", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};

}  // namespace

}  // namespace taeda::python

PyMODINIT_FUNC PyInit__C() {
  using namespace taeda::python;
  Ref module(PyModule_Create(&definition));
  if (!module) return nullptr;
  PyObject* filled = guarded([&] { return fill(module.get()) ? module.release() : nullptr; });
  return filled;
}
