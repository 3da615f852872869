// Conversion of arguments to C++ values: the getters of Args.
#include <string>

#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/types.h"
#include "python/src/args/arg_match.h"
#include "python/src/args/args.h"
#include "taeda/core/constant_sym_node.h"

namespace taeda::python {

namespace {

bool to_bool(PyObject* o) {
  if (PyBool_Check(o)) return o == Py_True;
  const int truth = PyObject_IsTrue(o);
  if (truth < 0) throw_python_error();
  return truth == 1;
}

}  // namespace

Tensor& Args::tensor(int i) {
  PyObject* o = values_[i];
  if (__builtin_expect(o != nullptr && is_exact_tensor(o), 1)) return tensor_of(o);
  if (o && o != Py_None && is_tensor(o)) return tensor_of(o);
  for (int k = 0; k < num_owned_; ++k)
    if (owned_by_[k] == i) return owned_[k];
  TAEDA_INTERNAL_CHECK(num_owned_ < kMaxOwned, "too many tensor parameters without a tensor");
  owned_by_[num_owned_] = static_cast<int8_t>(i);
  Tensor& t = owned_[num_owned_++];
  if (has(i)) t = wrapped_scalar(to_scalar(o));
  return t;
}

std::optional<Tensor> Args::opt_tensor(int i) {
  if (!has(i)) return std::nullopt;
  return tensor(i);
}

std::vector<Tensor> Args::tensors(int i) const {
  std::vector<Tensor> out;
  if (!has(i)) return out;
  PyObject* list = values_[i];
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
  out.reserve(static_cast<size_t>(n));
  const bool allows_none = signature_->params[i].type == ParamType::OptionalTensorList;
  for (Py_ssize_t k = 0; k < n; ++k) {
    PyObject* o = PySequence_Fast_GET_ITEM(list, k);
    if (allows_none && o == Py_None) {
      out.emplace_back();
      continue;
    }
    TAEDA_CHECK_TYPE(is_tensor(o), "expected Tensor as element ", static_cast<int64_t>(k),
                     " in argument ", i, ", but got ", shown_class(o));
    out.push_back(tensor_of(o));
  }
  return out;
}

std::optional<std::vector<Tensor>> Args::opt_tensors(int i) const {
  if (!has(i)) return std::nullopt;
  return tensors(i);
}

namespace {

template <class T>
bool is_element(PyObject* o) {
  if constexpr (std::is_same_v<T, double>)
    return is_number(o) || is_tensor(o);
  else if constexpr (std::is_same_v<T, bool>)
    return PyBool_Check(o) || numpy_scalar_kind(o) == NumpyKind::Bool;
  else
    return PyLong_Check(o) || is_one_integer(o) || numpy_scalar_kind(o) == NumpyKind::Int;
}

}  // namespace

template <class Vec, class Read>
Vec Args::read_list(int i, const char* kind, Read&& read) const {
  using T = typename Vec::value_type;
  Vec out;
  const auto add = [&](PyObject* o, Py_ssize_t at) {
    if (!is_element<T>(o))
      fail(ErrorKind::Type, function_, "(): argument '", shown_name(signature_->params[i]),
           "' failed to unpack the object at pos ", static_cast<int64_t>(at + 1),
           " with error \"type must be ", kind, ",but got ", shown_class(o), "\"");
    if (PyLong_Check(o)) {
      int overflow = 0;
      PyLong_AsLongLongAndOverflow(o, &overflow);
      if (overflow)
        fail(ErrorKind::Type, function_, "(): argument '", shown_name(signature_->params[i]),
             "' failed to unpack the object at pos ", static_cast<int64_t>(at + 1),
             " with error \"Overflow when unpacking long long\"");
    }
    out.push_back(read(o));
  };
  if (i == varargs_at_) {
    for (Py_ssize_t k = 0; k < varargs_count_; ++k) add(varargs_[k], k);
    return out;
  }
  PyObject* o = values_[i];
  if (PyTuple_Check(o) || PyList_Check(o)) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    out.reserve(static_cast<size_t>(n));
    for (Py_ssize_t k = 0; k < n && k < PySequence_Fast_GET_SIZE(o); ++k)
      add(PySequence_Fast_GET_ITEM(o, k), k);
  } else {
    const auto v = read(o);
    for (int k = 0; k < signature_->params[i].list_size; ++k) out.push_back(v);
  }
  return out;
}

