// Methods of Tensor that share its memory: NumPy, buffers, DLPack.
#include <memory>

#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/args/args.h"
#include "python/src/tensor/dlpack.h"
#include "python/src/tensor/factories.h"
#include "python/src/tensor/tensor_type.h"
#include "taeda/autograd/variable.h"
#include "taeda/ops/functions.h"

namespace taeda::python {

namespace {

// The buffer protocol's name of an element type; null where it has none.
const char* buffer_format(DType t) {
  switch (t) {
    case DType::Bool: return "?";
    case DType::UInt8: return "B";
    case DType::Int8: return "b";
    case DType::Int16: return "h";
    case DType::UInt16: return "H";
    case DType::Int32: return "i";
    case DType::UInt32: return "I";
    case DType::Int64: return "q";
    case DType::UInt64: return "Q";
    case DType::Half: return "e";
    case DType::Float: return "f";
    case DType::Double: return "d";
    case DType::ComplexFloat: return "Zf";
    case DType::ComplexDouble: return "Zd";
    default: return nullptr;
  }
}

void check_exportable(const Tensor& t) {
  TAEDA_CHECK(!t.keys().has(Key::Python), ".numpy() is not supported for tensor subclasses.");
  TAEDA_CHECK(
      !t.keys().has(Key::TransformBack),
      "Cannot access data pointer of Tensor that doesn't have storage: a function transform "
      "(grad, jvp, vmap) wraps its values");
  TAEDA_CHECK(
      !autograd::should_record(t),
      "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
  TAEDA_CHECK_TYPE(
      t.is_cpu(), "can't convert ", t.device(),
      " device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.");
  TAEDA_CHECK(!t.is_conj(),
              "Can't call numpy() on Tensor that has conjugate bit set. Use "
              "tensor.resolve_conj().numpy() instead.");
  TAEDA_CHECK(
      !t.is_neg(),
      "Can't call numpy() on Tensor that has negative bit set. Use tensor.resolve_neg().numpy() "
      "instead.");
  TAEDA_CHECK_TYPE(buffer_format(t.dtype()), "Got unsupported ScalarType ", t.dtype());
}

// The owner behind a Py_buffer: keeps the memory even if the tensor gets another storage.
struct Export {
  Storage storage;
  SmallVector<Py_ssize_t, 6> sizes, strides;
};

const Param numpy_params[] = {
    {"self", ParamType::Tensor},
    {"force", ParamType::Bool, false, true, true},
};
const Signature numpy_signature[] = {{"(Tensor input, *, bool force = False)", numpy_params, 2}};

PyObject* numpy(PyObject* self, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames) {
  Args args;
  if (parse("numpy", numpy_signature, 1, self, argv, nargs, kwnames, args) < 0) return nullptr;
  return guarded([&]() -> PyObject* {
    Tensor t = tensor_of(self);
    if (args.boolean(1) && !t.keys().has(Key::Python)) {
      t = taeda::detach(t);
      if (!t.is_cpu()) t = taeda::to(t, Device(), t.dtype());
      if (t.is_conj()) t = taeda::resolve_conj(t);
      if (t.is_neg()) t = taeda::resolve_neg(t);
    }
    check_exportable(t);
    Ref module(checked(PyImport_ImportModule("numpy")));
    Ref object(checked(wrap(t)));
    Ref view(checked(PyMemoryView_FromObject(object.get())));
    return PyObject_CallMethod(module.get(), "asarray", "O", view.get());
  });
}

// __array__(dtype=None, copy=None)
PyObject* array(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"dtype", "copy", nullptr};
  PyObject *dtype = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", const_cast<char**>(names), &dtype,
                                   &copy))
    return nullptr;
  Ref result(numpy(self, nullptr, 0, nullptr));
  if (!result) return nullptr;
  if (dtype != Py_None) {
    Ref method(PyObject_GetAttrString(result.get(), "astype"));
    Ref arguments(Py_BuildValue("(O)", dtype));
    Ref options(Py_BuildValue("{s:O}", "copy", Py_False));
    if (!method || !arguments || !options) return nullptr;
    return PyObject_Call(method.get(), arguments.get(), options.get());
  }
  if (copy == Py_True) return PyObject_CallMethod(result.get(), "copy", nullptr);
  return result.release();
}

