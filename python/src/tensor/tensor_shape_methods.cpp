// Methods of Tensor that tell about its geometry, type and memory.
#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/args/args.h"
#include "python/src/tensor/class_reads.h"
#include "python/src/tensor/storage_type.h"
#include "python/src/tensor/tensor_type.h"
#include "taeda/ops/functions.h"

namespace taeda::python {

namespace {

template <auto read>
PyObject* tell(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(read(tensor_of(self))); });
}
#define TAEDA_TELL(expression) tell<[](const Tensor& t) { return expression; }>, METH_NOARGS

const Param dim_params[] = {
    {"self", ParamType::Tensor},
    {"dim", ParamType::Int, true, false, true},
};
const Signature dim_signature[] = {{"(Tensor input, int dim = None)", dim_params, 2}};

// An item of a tuple of sizes or strides, counted from the end when negative.
PyObject* item_at(const Ref& tuple, int64_t dim) {
  const int64_t at = wrap_dim(dim, PyTuple_GET_SIZE(tuple.get()), false);
  return Py_NewRef(PyTuple_GET_ITEM(tuple.get(), static_cast<Py_ssize_t>(at)));
}

PyObject* size(PyObject* self, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames) {
  Args args;
  const bool is_whole = nargs == 0 && !kwnames;
  if (!is_whole && parse("size", dim_signature, 1, self, argv, nargs, kwnames, args) < 0)
    return nullptr;
  return guarded([&] {
    const bool has_dim = !is_whole && args.has(1);
    if (const Ref told = sizes_from_class(self))
      return has_dim ? item_at(told, args.integer(1))
                     : PyObject_CallOneArg(reinterpret_cast<PyObject*>(size_type), told.get());
    const Tensor& t = tensor_of(self);
    return has_dim ? wrap(t.sym_size(args.integer(1))) : wrap_size(t.sym_sizes());
  });
}
PyObject* wrap_tuple(SymIntList values) {
  Ref tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(values.size()))));
  for (size_t i = 0; i < values.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), checked(wrap(values[i])));
  return tuple.release();
}
PyObject* stride(PyObject* self, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames) {
  Args args;
  if (parse("stride", dim_signature, 1, self, argv, nargs, kwnames, args) < 0) return nullptr;
  return guarded([&] {
    if (Ref told = strides_from_class(self))
      return args.has(1) ? item_at(told, args.integer(1)) : told.release();
    const Tensor& t = tensor_of(self);
    const SymIntList strides = t.sym_strides();
    return args.has(1) ? wrap(strides[wrap_dim(args.integer(1), t.dim(), false)])
                       : wrap_tuple(strides);
  });
}

// Told by the class, with an operator of this name, or by an expression over the tensor.
template <auto op, auto read>
PyObject* tell_geometry(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref told = read_from_class(self, ClassRead::Sizes, op());
    return told ? told.release() : wrap(read(tensor_of(self)));
  });
}
#define TAEDA_TELL_GEOMETRY(op, expression) \
  tell_geometry<[] { return op; }, [](const Tensor& t) { return expression; }>, METH_NOARGS

const Param format_params[] = {
    {"self", ParamType::Tensor},
    {"memory_format", ParamType::MemoryFormat, false, true, true},
};
const Signature format_signature[] = {
    {"(Tensor input, *, torch.memory_format memory_format = contiguous_format)", format_params, 2}};

// Whether the class says that the strides are those of the format; null where it is not asked.
Ref contiguity_from_class(PyObject* self, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous)
    return read_from_class(self, ClassRead::Strides, "is_contiguous");
  const Ref given(checked(wrap(format)));
  return read_from_class(self, ClassRead::Strides, "is_contiguous.memory_format", given.get());
}

PyObject* is_contiguous(PyObject* self, PyObject* const* argv, Py_ssize_t nargs,
                        PyObject* kwnames) {
  Args args;
  const bool is_plain = nargs == 0 && !kwnames;
  if (!is_plain &&
      parse("is_contiguous", format_signature, 1, self, argv, nargs, kwnames, args) < 0)
    return nullptr;
  return guarded([&] {
    const MemoryFormat format = is_plain ? MemoryFormat::Contiguous : args.memory_format(1);
    Ref told = contiguity_from_class(self, format);
    return told ? told.release() : wrap(tensor_of(self).is_contiguous(format));
  });
}

// The operator reads the strides that C++ knows, so the class is asked before.
PyObject* contiguous(PyObject* self, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames) {
  Args args;
  const bool is_plain = nargs == 0 && !kwnames;
  if (!is_plain && parse("contiguous", format_signature, 1, self, argv, nargs, kwnames, args) < 0)
    return nullptr;
  return guarded([&] {
    const MemoryFormat format = is_plain ? MemoryFormat::Contiguous : args.memory_format(1);
    const Tensor& t = tensor_of(self);
    if (const Ref told = contiguity_from_class(self, format)) {
      const int is_so = PyObject_IsTrue(told.get());
      if (is_so < 0) throw_python_error();
      return is_so ? Py_NewRef(self) : wrap(taeda::clone(t, format));
    }
    const Tensor result = [&] {
      const GilRelease gil(is_large(t));
      return taeda::contiguous(t, format);
    }();
    return wrap(result);
  });
}

