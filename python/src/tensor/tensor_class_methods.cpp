// Construction of Tensor objects: the constructor, subclasses, copies.
#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/text.h"
#include "python/interop/types.h"
#include "python/src/args/args.h"
#include "python/src/dispatch/handler_call.h"
#include "python/src/tensor/class_reads.h"
#include "python/src/tensor/factories.h"
#include "python/src/tensor/tensor_type.h"
#include "taeda/autograd/variable.h"
#include "taeda/dispatch/modes.h"
#include "taeda/ops/functions.h"

#include <utility>

namespace taeda::python {

namespace {

// Modes do not see the construction of an object: a tensor that they return has its object already.
class WithoutModes {
 public:
  WithoutModes() : saved_(dispatch::modes()) { dispatch::set_modes({}); }
  ~WithoutModes() { dispatch::set_modes(std::move(saved_)); }
  WithoutModes(const WithoutModes&) = delete;

 private:
  dispatch::ModeStack saved_;
};

// A tensor that shares the values, for a Python object of its own.
Tensor separate(const Tensor& t) {
  const WithoutModes unseen;
  return autograd::detached(t);
}

void check_subclass(PyObject* cls) {
  TAEDA_CHECK_TYPE(
      PyType_Check(cls) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), tensor_type),
      "cls must be a type (got ", Py_TYPE(cls)->tp_name, ")");
}

const Param make_params[] = {
    {"cls", ParamType::PyObject},
    {"data", ParamType::Tensor},
    {"require_grad", ParamType::Bool, false, false, true},
    {"dispatch_sizes_strides_policy", ParamType::Str, true, true, true},
    {"dispatch_device", ParamType::Bool, false, true, true},
    {"dispatch_layout", ParamType::Bool, false, true, true},
};
const Signature make_signature[] = {
    {"(object cls, Tensor data, bool require_grad = False, *, c10::string_view? "
     "dispatch_sizes_strides_policy=None, bool dispatch_device=False, bool dispatch_layout=False)",
     make_params, 6}};

// _make_subclass(cls, data, require_grad=False, *, ...): Note [Reads from the class].
PyObject* make_subclass(PyObject*, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames) {
  Args args;
  if (parse("_make_subclass", make_signature, 1, nullptr, argv, nargs, kwnames, args) < 0)
    return nullptr;
  return guarded([&] {
    check_subclass(args.object(0));
    Tensor t = separate(args.tensor(1));
    const uint8_t reads = class_reads(args.string(3), args.boolean(4), args.boolean(5));
    if (reads) t.impl()->extra().read_from_class = reads;
    if (args.boolean(2)) need_gradient(t);
    return tensor_object(reinterpret_cast<PyTypeObject*>(args.object(0)), t);
  });
}

// The same tensor, history included, as an object of another class.
PyObject* as_subclass(PyObject* self, PyObject* cls) {
  return guarded([&] {
    check_subclass(cls);
    const WithoutModes unseen;
    return tensor_object(reinterpret_cast<PyTypeObject*>(cls), taeda::alias(tensor_of(self)));
  });
}

PyObject* copy(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    Tensor other = separate(t);
    if (autograd::requires_grad(t)) autograd::set_requires_grad(other, true);
    Ref result(checked(tensor_object(Py_TYPE(self), other)));
    if (auto* dict = reinterpret_cast<TensorObject*>(self)->dict) {
      Ref copied(checked(PyDict_Copy(dict)));
      if (PyObject_SetAttrString(result.get(), "__dict__", copied.get()) < 0) throw_python_error();
    }
    return result.release();
  });
}

// The only keyword is the device, which must be the CPU.
void check_new_keywords(PyObject* kwargs) {
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; kwargs && PyDict_Next(kwargs, &at, &name, &value);) {
    const bool is_device = PyUnicode_CompareWithASCIIString(name, "device") == 0;
    TAEDA_CHECK_TYPE(is_device,
                     "new() received an invalid combination of arguments - got keyword '",
                     text_of(name), "'; only 'device' is taken, use torch.tensor instead");
    TAEDA_CHECK(value == Py_None || to_device(value).is_cpu(),
                "legacy constructor expects device type: cpu but device type: ", to_device(value),
                " was passed");
  }
}

// _use_count(tensor): how many hold the tensor, the object included. Like _swap_impl it asks no
// override.
PyObject* use_count(PyObject*, PyObject* tensor) {
  return guarded([&] {
    return PyLong_FromUnsignedLongLong(expect_tensor(tensor, "tensor").impl()->use_count());
  });
}

// _swap_impl(first, second): exchanges what two objects stand for; each tensor's object is the
// other one from now on (Note [Python slot]). Classes and attributes are the caller's to exchange.
PyObject* swap_impl(PyObject*, PyObject* const* argv, Py_ssize_t nargs) {
  return guarded([&]() -> PyObject* {
    TAEDA_CHECK_TYPE(nargs == 2, "_swap_impl() takes 2 tensors, got ", nargs, " arguments");
    std::swap(expect_tensor(argv[0], "first"), expect_tensor(argv[1], "second"));
    for (PyObject* object : {argv[0], argv[1]}) {
      tensor_of(object).impl()->set_python_object(object, false);
      track_tensor(object);
    }
    Py_RETURN_NONE;
  });
}

}  // namespace

// Tensor(), Tensor(2, 3), Tensor([1, 2]), Tensor(other): the old constructor, of the default dtype.
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    check_new_keywords(kwargs);
    const Py_ssize_t n = PyTuple_GET_SIZE(args);
    PyObject* first = n > 0 ? PyTuple_GET_ITEM(args, 0) : nullptr;
    Tensor t;
    if (n == 1 && is_tensor(first)) {
      t = separate(tensor_of(first));
    } else if (n == 1 && !is_integer(first) && !Py_IS_TYPE(first, size_type)) {
      TAEDA_CHECK_TYPE(PySequence_Check(first), "new(): data must be a sequence (got ",
                       Py_TYPE(first)->tp_name, ")");
      t = tensor_from_data(first, default_dtype(), Device());
    } else {
      PyObject* sizes = n == 1 && PyTuple_Check(first) ? first : args;
      IntVec shape;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes); ++i)
        shape.push_back(to_int64(PyTuple_GET_ITEM(sizes, i)));
      if (n == 0) shape.push_back(0);
      t = make_tensor(shape, default_dtype(), default_device());
    }
    return tensor_object(type, t);
  });
}

PyMethodDef tensor_class_methods[] = {
    {"_make_subclass", as_function(make_subclass), METH_FASTCALL | METH_KEYWORDS | METH_STATIC,
     nullptr},
    {"_make_wrapper_subclass", as_function(make_wrapper_subclass),
     METH_FASTCALL | METH_KEYWORDS | METH_STATIC, nullptr},
    {"as_subclass", as_subclass, METH_O,
     "as_subclass(cls) -> cls\n\n"
     "The same tensor as an instance of a subclass of Tensor."},
    {"__copy__", copy, METH_NOARGS, nullptr},
    {"_use_count", use_count, METH_O | METH_STATIC, nullptr},
    {"_swap_impl", as_function(swap_impl), METH_FASTCALL | METH_STATIC, nullptr},
    {},
};

}  // namespace taeda::python
