// Reads the arguments of METH_FASTCALL | METH_KEYWORDS functions against PyTorch-style signatures.
//
//   static const Param params[] = {tensor_param("self"), number_or_tensor_param("other"), ...};
//   static const Signature signatures[] = {{"(Tensor input, Tensor other, *, Number alpha = 1)",
//   params, 3}}; Args args; switch (parse("add", signatures, 1, self, argv, nargs, kwnames, args))
//   {
//     case 0: return guarded([&] { return wrap(taeda::add(args.tensor(0), args.tensor(1),
//     args.scalar(2, 1))); }); default: return nullptr;
//   }
//
// Parsing allocates nothing; getters convert when they are called and throw, so they stand inside
// `guarded`. All of it needs the GIL.
#pragma once

#include "python/interop/python.h"

#include <optional>
#include <string_view>
#include <vector>

#include "taeda/core/tensor.h"

namespace taeda::python {

enum class ParamType : uint8_t {
  Tensor,
  TensorList,
  OptionalTensorList,  // None stands for an undefined tensor
  Scalar,
  Int,
  SymInt,
  Float,
  Bool,
  Str,
  IntList,
  SymIntList,
  FloatList,
  BoolList,
  DType,
  Device,
  Layout,
  MemoryFormat,
  Generator,
  PyObject,
};

// Param::list_size of a list that takes the remaining positional integers: view(2, 3), permute(0,
// 1).
inline constexpr int16_t kVarargs = -2;

struct Param {
  // As in the schema. "self" reads and prints as "input" in functions; `axis`, `keepdims`, `x`,
  // `a`, `x1` and `x2` are accepted for dim, keepdim, input and other.
  const char* name;
  ParamType type;
  bool allow_none = false;
  bool is_kw_only = false;
  bool has_default = false;
  bool accepts_number = false;  // Tensor: a Python number becomes a wrapped scalar
  int16_t list_size = -1;       // > 0: one number stands for a list of that many; kVarargs; else -1
};

struct Signature {
  // As errors print it, in the form of a function; methods drop the first parameter.
  const char* text;
  const Param* params;
  int count;
  // An older form: taken with a warning, and left out of errors. Such ones come last.
  bool is_deprecated = false;
};

using FloatVec = SmallVector<double, 4>;
using BoolVec = SmallVector<bool, 8>;

// The arguments of one call, one per parameter: borrowed references, valid while the caller holds
// them.
class Args {
 public:
  static constexpr int kMaxParams = 32;

  // Given, and not None.
  bool has(int i) const { return values_[i] != nullptr && values_[i] != Py_None; }
  // Given, perhaps as None.
  bool is_given(int i) const { return values_[i] != nullptr; }

  // The tensor in place (no reference counting); undefined when absent. Numbers become wrapped
  // scalars that live as long as this object.
  Tensor& tensor(int i);
  std::optional<Tensor> opt_tensor(int i);
  // None entries are undefined tensors.
  std::vector<Tensor> tensors(int i) const;
  std::optional<std::vector<Tensor>> opt_tensors(int i) const;

  Scalar scalar(int i, const Scalar& fallback = Scalar()) const;
  std::optional<Scalar> opt_scalar(int i) const;
  int64_t integer(int i, int64_t fallback = 0) const;
  std::optional<int64_t> opt_integer(int i) const;
  SymInt symint(int i, SymInt fallback = 0) const;
  std::optional<SymInt> opt_symint(int i) const;
  double number(int i, double fallback = 0) const;
  std::optional<double> opt_number(int i) const;
  bool boolean(int i, bool fallback = false) const;
  std::optional<bool> opt_boolean(int i) const;
  // Views into the Python string.
  std::string_view string(int i, std::string_view fallback = {}) const;
  std::optional<std::string_view> opt_string(int i) const;

  IntVec ints(int i, IntList fallback = {}) const;
  std::optional<IntVec> opt_ints(int i) const;
  SymIntVec symints(int i, IntList fallback = {}) const;
  std::optional<SymIntVec> opt_symints(int i) const;
  FloatVec numbers(int i, Span<double> fallback = {}) const;
  std::optional<FloatVec> opt_numbers(int i) const;
  BoolVec booleans(int i, Span<bool> fallback = {}) const;
  std::optional<BoolVec> opt_booleans(int i) const;

  DType dtype(int i, DType fallback = DType::Undefined) const;
  std::optional<DType> opt_dtype(int i) const;
  Device device(int i, Device fallback = Device()) const;
  std::optional<Device> opt_device(int i) const;
  Layout layout(int i, Layout fallback = Layout::Strided) const;
  std::optional<Layout> opt_layout(int i) const;
  MemoryFormat memory_format(int i, MemoryFormat fallback = MemoryFormat::Contiguous) const;
  std::optional<MemoryFormat> opt_memory_format(int i) const;
  // Undefined when absent.
  Generator generator(int i) const;
  // Borrowed; null when absent.
  PyObject* object(int i) const { return values_[i]; }

  // The result of a binding whose arguments fit no signature: the answer of an override (a new
  // reference), or null with the error pending.
  PyObject* overridden() const { return override_; }

 private:
  friend class Matcher;
  template <class Vec, class Read>
  Vec read_list(int i, const char* kind, Read&& read) const;

  PyObject* values_[kMaxParams];
  // The module or class that holds the function; null where calls cannot be overridden.
  PyObject* owner_ = nullptr;
  PyObject* override_ = nullptr;
  bool has_override_ = false;
  const char* function_ = nullptr;
  const Signature* signature_ = nullptr;
  // The run of positional arguments that form the list of parameter `varargs_at_`.
  PyObject* const* varargs_ = nullptr;
  Py_ssize_t varargs_count_ = 0;
  int varargs_at_ = -1;
  // Tensors that no Python object holds: wrapped numbers and undefined ones.
  static constexpr int kMaxOwned = 6;
  int num_owned_ = 0;
  int8_t owned_by_[kMaxOwned];
  Tensor owned_[kMaxOwned];
};

// Tries the signatures in order and fills `out` for the first that fits; returns its index. When
// none fits, sets a TypeError with PyTorch's message and returns -1. `self` is null for functions;
// for methods it becomes parameter 0.
int parse(const char* function_name, const Signature* signatures, int count, PyObject* self,
          PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Args& out);
// The same for a function of `module` and a method of Tensor that can be overridden (overrides.h):
// arguments whose classes override fit every parameter, and the call goes to them or to a mode.
// Then the result is -1 as after an error, and the binding returns `out.overridden()`.
int parse_function(const char* name, const Signature* signatures, int count, PyObject* module,
                   PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Args& out);
int parse_method(const char* name, const Signature* signatures, int count, PyObject* self,
                 PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Args& out);

// std::optional<SymIntVec> and its like as the optional span that operators take; `v` must outlive
// it.
template <class T, size_t N>
std::optional<Span<T>> optional_span(const std::optional<SmallVector<T, N>>& v) {
  return v ? std::optional<Span<T>>(Span<T>(v->data(), v->size())) : std::nullopt;
}
template <class T>
std::optional<Span<T>> optional_span(const std::optional<std::vector<T>>& v) {
  return v ? std::optional<Span<T>>(Span<T>(*v)) : std::nullopt;
}

}  // namespace taeda::python