IntVec Args::ints(int i, IntList fallback) const {
  if (!has(i)) return IntVec(fallback);
  return read_list<IntVec>(i, "tuple of ints", to_int64);
}
SymIntVec Args::symints(int i, IntList fallback) const {
  if (!has(i)) return SymIntVec(as_symint(fallback));
  return read_list<SymIntVec>(i, "tuple of ints", to_symint);
}
FloatVec Args::numbers(int i, Span<double> fallback) const {
  if (!has(i)) return FloatVec(fallback);
  return read_list<FloatVec>(i, "tuple of floats", to_double);
}
BoolVec Args::booleans(int i, Span<bool> fallback) const {
  if (!has(i)) return BoolVec(fallback);
  return read_list<BoolVec>(i, "tuple of bools", to_bool);
}
std::optional<IntVec> Args::opt_ints(int i) const {
  return has(i) ? std::optional(ints(i)) : std::nullopt;
}
std::optional<SymIntVec> Args::opt_symints(int i) const {
  return has(i) ? std::optional(symints(i)) : std::nullopt;
}
std::optional<FloatVec> Args::opt_numbers(int i) const {
  return has(i) ? std::optional(numbers(i)) : std::nullopt;
}
std::optional<BoolVec> Args::opt_booleans(int i) const {
  return has(i) ? std::optional(booleans(i)) : std::nullopt;
}

Scalar Args::scalar(int i, const Scalar& fallback) const {
  return has(i) ? to_scalar(values_[i]) : fallback;
}
std::optional<Scalar> Args::opt_scalar(int i) const {
  return has(i) ? std::optional(to_scalar(values_[i])) : std::nullopt;
}
int64_t Args::integer(int i, int64_t fallback) const {
  return has(i) ? to_int64(values_[i]) : fallback;
}
std::optional<int64_t> Args::opt_integer(int i) const {
  return has(i) ? std::optional(to_int64(values_[i])) : std::nullopt;
}
namespace {

// Numbers, unlike sizes, may be any int64.
SymInt to_any_symint(PyObject* o) {
  return PyLong_CheckExact(o) ? ConstantSymNode::as_symint(to_int64(o)) : to_symint(o);
}

}  // namespace

SymInt Args::symint(int i, SymInt fallback) const {
  return has(i) ? to_any_symint(values_[i]) : fallback;
}
std::optional<SymInt> Args::opt_symint(int i) const {
  return has(i) ? std::optional(to_any_symint(values_[i])) : std::nullopt;
}
double Args::number(int i, double fallback) const {
  return has(i) ? to_double(values_[i]) : fallback;
}
std::optional<double> Args::opt_number(int i) const {
  return has(i) ? std::optional(to_double(values_[i])) : std::nullopt;
}
bool Args::boolean(int i, bool fallback) const { return has(i) ? to_bool(values_[i]) : fallback; }
std::optional<bool> Args::opt_boolean(int i) const {
  return has(i) ? std::optional(to_bool(values_[i])) : std::nullopt;
}
std::string_view Args::string(int i, std::string_view fallback) const {
  if (!has(i)) return fallback;
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(values_[i], &size);
  if (!text) throw_python_error();
  return {text, static_cast<size_t>(size)};
}
std::optional<std::string_view> Args::opt_string(int i) const {
  return has(i) ? std::optional(string(i)) : std::nullopt;
}

DType Args::dtype(int i, DType fallback) const { return has(i) ? to_dtype(values_[i]) : fallback; }
std::optional<DType> Args::opt_dtype(int i) const {
  return has(i) ? std::optional(to_dtype(values_[i])) : std::nullopt;
}
Device Args::device(int i, Device fallback) const {
  return has(i) ? to_device(values_[i]) : fallback;
}
std::optional<Device> Args::opt_device(int i) const {
  return has(i) ? std::optional(to_device(values_[i])) : std::nullopt;
}
Layout Args::layout(int i, Layout fallback) const {
  return has(i) ? to_layout(values_[i]) : fallback;
}
std::optional<Layout> Args::opt_layout(int i) const {
  return has(i) ? std::optional(to_layout(values_[i])) : std::nullopt;
}
MemoryFormat Args::memory_format(int i, MemoryFormat fallback) const {
  return has(i) ? to_memory_format(values_[i]) : fallback;
}
std::optional<MemoryFormat> Args::opt_memory_format(int i) const {
  return has(i) ? std::optional(to_memory_format(values_[i])) : std::nullopt;
}
Generator Args::generator(int i) const { return has(i) ? to_generator(values_[i]) : Generator(); }

}  // namespace taeda::python
