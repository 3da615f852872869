// Tensors from Python numbers and nested sequences, with PyTorch's dtype inference and errors.
#include <cstring>
#include <limits>

#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/tensor_values.h"
#include "python/src/args/arg_match.h"
#include "python/src/tensor/dlpack.h"
#include "python/src/tensor/factories.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/number_range.h"

namespace taeda::python {

namespace {

constexpr int64_t kMaxDims = 64;

bool is_text(PyObject* o) { return PyUnicode_Check(o) || PyBytes_Check(o); }
bool is_sequence(PyObject* o) {
  return PyList_Check(o) || PyTuple_Check(o) ||
         (PySequence_Check(o) && !is_tensor(o) && !PyDict_Check(o) &&
          numpy_scalar_kind(o) == NumpyKind::None && Py_TYPE(o)->tp_as_sequence &&
          Py_TYPE(o)->tp_as_sequence->sq_length && PyObject_Size(o) >= 0);
}

IntVec sizes_of(PyObject* data) {
  IntVec sizes;
  Ref current = Ref::share(data);
  while (is_sequence(current.get())) {
    // A character is again a string of one character, so the nesting would never end.
    if (is_text(current.get()) || static_cast<int64_t>(sizes.size()) >= kMaxDims)
      fail(ErrorKind::Value, "too many dimensions '", Py_TYPE(current.get())->tp_name, "'");
    const Py_ssize_t n = PySequence_Size(current.get());
    if (n < 0) throw_python_error();
    sizes.push_back(n);
    if (n == 0) break;
    current = Ref(checked(PySequence_GetItem(current.get(), 0)));
  }
  PyErr_Clear();
  return sizes;
}

DType dtype_of_numpy_scalar(PyObject* o) {
  const std::string_view name(Py_TYPE(o)->tp_name + 6);
  if (name.substr(0, 4) == "bool") return DType::Bool;
  for (int i = 0; i < kNumDTypes; ++i)
    if (dtype_name(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  if (name == "longlong") return DType::Int64;
  if (name == "ulonglong") return DType::UInt64;
  return DType::Double;
}

DType dtype_of_number(PyObject* o) {
  if (PyFloat_CheckExact(o)) return default_dtype();
  if (PyBool_Check(o)) return DType::Bool;
  if (PyLong_Check(o)) return DType::Int64;
  if (numpy_scalar_kind(o) != NumpyKind::None) return dtype_of_numpy_scalar(o);
  if (PyFloat_Check(o)) return default_dtype();
  if (PyComplex_Check(o)) return default_complex_dtype();
  if (is_tensor(o)) return tensor_of(o).dtype();
  TAEDA_CHECK_TYPE(!is_text(o), "new(): invalid data type '", Py_TYPE(o)->tp_name, "'");
  fail(ErrorKind::Runtime, "Could not infer dtype of ", Py_TYPE(o)->tp_name);
}

// Undefined for a sequence without elements.
DType infer_dtype(PyObject* o, int64_t depth = 0) {
  if (depth > kMaxDims || is_text(o) || !is_sequence(o)) return PyErr_Clear(), dtype_of_number(o);
  Ref fast(checked(PySequence_Fast(o, "not a sequence")));
  DType result = DType::Undefined;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i) {
    const DType t = infer_dtype(PySequence_Fast_GET_ITEM(fast.get(), i), depth + 1);
    result = result == DType::Undefined || t == DType::Undefined
                 ? (t == DType::Undefined ? result : t)
                 : promote_types(result, t);
    if (result == DType::ComplexDouble) break;
  }
  return result;
}

double integer_as_double(PyObject* o) {
  const double v = PyLong_AsDouble(o);
  if (v == -1.0 && PyErr_Occurred()) throw_python_error();
  return v;
}

// An integer must fit; negative ones wrap into unsigned types, within their range.
template <class T>
T read_integer(PyObject* o) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    const unsigned long long u = PyLong_AsUnsignedLongLong(o);
    if (PyErr_Occurred()) throw_python_error();
    return u;
  } else {
    const int64_t v = to_int64(o), largest = std::numeric_limits<T>::max();
    TAEDA_CHECK(sizeof(T) == 8 || (v <= largest && v >= -largest - 1),
                "value cannot be converted to type ", dtype_name(DTypeOf<T>::value),
                " without overflow");
    return static_cast<T>(v);
  }
}

// A floating point number is cut, if the integer it lies beside is one of the type.
template <class T>
T cut_to_integer(double v) {
  const bool fits = v >= static_cast<double>(std::numeric_limits<T>::min()) &&
                    v <= static_cast<double>(std::numeric_limits<T>::max()) && v < 0x1p63;
  TAEDA_CHECK(fits, "value cannot be converted to type ", dtype_name(DTypeOf<T>::value),
              " without overflow");
  return static_cast<T>(v);
}

// float8_e4m3fn has no infinity for numbers beyond its largest.
template <class T>
T stored(const Scalar& s) {
  if constexpr (std::is_same_v<T, Float8E4M3>)
    return rounded_to(s, DTypeOf<T>::value).template to<T>();
  return s.to<T>();
}

template <class T>
T read_element(PyObject* o) {
  constexpr bool is_integral = std::is_integral_v<T> && !std::is_same_v<T, bool>;
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    if (PyFloat_CheckExact(o)) return static_cast<T>(PyFloat_AS_DOUBLE(o));
  }
  if (PyLong_CheckExact(o)) {
    if constexpr (is_integral)
      return read_integer<T>(o);
    else if constexpr (std::is_same_v<T, bool>)
      return PyObject_IsTrue(o) == 1;
    else
      return stored<T>(Scalar(integer_as_double(o)));
  }
  TAEDA_CHECK_TYPE(!is_text(o), "new(): invalid data type '", Py_TYPE(o)->tp_name, "'");
  TAEDA_CHECK_TYPE(is_number(o) || is_tensor(o), "'", Py_TYPE(o)->tp_name,
                   "' object cannot be interpreted as an integer");
  const bool is_one = !is_tensor(o) || tensor_of(o).numel() == 1;
  TAEDA_CHECK_TYPE(is_one || !is_integral,
                   "only integer tensors of a single element can be converted to an index");
  TAEDA_CHECK_VALUE(is_one, "only one element tensors can be converted to Python scalars");
  const Scalar s = is_tensor(o) ? read_item(tensor_of(o)) : to_scalar(o);
  if constexpr (std::is_same_v<T, bool>) {
    if (s.is_complex()) return PyObject_IsTrue(o) == 1;
  }
  TAEDA_CHECK_TYPE(!s.is_complex() || is_complex(DTypeOf<T>::value),
                   "must be real number, not complex");
  if constexpr (is_integral) {
    if (s.is_floating()) return cut_to_integer<T>(s.to_double());
  }
  return stored<T>(s);
}