int64_t address(const Tensor& t) {
  TAEDA_CHECK(
      !t.keys().has(Key::TransformBack),
      "Cannot access data pointer of Tensor that doesn't have storage: a function transform "
      "(grad, jvp, vmap) wraps its values");
  return t.is_meta() || !t.storage()->data() ? 0 : reinterpret_cast<int64_t>(t.data());
}
// The address of the first element, where there is one.
PyObject* data_ptr(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& t = tensor_of(self);
    const Ref told = read_from_class(self, ClassRead::Sizes, "numel");
    return wrap(told && to_int64(told.get()) == 0 ? int64_t{0} : address(t));
  });
}

PyObject* untyped_storage(PyObject* self, PyObject*) {
  return guarded([&] { return wrap_storage(tensor_of(self)); });
}

PyObject* get_device(PyObject* self, PyObject*) {
  return guarded([&] { return PyLong_FromLong(shown_device(self).index); });
}

PyObject* is_same_size(PyObject* self, PyObject* other) {
  return guarded([&] {
    const Tensor& b = expect_tensor(other, "is_same_size(): argument 'other' (position 1)");
    return wrap(tensor_of(self).sym_sizes() == b.sym_sizes());
  });
}

PyObject* is_set_to(PyObject* self, PyObject* other) {
  return guarded([&] {
    const Tensor &a = tensor_of(self),
                 &b = expect_tensor(other, "is_set_to(): argument 'tensor' (position 1)");
    return wrap(a.storage() == b.storage() &&
                a.impl()->sym_storage_offset() == b.impl()->sym_storage_offset() &&
                a.sym_sizes() == b.sym_sizes() && a.sym_strides() == b.sym_strides());
  });
}

}  // namespace

PyMethodDef tensor_shape_methods[] = {
    {"size", as_function(size), METH_FASTCALL | METH_KEYWORDS,
     "size(dim=None) -> torch.Size or int\n\n"
     "The sizes of all dimensions, or of `dim`."},
    {"stride", as_function(stride), METH_FASTCALL | METH_KEYWORDS,
     "stride(dim=None) -> tuple or int\n\n"
     "How many elements lie between neighbors along each dimension, or along `dim`."},
    {"is_contiguous", as_function(is_contiguous), METH_FASTCALL | METH_KEYWORDS,
     "is_contiguous(memory_format=torch.contiguous_format) -> bool\n\n"
     "Whether the elements lie in memory without gaps in the order of the format."},
    {"contiguous", as_function(contiguous), METH_FASTCALL | METH_KEYWORDS,
     "contiguous(*, memory_format=torch.contiguous_format) -> Tensor\n\n"
     "The tensor itself when its memory is contiguous in the format, else a copy that is."},
    {"dim", TAEDA_TELL_GEOMETRY("dim", t.dim()),
     "dim() -> int\n\n"
     "The number of dimensions."},
    {"ndimension", TAEDA_TELL_GEOMETRY("dim", t.dim()),
     "ndimension() -> int\n\n"
     "The number of dimensions."},
    {"numel", TAEDA_TELL_GEOMETRY("sym_numel", t.sym_numel()),
     "numel() -> int\n\n"
     "The number of elements."},
    {"nelement", TAEDA_TELL_GEOMETRY("sym_numel", t.sym_numel()),
     "nelement() -> int\n\n"
     "The number of elements."},
    {"element_size", TAEDA_TELL(t.element_size()),
     "element_size() -> int\n\n"
     "The size of an element in bytes."},
    {"storage_offset", TAEDA_TELL_GEOMETRY("sym_storage_offset", t.impl()->sym_storage_offset()),
     "storage_offset() -> int\n\n"
     "Where the first element lies in the storage, in elements."},
    {"untyped_storage", untyped_storage, METH_NOARGS,
     "untyped_storage() -> torch.UntypedStorage\n\n"
     "The bytes that the tensor is a window on."},
    {"data_ptr", data_ptr, METH_NOARGS,
     "data_ptr() -> int\n\n"
     "The address of the first element."},
    {"is_complex", TAEDA_TELL(t.is_complex()),
     "is_complex() -> bool\n\n"
     "Whether the dtype is complex."},
    {"is_floating_point", TAEDA_TELL(t.is_floating_point()),
     "is_floating_point() -> bool\n\n"
     "Whether the dtype is a floating-point one."},
    {"is_signed", TAEDA_TELL(t.is_signed()),
     "is_signed() -> bool\n\n"
     "Whether the dtype has negative numbers."},
    {"is_conj", TAEDA_TELL(t.is_conj()),
     "is_conj() -> bool\n\n"
     "Whether the elements are the conjugates of what lies in memory."},
    {"is_neg", TAEDA_TELL(t.is_neg()),
     "is_neg() -> bool\n\n"
     "Whether the elements are the negatives of what lies in memory."},
    {"is_inference", TAEDA_TELL(t.is_inference()),
     "is_inference() -> bool\n\n"
     "Whether the tensor was made in inference mode."},
    {"is_pinned", TAEDA_TELL((static_cast<void>(t), false)),
     "is_pinned() -> bool\n\n"
     "Whether the memory is page-locked."},
    {"_is_view", TAEDA_TELL(t.is_view()), nullptr},
    {"get_device", get_device, METH_NOARGS,
     "get_device() -> int\n\n"
     "The index of the tensor's device; -1 on the CPU."},
    {"is_same_size", is_same_size, METH_O,
     "is_same_size(other) -> bool\n\n"
     "Whether both tensors have the same shape."},
    {"is_set_to", is_set_to, METH_O,
     "is_set_to(tensor) -> bool\n\n"
     "Whether both tensors are the same window on the same memory."},
    {},
};

}  // namespace taeda::python
