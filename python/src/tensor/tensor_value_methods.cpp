// Methods of Tensor that read its values into Python: item, tolist, and conversions.
#include "python/interop/errors.h"
#include "python/interop/tensor_object.h"
#include "python/interop/tensor_values.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/args/args.h"
#include "python/src/tensor/class_reads.h"
#include "python/src/tensor/factories.h"
#include "python/src/tensor/tensor_type.h"
#include "taeda/autograd/variable.h"
#include "taeda/ops/functions.h"

namespace taeda::python {

namespace {

template <class T>
PyObject* number(T v) {
  if constexpr (std::is_same_v<T, bool>)
    return wrap(v);
  else if constexpr (std::is_same_v<T, uint64_t>)
    return PyLong_FromUnsignedLongLong(v);
  else if constexpr (std::is_integral_v<T>)
    return PyLong_FromLongLong(v);
  else if constexpr (std::is_same_v<T, Complex<float>> || std::is_same_v<T, Complex<double>>)
    return PyComplex_FromDoubles(v.re, v.im);
  else if constexpr (std::is_same_v<T, double>)
    return PyFloat_FromDouble(v);
  else
    return PyFloat_FromDouble(static_cast<double>(static_cast<float>(v)));
}

template <class T>
PyObject* nested_list(const T* data, IntList sizes, IntList strides) {
  if (sizes.empty()) {
    // Memory that nobody wrote may hold other bytes than a bool's.
    if constexpr (std::is_same_v<T, bool>)
      return number(*reinterpret_cast<const uint8_t*>(data) != 0);
    else
      return number(*data);
  }
  Ref list(PyList_New(sizes[0]));
  if (!list) return nullptr;
  for (int64_t i = 0; i < sizes[0]; ++i) {
    PyObject* item = nested_list(data + i * strides[0], sizes.drop_front(), strides.drop_front());
    if (!item) return nullptr;
    PyList_SET_ITEM(list.get(), i, item);
  }
  return list.release();
}

PyObject* tolist(PyObject* self, PyObject*) {
  return guarded([&] {
    TAEDA_CHECK(!tensor_of(self).keys().has(Key::Python),
                ".tolist() is not supported for tensor subclasses, got ", Py_TYPE(self)->tp_name);
    const Tensor t = values_on_cpu(tensor_of(self));
    return visit_dtype(t.dtype(), [&](auto tag) {
      return nested_list(static_cast<const decltype(tag)*>(t.data()), t.sizes(), t.strides());
    });
  });
}

PyObject* item(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(read_item(tensor_of(self))); });
}

PyObject* to_complex(PyObject* self, PyObject*) {
  return guarded([&] {
    const auto c = read_item(tensor_of(self)).to_complex();
    return PyComplex_FromDoubles(c.re, c.im);
  });
}

const Param new_tensor_params[] = {
    {"self", ParamType::Tensor},
    {"data", ParamType::PyObject},
    {"dtype", ParamType::DType, true, true, true},
    {"device", ParamType::Device, true, true, true},
    {"requires_grad", ParamType::Bool, false, true, true},
};
const Signature new_tensor_signature[] = {
    {"(Tensor input, object data, *, torch.dtype dtype = None, torch.device device = None, bool "
     "requires_grad = False)",
     new_tensor_params, 5}};

PyObject* new_tensor(PyObject* self, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames) {
  Args args;
  if (parse("new_tensor", new_tensor_signature, 1, self, argv, nargs, kwnames, args) < 0)
    return nullptr;
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    Tensor r =
        lifted_from_data(args.object(1), args.dtype(2, t.dtype()), args.device(3, t.device()));
    if (args.boolean(4)) autograd::set_requires_grad(r, true);
    return wrap(r);
  });
}

// ---- to another dtype or device, by name ----
const Param converted_params[] = {
    {"self", ParamType::Tensor},
    {"memory_format", ParamType::MemoryFormat, true, true, true},
};
const Signature converted_signature[] = {
    {"(Tensor input, *, torch.memory_format memory_format = None)", converted_params, 2}};

template <DType dtype>
PyObject* to_dtype_method(PyObject* self, PyObject* const* argv, Py_ssize_t nargs,
                          PyObject* kwnames) {
  Args args;
  if (parse("to", converted_signature, 1, self, argv, nargs, kwnames, args) < 0) return nullptr;
  return guarded([&] {
    return wrap(taeda::to(tensor_of(self), dtype, false, false, args.opt_memory_format(1)));
  });
}
PyObject* cpu(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    return t.is_cpu() ? Py_NewRef(self) : wrap(taeda::to(t, Device(), t.dtype()));
  });
}
PyObject* cuda(PyObject* self, PyObject*, PyObject*) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    return wrap(taeda::to(t, Device(DeviceType::CUDA), t.dtype()));
  });
}
PyObject* type_as(PyObject* self, PyObject* other) {
  return guarded([&] {
    const Tensor& like = expect_tensor(other, "type_as(): argument 'other' (position 1)");
    return wrap(taeda::to(tensor_of(self), shown_device(other), like.dtype()));
  });
}

}  // namespace

