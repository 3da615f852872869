// taeda.tensor, as_tensor, asarray, from_dlpack: tensors from Python objects.
#include "python/src/tensor/factories.h"

#include <cstring>

#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/args/arg_match.h"
#include "python/src/args/args.h"
#include "python/src/tensor/dlpack.h"
#include "python/src/tensor/storage_type.h"
#include "taeda/autograd/set_source.h"
#include "taeda/autograd/variable.h"
#include "taeda/fx/fake.h"
#include "taeda/fx/tracer.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/graph/operators.h"
#include "taeda/ops/options.h"

namespace taeda::python {

void need_gradient(const Tensor& t) {
  TAEDA_CHECK(autograd::is_differentiable(t.dtype()),
              "Only Tensors of floating point and complex dtype can require gradients");
  autograd::set_requires_grad(t, true);
}

namespace {

const Param tensor_params[] = {
    {"data", ParamType::PyObject},
    {"dtype", ParamType::DType, true, true, true},
    {"device", ParamType::Device, true, true, true},
    {"pin_memory", ParamType::Bool, false, true, true},
    {"requires_grad", ParamType::Bool, false, true, true},
    {"names", ParamType::PyObject, true, true, true},
};
const Signature tensor_signature[] = {
    {"(object data, *, torch.dtype dtype = None, torch.device device = None, bool pin_memory = "
     "False, bool "
     "requires_grad = False)",
     tensor_params, 6}};

// The numbers of a storage, whose memory the tensor shares; an undefined one for other data.
Tensor over_storage(PyObject* data, DType given) {
  const DType dtype = given == DType::Undefined ? default_dtype() : given;
  const Ref bytes = bytes_of_typed(data, dtype);
  if (!bytes && !is_storage(data)) return Tensor();
  const Storage& storage = storage_of(bytes ? bytes.get() : data);
  Tensor t = make_tensor({0}, dtype, storage->device());
  return autograd::set_to_storage(t, storage);
}

PyObject* tensor(PyObject* module, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames) {
  Args args;
  if (parse_function("tensor", tensor_signature, 1, module, argv, nargs, kwnames, args) < 0)
    return args.overridden();
  return guarded([&] {
    PyObject* data = args.object(0);
    if (is_tensor(data) &&
        PyErr_WarnEx(PyExc_UserWarning,
                     "To copy construct from a tensor, it is recommended to use "
                     "sourceTensor.detach().clone() or "
                     "sourceTensor.detach().clone().requires_grad_(True), rather than "
                     "torch.tensor(sourceTensor).",
                     1) < 0)
      throw_python_error();
    check_options({}, args.boolean(3));
    if (Tensor t = over_storage(data, args.dtype(1)); t.defined()) {
      if (args.boolean(4)) need_gradient(t);
      return wrap(t);
    }
    Tensor t = lifted_from_data(data, args.dtype(1), args.device(2, default_device()));
    if (args.boolean(4)) need_gradient(t);
    return wrap(t);
  });
}

}  // namespace

Tensor lifted(const Tensor& memory) {
  const bool is_seen = fx::active_tracer() || fx::active_fake_mode();
  return is_seen && memory.defined() ? ops::lift_fresh_copy(memory) : memory;
}

Tensor lifted_from_data(PyObject* data, DType dtype, Device device) {
  if (!local_keys().include.has(Key::Python)) return tensor_from_data(data, dtype, device);
  if (has_symbolic_data(data)) return tensor_from_symbolic_data(data, dtype, device);
  // Numbers are read into CPU memory; a mode may turn them into a tensor elsewhere.
  const Tensor t = ops::lift_fresh_copy(tensor_from_data(data, dtype, Device()));
  return device.is_cpu() ? t : t.to(device);
}

namespace {

const Param as_tensor_params[] = {
    {"data", ParamType::PyObject},
    {"dtype", ParamType::DType, true, false, true},
    {"device", ParamType::Device, true, false, true},
};
const Signature as_tensor_signature[] = {
    {"(object data, torch.dtype dtype = None, torch.device device = None)", as_tensor_params, 3}};

// A tensor stays where it is; other data goes to the default device.
Device device_for(Args& args, int i, PyObject* data) {
  return args.device(i, is_tensor(data) ? tensor_of(data).device() : default_device());
}

PyObject* as_tensor(PyObject* module, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames) {
  Args args;
  if (parse_function("as_tensor", as_tensor_signature, 1, module, argv, nargs, kwnames, args) < 0)
    return args.overridden();
  return guarded([&] {
    PyObject* data = args.object(0);
    if (local_keys().include.has(Key::Python) && has_symbolic_data(data))
      return wrap(tensor_from_symbolic_data(data, args.dtype(1), args.device(2, default_device())));
    return wrap(tensor_sharing_data(data, args.dtype(1), device_for(args, 2, data)));
  });
}

const Param asarray_params[] = {
    {"obj", ParamType::PyObject},
    {"dtype", ParamType::DType, true, true, true},
    {"device", ParamType::Device, true, true, true},
    {"copy", ParamType::Bool, true, true, true},
    {"requires_grad", ParamType::Bool, true, true, true},
};
const Signature asarray_signature[] = {
    {"(object obj, *, torch.dtype dtype = None, torch.device device = None, bool copy = None, bool "
     "requires_grad = "
     "None)",
     asarray_params, 5}};

// asarray's `copy`: True makes one unless a conversion did, False forbids it.
Tensor copied_or_shared(PyObject* data, const Tensor& t, bool wants_copy) {
  if (wants_copy) return is_tensor(data) && t.is_same(tensor_of(data)) ? taeda::clone(t) : t;
  TAEDA_CHECK_VALUE(!(PyList_Check(data) || PyTuple_Check(data) || is_number(data)),
                    "can't alias arbitrary sequence into a tensor.");
  const Tensor own =
      is_tensor(data) ? tensor_of(data) : tensor_sharing_data(data, DType::Undefined, Device());
  TAEDA_CHECK_VALUE(own.dtype() == t.dtype(), "can't alias tensor with dtype '", own.dtype(),
                    "' into dtype '", t.dtype(), "'.");
  return t;
}

PyObject* asarray(PyObject* module, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames) {
  Args args;
  if (parse_function("asarray", asarray_signature, 1, module, argv, nargs, kwnames, args) < 0)
    return args.overridden();
  return guarded([&] {
    PyObject* data = args.object(0);
    const Device device = device_for(args, 2, data);
    Tensor t = args.boolean(3) && !is_tensor(data)
                   ? lifted_from_data(data, args.dtype(1), device)
                   : tensor_sharing_data(data, args.dtype(1), device);
    if (args.has(3)) t = copied_or_shared(data, t, args.boolean(3));
    if (args.has(4)) {
      if (!args.boolean(4) && autograd::requires_grad(t)) t = taeda::detach(t);
      if (args.boolean(4) && !autograd::requires_grad(t)) need_gradient(t);
    }
    return wrap(t);
  });
}

PyObject* from_dlpack_capsule(PyObject*, PyObject* capsule) {
  return guarded([&] { return wrap(tensor_from_dlpack_capsule(capsule)); });
}
PyObject* to_dlpack(PyObject*, PyObject* o) {
  return guarded([&] {
    return dlpack_capsule(expect_tensor(o, "to_dlpack(): argument 'tensor'"), false, false);
  });
}

PyObject* is_tensor_function(PyObject*, PyObject* o) { return wrap(is_tensor(o)); }

}  // namespace

PyMethodDef factory_table[] = {
    {"tensor", as_function(tensor), METH_FASTCALL | METH_KEYWORDS,
     "tensor(data, *, dtype=None, device=None, pin_memory=False, requires_grad=False) -> Tensor"},
    {"as_tensor", as_function(as_tensor), METH_FASTCALL | METH_KEYWORDS,
     "as_tensor(data, dtype=None, device=None) -> Tensor"},
    {"asarray", as_function(asarray), METH_FASTCALL | METH_KEYWORDS,
     "asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None) -> Tensor"},
    {"_from_dlpack", from_dlpack_capsule, METH_O, nullptr},
    {"to_dlpack", to_dlpack, METH_O,
     "to_dlpack(tensor) -> PyCapsule\n\n"
     "A DLPack capsule on the tensor's memory, to be taken once."},
    {"is_tensor", is_tensor_function, METH_O,
     "is_tensor(obj) -> bool\n\n"
     "Whether an object is a Tensor."},
    {},
};

void check_out_options(const Tensor& out, std::optional<DType> dtype, std::optional<Layout> layout,
                       std::optional<Device> device) {
  TAEDA_CHECK(!dtype || *dtype == out.dtype(), "dtype ", *dtype,
              " does not match dtype of out parameter (", out.dtype(), ")");
  TAEDA_CHECK(!layout || *layout == out.layout(), "layout ", layout_name(*layout),
              " does not match layout of out parameter (", layout_name(out.layout()), ")");
  TAEDA_CHECK(!device || device->type == out.device().type, "device type ", *device,
              " does not match device type of out parameter (", out.device(), ")");
}

}  // namespace taeda::python