// __dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)
PyObject* to_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", const_cast<char**>(names),
                                   &stream, &version, &device, &copy))
    return nullptr;
  return guarded([&] {
    const bool is_none = stream == Py_None || (PyLong_Check(stream) && to_int64(stream) == -1);
    TAEDA_CHECK_TYPE(is_none || PyLong_Check(stream), "stream must be ``int`` or ``none``");
    TAEDA_CHECK_KIND(ErrorKind::Assertion, is_none, "stream should be None on cpu.");
    bool is_versioned = false;
    if (version != Py_None) {
      Ref major(checked(PySequence_GetItem(version, 0)));
      is_versioned = to_int64(major.get()) >= 1;
    }
    Tensor t = tensor_of(self);
    TAEDA_CHECK_KIND(ErrorKind::Buffer, !autograd::requires_grad(t),
                     "Can't export tensors that require gradient, use tensor.detach()");
    if (copy == Py_True) t = taeda::clone(t);
    return dlpack_capsule(t, is_versioned, copy == Py_True);
  });
}

PyObject* dlpack_device(PyObject* self, PyObject*) {
  return guarded([&] {
    TAEDA_CHECK_VALUE(tensor_of(self).is_cpu(), "Unknown device type ",
                      device_type_name(tensor_of(self).device().type), " for Dlpack");
    return Py_BuildValue("(ii)", 1, 0);
  });
}

}  // namespace

int tensor_get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded_int([&] {
    const Tensor& t = tensor_of(self);
    try {
      check_exportable(t);
    } catch (const Error& e) {
      fail(ErrorKind::Buffer, e.message());
    }
    const bool wants_shape = flags & PyBUF_ND;
    const bool wants_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    TAEDA_CHECK_KIND(ErrorKind::Buffer, wants_shape || !(flags & PyBUF_FORMAT),
                     "a buffer without a shape is plain bytes: it has no format");
    TAEDA_CHECK_KIND(ErrorKind::Buffer, wants_strides || t.is_contiguous(),
                     "tensor is not contiguous");
    auto kept = std::make_unique<Export>();
    kept->storage = t.storage();
    kept->storage->fix_in_place();
    for (int64_t s : t.sizes()) kept->sizes.push_back(s);
    for (int64_t s : t.strides()) kept->strides.push_back(s * t.element_size());
    // Zero elements may have no memory; consumers want an address all the same.
    static char nothing[1];
    view->buf = t.data() ? t.data() : nothing;
    view->len = t.nbytes();
    view->itemsize = t.element_size();
    view->readonly = 0;
    view->ndim = wants_shape ? static_cast<int>(t.dim()) : 1;
    view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(buffer_format(t.dtype())) : nullptr;
    view->shape = wants_shape ? kept->sizes.data() : nullptr;
    view->strides = wants_strides ? kept->strides.data() : nullptr;
    view->suboffsets = nullptr;
    view->internal = kept.release();
    view->obj = Py_NewRef(self);
    return 0;
  });
}

void tensor_release_buffer(PyObject*, Py_buffer* view) {
  delete static_cast<Export*>(view->internal);
}

PyMethodDef tensor_interop_methods[] = {
    {"numpy", as_function(numpy), METH_FASTCALL | METH_KEYWORDS,
     "numpy(*, force=False) -> numpy.ndarray\n\n"
     "An array on the tensor's memory. `force=True` first detaches, copies to the CPU and "
     "resolves\n"
     "conjugate views where that is needed."},
    {"__array__", as_function(array), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__dlpack__", as_function(to_dlpack), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__dlpack_device__", dlpack_device, METH_NOARGS, nullptr},
    {},
};

}  // namespace taeda::python
