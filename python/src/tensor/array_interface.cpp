// Shares memory with NumPy arrays and buffers through Python's protocols; NumPy itself is never
// linked.
#include <cstring>
#include <string>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/numbers.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/args/arg_match.h"
#include "python/src/args/args.h"
#include "python/src/tensor/factories.h"
#include "taeda/autograd/variable.h"
#include "taeda/base/log.h"
#include "taeda/ops/functions.h"

namespace taeda::python {

namespace {

// The dtype of "<f4" and the like; Undefined for types that Taeda lacks.
DType dtype_of_typestr(std::string_view text) {
  if (text.size() < 3) return DType::Undefined;
  TAEDA_CHECK_VALUE(text[0] != '>' || text.substr(2) == "1",
                    "given numpy array has byte order different from the native byte order. "
                    "Conversion between byte "
                    "orders is currently not supported.");
  struct Row {
    std::string_view code;
    DType dtype;
  };
  static constexpr Row kRows[] = {
      {"b1", DType::Bool},         {"i1", DType::Int8},           {"i2", DType::Int16},
      {"i4", DType::Int32},        {"i8", DType::Int64},          {"u1", DType::UInt8},
      {"u2", DType::UInt16},       {"u4", DType::UInt32},         {"u8", DType::UInt64},
      {"f2", DType::Half},         {"f4", DType::Float},          {"f8", DType::Double},
      {"c8", DType::ComplexFloat}, {"c16", DType::ComplexDouble},
  };
  for (const Row& row : kRows)
    if (text.substr(1) == row.code) return row.dtype;
  return DType::Undefined;
}

void release_owner(void* owner) {
  if (!Py_IsInitialized()) return;
  GilHold gil;
  Py_DECREF(static_cast<PyObject*>(owner));
}

// A tensor over memory that `owner` keeps alive. Takes over the reference.
Tensor over_memory(void* data, IntList sizes, IntList strides, DType dtype, Ref owner) {
  const int64_t nbytes = storage_bytes(sizes, strides, 0, dtype);
  auto storage = make_intrusive<StorageImpl>(data, static_cast<size_t>(nbytes), Device(),
                                             release_owner, owner.get());
  owner.release();
  Tensor t(make_intrusive<TensorImpl>(std::move(storage), dtype, dense_keys(Device())));
  t.impl()->set_geometry(sizes, strides, 0);
  return t;
}

PyObject* item(PyObject* dict, const char* key) {
  PyObject* o = PyDict_GetItemString(dict, key);
  return o == Py_None ? nullptr : o;
}

IntVec read_ints(PyObject* sequence) {
  IntVec out;
  Ref fast(checked(PySequence_Fast(sequence, "expected a sequence of ints")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i)
    out.push_back(to_int64(PySequence_Fast_GET_ITEM(fast.get(), i)));
  return out;
}

// Said once per process: tensors know no read-only memory.
void warn_read_only(const char* what) {
  [[maybe_unused]] static const bool is_said = [&] {
    warn(str("The given ", what,
             " is not writable, and PyTorch does not support non-writable tensors. This means "
             "writing to this tensor will result in undefined behavior. You may want to copy the ",
             what,
             " to protect its data or make it writable before converting it to a tensor. This type "
             "of warning will be suppressed for the rest of this program."));
    return true;
  }();
}

[[noreturn]] void fail_array_type(PyObject* array) {
  std::string name = "unknown";
  Ref dtype(PyObject_GetAttrString(array, "dtype"));
  Ref kind(dtype ? PyObject_GetAttrString(dtype.get(), "type") : nullptr);
  if (kind && PyType_Check(kind.get())) name = reinterpret_cast<PyTypeObject*>(kind.get())->tp_name;
  PyErr_Clear();
  fail(ErrorKind::Type, "can't convert np.ndarray of type ", name,
       ". The only supported types are: float64, float32, float16, complex64, complex128, int64, "
       "int32, int16, int8, "
       "uint64, uint32, uint16, uint8, and bool.");
}

}  // namespace

Tensor tensor_from_array_interface(PyObject* array, bool is_shared) {
  Ref interface(PyObject_GetAttrString(array, "__array_interface__"));
  if (!interface) {
    PyErr_Clear();
    return Tensor();
  }
  PyObject* typestr = item(interface.get(), "typestr");
  PyObject* data = item(interface.get(), "data");
  PyObject* shape = item(interface.get(), "shape");
  if (!typestr || !data || !shape || !PyTuple_Check(data)) return Tensor();
  const char* code = PyUnicode_AsUTF8(typestr);
  if (!code) throw_python_error();
  const DType dtype = dtype_of_typestr(code);
  if (dtype == DType::Undefined) fail_array_type(array);
  const IntVec sizes = read_ints(shape);
  IntVec strides(sizes.size());
  const int64_t size = item_size(dtype);
  if (PyObject* given = item(interface.get(), "strides")) {
    strides = read_ints(given);
    for (int64_t& s : strides) {
      TAEDA_CHECK_VALUE(s >= 0,
                        "At least one stride in the given numpy array is negative, and tensors "
                        "with negative strides "
                        "are not currently supported. (You can probably work around this by making "
                        "a copy of your "
                        "array  with array.copy().) ");
      TAEDA_CHECK_VALUE(s % size == 0,
                        "given numpy array strides not a multiple of the element byte size. Copy "
                        "the numpy array to "
                        "reallocate the memory.");
      s /= size;
    }
  } else {
    int64_t running = 1;
    for (size_t i = sizes.size(); i-- > 0; running *= sizes[i]) strides[i] = running;
  }
  void* pointer = PyLong_AsVoidPtr(PyTuple_GET_ITEM(data, 0));
  if (!pointer && PyErr_Occurred()) throw_python_error();
  if (is_shared && PyTuple_GET_SIZE(data) > 1 && PyTuple_GET_ITEM(data, 1) == Py_True)
    warn_read_only("NumPy array");
  return over_memory(pointer, sizes, strides, dtype, Ref::share(array));
}

namespace {

PyObject* from_numpy(PyObject*, PyObject* array) {
  return guarded([&] {
    TAEDA_CHECK_TYPE(numpy_scalar_kind(array) == NumpyKind::None &&
                         PyObject_HasAttrString(array, "__array_interface__"),
                     "expected np.ndarray (got ", Py_TYPE(array)->tp_name, ")");
    return wrap(lifted(tensor_from_array_interface(array, true)));
  });
}

const Param frombuffer_params[] = {
    {"buffer", ParamType::PyObject},
    {"dtype", ParamType::DType, false, true},
    {"count", ParamType::Int, false, true, true},
    {"offset", ParamType::Int, false, true, true},
    {"requires_grad", ParamType::Bool, false, true, true},
};
const Signature frombuffer_signature[] = {
    {"(object buffer, *, torch.dtype dtype, int count = -1, int offset = 0, bool requires_grad = "
     "False)",
     frombuffer_params, 5}};

PyObject* frombuffer(PyObject*, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames) {
  Args args;
  if (parse("frombuffer", frombuffer_signature, 1, nullptr, argv, nargs, kwnames, args) < 0)
    return nullptr;
  return guarded([&] {
    const DType dtype = args.dtype(1);
    // The memoryview holds the buffer as long as the tensor lives.
    TAEDA_CHECK_VALUE(PyObject_CheckBuffer(args.object(0)),
                      "object does not implement Python buffer protocol: got ",
                      Py_TYPE(args.object(0))->tp_name);
    Ref view(checked(PyMemoryView_FromObject(args.object(0))));
    const Py_buffer* buffer = PyMemoryView_GET_BUFFER(view.get());
    if (buffer->readonly) warn_read_only("buffer");
    const int64_t size = item_size(dtype), offset = args.integer(3, 0);
    TAEDA_CHECK_VALUE(buffer->len > 0 && args.integer(2, -1) != 0, "both buffer length (",
                      static_cast<int64_t>(buffer->len), ") and count (", args.integer(2, -1),
                      ") must not be 0");
    TAEDA_CHECK_VALUE(offset >= 0 && offset < buffer->len, "offset (", offset,
                      " bytes) must be non-negative and no greater than buffer length (",
                      static_cast<int64_t>(buffer->len), " bytes) minus 1");
    int64_t count = args.integer(2, -1);
    if (count < 0) {
      TAEDA_CHECK_VALUE((buffer->len - offset) % size == 0, "buffer length (",
                        static_cast<int64_t>(buffer->len - offset), " bytes) after offset (",
                        offset, " bytes) must be a multiple of element size (", size, ")");
      count = (buffer->len - offset) / size;
    }
    TAEDA_CHECK_VALUE(offset + count * size <= buffer->len, "requested buffer length (", count,
                      " * ", size, " bytes) after offset (", offset,
                      " bytes) must not be greater than actual buffer length (",
                      static_cast<int64_t>(buffer->len), " bytes)");
    Tensor t =
        over_memory(static_cast<char*>(buffer->buf) + offset, {count}, {1}, dtype, std::move(view));
    if (args.boolean(4)) autograd::set_requires_grad(t, true);
    return wrap(t);
  });
}

}  // namespace

PyMethodDef interop_table[] = {
    {"from_numpy", from_numpy, METH_O,
     "from_numpy(ndarray) -> Tensor\n\n"
     "A tensor on the array's memory: writing to one changes the other.\n\n"
     "    >>> a = numpy.zeros(2)\n"
     "    >>> taeda.from_numpy(a).add_(1)\n"
     "    >>> a\n"
     "    array([1., 1.])"},
    {"frombuffer", as_function(frombuffer), METH_FASTCALL | METH_KEYWORDS,
     "frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False) -> Tensor\n\n"
     "A one-dimensional tensor on the memory of an object with the buffer protocol: `count` "
     "elements\n"
     "(all that fit for -1) from byte `offset` on."},
    {},
};

}  // namespace taeda::python
