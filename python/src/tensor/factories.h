// Tensors from Python data: numbers, nested sequences, arrays.
#pragma once

#include "python/interop/python.h"

#include "taeda/core/tensor.h"

namespace taeda::python {

// A new tensor that copies `data`: numbers, nested sequences of them, tensors, objects with the
// array interface, the buffer protocol or __dlpack__. DType::Undefined infers as PyTorch does.
Tensor tensor_from_data(PyObject* data, DType dtype, Device device);
// The same where modes see it: a trace records it, a fake mode makes it fake.
Tensor lifted_from_data(PyObject* data, DType dtype, Device device);
// Memory of another library; a constant of the program where a trace or fake tensors see it.
Tensor lifted(const Tensor& memory);
// Whether there is a symbolic number in the data, and the tensor of such data.
bool has_symbolic_data(PyObject* data);
Tensor tensor_from_symbolic_data(PyObject* data, DType dtype, Device device);
// The same, sharing memory where dtype and device allow it.
Tensor tensor_sharing_data(PyObject* data, DType dtype, Device device);
// A tensor over the memory of an object with __array_interface__; undefined if it has none.
Tensor tensor_from_array_interface(PyObject* array, bool is_shared);

// Sets requires_grad; of integers it is an error.
void need_gradient(const Tensor& t);

extern PyMethodDef factory_table[];
extern PyMethodDef mode_table[];
extern PyMethodDef shape_table[];
extern PyMethodDef autograd_table[];
extern PyMethodDef dispatch_table[];
extern PyMethodDef dispatch_mode_table[];
extern PyMethodDef boxed_call_table[];
extern PyMethodDef operator_handle_table[];
extern PyMethodDef library_table[];
extern PyMethodDef interop_table[];
extern PyMethodDef device_table[];
extern PyMethodDef transform_table[];
extern PyMethodDef autocast_table[];

// Sends the library's warnings to warnings.warn.
bool install_warnings();

// Puts the capsule of python/interop/extension_api.h into the module.
bool init_extension_api(PyObject* module);

// Lets anomaly mode keep and tell Python's stacks.
bool install_anomaly_hooks();

// Throws where options given beside out= contradict it.
void check_out_options(const Tensor& out, std::optional<DType> dtype, std::optional<Layout> layout,
                       std::optional<Device> device);

}  // namespace taeda::python
