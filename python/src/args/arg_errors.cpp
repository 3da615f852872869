// TypeErrors for calls that fit no signature, in PyTorch's words.
#include <algorithm>
#include <cstring>
#include <string>

#include "python/interop/numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/types.h"
#include "python/src/args/arg_match.h"
#include "python/src/dispatch/overrides.h"
#include "taeda/base/log.h"

namespace taeda::python {

const char* shown_type(ParamType type) {
  switch (type) {
    case ParamType::Tensor: return "Tensor";
    case ParamType::TensorList:
    case ParamType::OptionalTensorList: return "tuple of Tensors";
    case ParamType::Scalar: return "Number";
    case ParamType::Int:
    case ParamType::SymInt: return "int";
    case ParamType::Float: return "float";
    case ParamType::Bool: return "bool";
    case ParamType::Str: return "str";
    case ParamType::IntList:
    case ParamType::SymIntList: return "tuple of ints";
    case ParamType::FloatList: return "tuple of floats";
    case ParamType::BoolList: return "tuple of bools";
    case ParamType::DType: return "torch.dtype";
    case ParamType::Device: return "torch.device";
    case ParamType::Layout: return "torch.layout";
    case ParamType::MemoryFormat: return "torch.memory_format";
    case ParamType::Generator: return "torch.Generator";
    default: return "object";
  }
}

std::string shown_class(PyObject* o) {
  const char* name = Py_TYPE(o)->tp_name;
  if (is_tensor(o)) {
    const char* dot = std::strrchr(name, '.');
    return dot ? dot + 1 : name;
  }
  if (std::strncmp(name, "taeda.", 6) == 0) return std::string("torch.") + (name + 6);
  return name;
}

namespace {

// The signature as a method prints it: without its first parameter.
std::string shown_signature(const Signature& signature, bool is_method) {
  std::string text = signature.text;
  if (!is_method) return text;
  const size_t comma = text.find(", ");
  return comma == std::string::npos ? "()" : "(" + text.substr(comma + 2);
}

struct Arity {
  int min_args = 0, max_positional = 0, max_args = 0;
};

Arity arity_of(const Signature& signature, int first) {
  Arity a;
  for (int i = first; i < signature.count; ++i) {
    const Param& p = signature.params[i];
    a.min_args += !p.has_default;
    a.max_positional += !p.is_kw_only;
    a.max_args += 1;
  }
  return a;
}

bool has_varargs(const Signature& signature) {
  for (int i = 0; i < signature.count; ++i)
    if (signature.params[i].list_size == kVarargs) return true;
  return false;
}

std::string type_error(const Call& call, const Param& p, Py_ssize_t position, PyObject* o) {
  std::string text = str(call.function, "(): argument '", shown_name(p), "'");
  if (position > 0) text += str(" (position ", static_cast<int64_t>(position), ")");
  return text + str(" must be ", shown_type(p.type), ", not ", shown_class(o));
}

std::string too_many_error(const Call& call, const Arity& arity, int num_given) {
  std::string text = str(call.function, "() takes ");
  if (arity.min_args < arity.max_positional)
    text += str("from ", arity.min_args, " to ", arity.max_positional, " positional arguments");
  else
    text += str(arity.max_positional, " positional argument", arity.max_positional == 1 ? "" : "s");
  return text + str(" but ", num_given, num_given == 1 ? " was given" : " were given");
}

// Follows the steps of the match and reports the first that fails.
std::string explain(const Call& call, const Signature& signature) {
  const int first = call.self ? 1 : 0;
  const Arity arity = arity_of(signature, first);
  const int nargs = static_cast<int>(call.nargs);
  if (nargs > arity.max_positional && !has_varargs(signature))
    return too_many_error(call, arity, nargs);
  std::string missing;
  int num_missing = 0;
  bool in_varargs = false;
  for (int i = first; i < signature.count; ++i) {
    const Param& p = signature.params[i];
    PyObject* value =
        i - first < nargs && !p.is_kw_only && !in_varargs ? call.args[i - first] : nullptr;
    const Py_ssize_t position = value ? i - first + 1 : 0;
    for (Py_ssize_t k = 0; k < call.num_keywords() && !value; ++k)
      if (is_name_of(p, keyword(call.kwnames, k))) value = call.args[call.nargs + k];
    if (!value) {
      if (p.has_default) continue;
      missing += str(num_missing++ ? ", " : "", "\"", shown_name(p), "\"");
    } else if (!num_missing && !accepts(p, value) && !overrides(value)) {
      in_varargs = p.list_size == kVarargs && is_integer(value);
      if (!in_varargs) return type_error(call, p, position, value);
    }
  }
  // PyTorch's plural is the wrong way round; programs match on its text.
  if (num_missing)
    return str(call.function, "() missing ", num_missing, " required positional argument",
               num_missing == 1 ? "s" : "", ": ", missing);
  for (Py_ssize_t k = 0; k < call.num_keywords(); ++k) {
    const std::string_view name = keyword(call.kwnames, k);
    int i = first;
    while (i < signature.count && !is_name_of(signature.params[i], name)) ++i;
    if (i == signature.count)
      return str(call.function, "() got an unexpected keyword argument '", name, "'");
    if (i - first < nargs)
      return str(call.function, "() got multiple values for argument '", name, "'");
  }
  return str(call.function, "() received an invalid combination of arguments");
}

std::string shown_arguments(const Call& call) {
  std::string text = "(";
  for (Py_ssize_t i = 0; i < call.nargs; ++i) text += str(i ? ", " : "", shown_class(call.args[i]));
  for (Py_ssize_t k = 0; k < call.num_keywords(); ++k) {
    if (call.nargs) text += ", ";
    text += str(keyword(call.kwnames, k), "=", shown_class(call.args[call.nargs + k]));
    if (!call.nargs) text += ", ";
  }
  return text + ")";
}

// "(Tensor, !str!)": the arguments' types, those in ! that a signature of the same length does not
// accept; empty where the call does not have the form of the signature.
std::string marked_arguments(const Call& call, const Signature& signature) {
  const int first = call.self ? 1 : 0;
  // PyTorch counts the star that opens the keyword-only parameters as a parameter.
  int expected = std::max(signature.count - first, 1);
  if (signature.count > first && signature.params[signature.count - 1].is_kw_only) ++expected;
  if (call.num_keywords() || call.nargs != expected) return "";
  std::string text = "(";
  for (Py_ssize_t i = 0; i < call.nargs; ++i) {
    const Py_ssize_t at = i + first;
    const bool fits = at < signature.count &&
                      (accepts(signature.params[at], call.args[i]) || overrides(call.args[i]));
    const std::string name = shown_class(call.args[i]);
    text += str(i ? ", " : "", fits ? name : str("!", name, "!"));
  }
  return text + ")";
}

}  // namespace

bool warn_deprecated(const Call& call, const Signature* signatures, int chosen) {
  static bool is_told = false;
  if (is_told && !is_warn_always_enabled()) return true;
  is_told = true;
  const auto shown = [&](const Signature& s) {
    return str("\n\t", call.function, shown_signature(s, call.self));
  };
  std::string message =
      str("This overload of ", call.function, " is deprecated:", shown(signatures[chosen]),
          "\nConsider using one of the following signatures instead:");
  for (int i = 0; !signatures[i].is_deprecated; ++i) message += shown(signatures[i]);
  return PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 1) == 0;
}

void set_no_match_error(const Call& call, const Signature* signatures, int count) {
  while (signatures[count - 1].is_deprecated) --count;
  const int num_given = static_cast<int>(call.nargs + call.num_keywords());
  const Signature* plausible = nullptr;
  int num_plausible = 0;
  for (int i = 0; i < count; ++i) {
    const Arity arity = arity_of(signatures[i], call.self ? 1 : 0);
    if (num_given < arity.min_args || (num_given > arity.max_args && !has_varargs(signatures[i])))
      continue;
    plausible = &signatures[i];
    ++num_plausible;
  }
  std::string message;
  if (count == 1 || num_plausible == 1) {
    message = explain(call, count == 1 ? signatures[0] : *plausible);
  } else {
    message = str(call.function, "() received an invalid combination of arguments - got ",
                  shown_arguments(call), ", but expected one of:\n");
    for (int i = 0; i < count; ++i) {
      message += str(" * ", shown_signature(signatures[i], call.self), "\n");
      const std::string marked = marked_arguments(call, signatures[i]);
      if (!marked.empty())
        message += str(
            "      didn't match because some of the arguments have invalid types: ", marked, "\n");
    }
  }
  PyErr_SetString(PyExc_TypeError, message.c_str());
}

}  // namespace taeda::python