template <class T>
void fill(PyObject* data, IntList sizes, int64_t dim, T*& out) {
  if (dim == static_cast<int64_t>(sizes.size())) {
    *out++ = read_element<T>(data);
    return;
  }
  Ref fast(PySequence_Fast(data, "not a sequence"));
  if (!fast) throw_python_error();
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.get());
  TAEDA_CHECK_VALUE(n == sizes[dim], "expected sequence of length ", sizes[dim], " at dim ", dim,
                    " (got ", static_cast<int64_t>(n), ")");
  for (Py_ssize_t i = 0; i < n; ++i)
    fill(PySequence_Fast_GET_ITEM(fast.get(), i), sizes, dim + 1, out);
}

Tensor from_sequence(PyObject* data, DType dtype) {
  TAEDA_CHECK_TYPE(!is_text(data), "new(): invalid data type '", Py_TYPE(data)->tp_name, "'");
  const IntVec sizes = sizes_of(data);
  if (dtype == DType::Undefined) dtype = infer_dtype(data);
  if (dtype == DType::Undefined) dtype = default_dtype();
  Tensor t = make_tensor(sizes, dtype, Device());
  if (t.numel() == 0 && sizes.size() <= 1) return t;
  visit_dtype(dtype, [&](auto tag) {
    auto* out = static_cast<decltype(tag)*>(t.data());
    fill(data, sizes, 0, out);
  });
  return t;
}

// Memory of another library; undefined if the object has none. `is_shared`: the result is to be
// used as it is, not copied.
Tensor shared_memory(PyObject* data, bool is_shared) {
  if (PyList_CheckExact(data) || PyTuple_CheckExact(data) || is_number(data)) return Tensor();
  Tensor t = tensor_from_array_interface(data, is_shared);
  if (!t.defined() && PyObject_HasAttrString(data, "__dlpack__"))
    t = tensor_from_dlpack_object(data);
  return t;
}

Tensor moved(const Tensor& t, DType dtype, Device device) {
  if (t.dtype() == dtype && t.device() == device) return t;
  return taeda::to(t, device, dtype);
}

bool is_shareable(const Tensor& t, DType dtype, Device device) {
  return (dtype == DType::Undefined || dtype == t.dtype()) && device.type == t.device().type;
}

}  // namespace

Tensor tensor_from_data(PyObject* data, DType dtype, Device device) {
  const bool is_own = is_tensor(data);
  const Tensor source = is_own ? tensor_of(data) : shared_memory(data, false);
  autograd::NoGrad no_grad;
  if (source.defined()) {
    // Memory of another library is read as it is, whatever modes are active.
    const ExcludeKeys quiet(is_own ? KeySet() : KeySet(Key::Python) | KeySet(Key::TransformFront));
    Tensor plain = taeda::detach(source);
    const DType wanted = dtype == DType::Undefined ? source.dtype() : dtype;
    if (is_shareable(plain, dtype, device)) return taeda::clone(plain);
    return moved(plain, wanted, device);
  }
  Tensor t = from_sequence(data, dtype);
  return device.is_cpu() ? t : moved(t, t.dtype(), device);
}

Tensor tensor_sharing_data(PyObject* data, DType dtype, Device device) {
  const Tensor source = is_tensor(data) ? tensor_of(data) : lifted(shared_memory(data, true));
  if (!source.defined()) return tensor_from_data(data, dtype, device);
  if (is_shareable(source, dtype, device)) return source;
  return moved(source, dtype == DType::Undefined ? source.dtype() : dtype, device);
}

}  // namespace taeda::python