PyMethodDef tensor_value_methods[] = {
    {"tolist", tolist, METH_NOARGS,
     "tolist() -> list or number\n\n"
     "The elements as nested lists of Python numbers."},
    {"item", item, METH_NOARGS,
     "item() -> number\n\n"
     "The only element as a Python number."},
    {"__complex__", to_complex, METH_NOARGS, nullptr},
    {"new_tensor", as_function(new_tensor), METH_FASTCALL | METH_KEYWORDS,
     "new_tensor(data, *, dtype=None, device=None, requires_grad=False) -> Tensor\n\n"
     "A tensor of `data`, with this tensor's dtype and device unless others are named."},
    {"float", as_function(to_dtype_method<DType::Float>), METH_FASTCALL | METH_KEYWORDS,
     "float(memory_format=torch.preserve_format) -> Tensor\n\n"
     "The tensor as float32; itself where it already is."},
    {"double", as_function(to_dtype_method<DType::Double>), METH_FASTCALL | METH_KEYWORDS,
     "double(memory_format=torch.preserve_format) -> Tensor\n\n"
     "The tensor as float64; itself where it already is."},
    {"half", as_function(to_dtype_method<DType::Half>), METH_FASTCALL | METH_KEYWORDS,
     "half(memory_format=torch.preserve_format) -> Tensor\n\n"
     "The tensor as float16; itself where it already is."},
    {"bfloat16", as_function(to_dtype_method<DType::BFloat16>), METH_FASTCALL | METH_KEYWORDS,
     "bfloat16(memory_format=torch.preserve_format) -> Tensor\n\n"
     "The tensor as bfloat16; itself where it already is."},
    {"long", as_function(to_dtype_method<DType::Int64>), METH_FASTCALL | METH_KEYWORDS,
     "long(memory_format=torch.preserve_format) -> Tensor\n\n"
     "The tensor as int64; itself where it already is."},
    {"int", as_function(to_dtype_method<DType::Int32>), METH_FASTCALL | METH_KEYWORDS,
     "int(memory_format=torch.preserve_format) -> Tensor\n\n"
     "The tensor as int32; itself where it already is."},
    {"short", as_function(to_dtype_method<DType::Int16>), METH_FASTCALL | METH_KEYWORDS,
     "short(memory_format=torch.preserve_format) -> Tensor\n\n"
     "The tensor as int16; itself where it already is."},
    {"char", as_function(to_dtype_method<DType::Int8>), METH_FASTCALL | METH_KEYWORDS,
     "char(memory_format=torch.preserve_format) -> Tensor\n\n"
     "The tensor as int8; itself where it already is."},
    {"byte", as_function(to_dtype_method<DType::UInt8>), METH_FASTCALL | METH_KEYWORDS,
     "byte(memory_format=torch.preserve_format) -> Tensor\n\n"
     "The tensor as uint8; itself where it already is."},
    {"bool", as_function(to_dtype_method<DType::Bool>), METH_FASTCALL | METH_KEYWORDS,
     "bool(memory_format=torch.preserve_format) -> Tensor\n\n"
     "The tensor as bool; itself where it already is."},
    {"cfloat", as_function(to_dtype_method<DType::ComplexFloat>), METH_FASTCALL | METH_KEYWORDS,
     "cfloat(memory_format=torch.preserve_format) -> Tensor\n\n"
     "The tensor as complex64; itself where it already is."},
    {"cdouble", as_function(to_dtype_method<DType::ComplexDouble>), METH_FASTCALL | METH_KEYWORDS,
     "cdouble(memory_format=torch.preserve_format) -> Tensor\n\n"
     "The tensor as complex128; itself where it already is."},
    {"cpu", cpu, METH_NOARGS,
     "cpu() -> Tensor\n\n"
     "The tensor on the CPU; itself where it already is."},
    {"cuda", as_function(cuda), METH_VARARGS | METH_KEYWORDS,
     "cuda(device=None, non_blocking=False) -> Tensor\n\n"
     "The tensor on a CUDA device, the current one unless `device` names another."},
    {"type_as", type_as, METH_O,
     "type_as(other) -> Tensor\n\n"
     "The tensor with the dtype of `other`."},
    {},
};

}  // namespace taeda::python
