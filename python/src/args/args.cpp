// Fits the arguments of a call to signatures.
#include "python/src/args/args.h"

#include <cstring>

#include "python/interop/numbers.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/types.h"
#include "python/src/args/arg_match.h"
#include "python/src/dispatch/overrides.h"

namespace taeda::python {

namespace {

bool is_zero_dim(PyObject* o) {
  return is_tensor(o) && tensor_of(o).dim() == 0 && !tensor_of(o).impl()->requires_grad_flag();
}
// Sizes are integers or NumPy's, whose arrays of no dimension have a shape too.
bool is_integer_or_numpy(PyObject* o) {
  return is_integer(o) || numpy_scalar_kind(o) == NumpyKind::Int;
}
// In a list of sizes tensors of one element count, whatever their dimensions.
bool is_in_size_list(PyObject* o) {
  return is_one_integer(o) || numpy_scalar_kind(o) == NumpyKind::Int;
}

bool is_float(PyObject* o) {
  if (PyFloat_Check(o) || PyLong_Check(o)) return true;
  const NumpyKind kind = numpy_scalar_kind(o);
  return kind == NumpyKind::Float || kind == NumpyKind::Int || is_zero_dim(o) || is_symint(o) ||
         is_symfloat(o);
}

template <class F>
bool is_list_of(PyObject* o, F&& is_element) {
  if (PyTuple_Check(o)) return PyTuple_GET_SIZE(o) == 0 || is_element(PyTuple_GET_ITEM(o, 0));
  if (PyList_Check(o)) return PyList_GET_SIZE(o) == 0 || is_element(PyList_GET_ITEM(o, 0));
  return false;
}

// Numbers in a list are no tensors: lists of those, also of tensors without dimensions, choose
// other overloads.
bool is_plain_float(PyObject* o) { return is_float(o) && !is_tensor(o); }

bool is_size(PyObject* o) { return is_in_size_list(o) || PyBool_Check(o); }

}  // namespace

bool accepts(const Param& param, PyObject* o) {
  if (param.type == ParamType::Tensor) {
    if (is_exact_tensor(o) || (param.allow_none && o == Py_None)) return true;
    if (param.accepts_number && is_number(o)) return true;
    return is_tensor(o);
  }
  if (o == Py_None) return param.allow_none || param.type == ParamType::PyObject;
  switch (param.type) {
    case ParamType::Int:
    case ParamType::SymInt: return is_integer_or_numpy(o);
    case ParamType::IntList:
    case ParamType::SymIntList:
      return is_list_of(o, is_size) || (param.list_size > 0 && is_in_size_list(o));
    case ParamType::Scalar: return is_number(o) || is_zero_dim(o);
    case ParamType::Float: return is_float(o);
    case ParamType::Bool:
      return PyBool_Check(o) || numpy_scalar_kind(o) == NumpyKind::Bool || is_symbool(o);
    case ParamType::Str: return PyUnicode_Check(o);
    case ParamType::TensorList:
    case ParamType::OptionalTensorList: return PyTuple_Check(o) || PyList_Check(o);
    case ParamType::FloatList:
      return is_list_of(o, is_plain_float) || (param.list_size > 0 && is_float(o));
    case ParamType::BoolList:
      return is_list_of(o, [](PyObject* e) { return PyBool_Check(e) != 0; });
    case ParamType::DType: return is_dtype(o);
    case ParamType::Device: return is_device(o);
    case ParamType::Layout: return is_layout(o);
    case ParamType::MemoryFormat: return is_memory_format(o);
    case ParamType::Generator: return is_generator(o);
    default: return true;
  }
}

const char* shown_name(const Param& param) {
  return std::strcmp(param.name, "self") == 0 ? "input" : param.name;
}

bool is_name_of(const Param& param, std::string_view name) {
  const char* own = shown_name(param);
  if (own[0] == name[0] && name == own) return true;
  switch (name[0]) {
    case 'a':
      return (name == "axis" && !std::strcmp(own, "dim")) ||
             (name == "a" && !std::strcmp(own, "input"));
    case 'k': return name == "keepdims" && !std::strcmp(own, "keepdim");
    case 'x':
      if (name == "x2") return !std::strcmp(own, "other");
      return (name == "x" || name == "x1") && !std::strcmp(own, "input");
    default: return false;
  }
}

std::string_view keyword(PyObject* kwnames, Py_ssize_t i) {
  PyObject* name = PyTuple_GET_ITEM(kwnames, i);
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(name, &size);
  if (!text) PyErr_Clear();
  // Never empty, so that the first character can be looked at.
  return text && size ? std::string_view(text, static_cast<size_t>(size)) : std::string_view("?");
}

class Matcher {
 public:
  static int parse(const Call& call, const Signature* signatures, int count, PyObject* owner,
                   Args& out) {
    out.function_ = call.function;
    out.owner_ = owner;
    for (int i = 0; i < count; ++i) {
      out.varargs_at_ = -1;
      out.has_override_ = false;
      if (!match(call, signatures[i], out)) continue;
      out.signature_ = &signatures[i];
      if (__builtin_expect(out.has_override_ || num_function_modes, 0) && owner &&
          (out.has_override_ || is_function_mode_active())) {
        out.override_ = call_override_of(call, out);
        return -1;
      }
      if (__builtin_expect(signatures[i].is_deprecated, 0) && !warn_deprecated(call, signatures, i))
        return -1;
      return i;
    }
    set_no_match_error(call, signatures, count);
    return -1;
  }

 private:
  static bool match(const Call& call, const Signature& signature, Args& out) {
    const Param* params = signature.params;
    PyObject** values = out.values_;
    int i = 0;
    if (call.self) {
      values[i++] = call.self;
      out.has_override_ = overrides(call.self);
    }
    const int first = i;
    Py_ssize_t used = 0;
    for (; used < call.nargs && i < signature.count; ++used, ++i) {
      if (params[i].is_kw_only) return false;
      PyObject* o = call.args[used];
      values[i] = o;
      const bool can_be_first = params[i].list_size == kVarargs;
      if (takes(params[i], o, out, can_be_first)) continue;
      if (!can_be_first || !(is_in_size_list(o) || note_override(o, out))) return false;
      for (Py_ssize_t k = used + 1; k < call.nargs; ++k)
        if (!PyLong_CheckExact(call.args[k])) note_override(call.args[k], out);
      out.varargs_ = call.args + used;
      out.varargs_count_ = call.nargs - used;
      out.varargs_at_ = i++;
      used = call.nargs;
      break;
    }
    if (used < call.nargs) return false;
    for (int j = i; j < signature.count; ++j) values[j] = nullptr;
    if (call.kwnames && !match_keywords(call, signature, first, out)) return false;
    for (; i < signature.count; ++i)
      if (!values[i] && !params[i].has_default) return false;
    return true;
  }

  // Whether an argument fits, by itself or by an override, which is noted. An argument that may
  // begin a run of integers is left to the caller.
  static bool takes(const Param& param, PyObject* o, Args& out, bool can_be_first = false) {
    if (param.type == ParamType::Tensor && is_exact_tensor(o)) return true;
    const bool fits = accepts(param, o);
    if (is_size_list(param.type)) {
      if (note_size_overrides(o, out) || fits) return true;
      return !can_be_first && note_override(o, out);
    }
    if (fits && param.type > ParamType::OptionalTensorList) return true;
    return takes_unusual(param, o, fits, out);
  }
  static bool is_size_list(ParamType type) {
    return type == ParamType::IntList || type == ParamType::SymIntList;
  }
  // While a program is traced, sizes may hold objects that stand for numbers.
  static bool note_size_overrides(PyObject* o, Args& out) {
    if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
    bool any = false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(o, i);
      if (!PyLong_CheckExact(item)) any |= note_override(item, out);
    }
    return any;
  }
  // Whether an argument of a less usual kind is taken: a number or a subclass for a tensor, a list
  // of tensors, or an object that does not fit by itself.
  [[gnu::noinline]] static bool takes_unusual(const Param& param, PyObject* o, bool fits,
                                              Args& out) {
    if (!fits || param.type == ParamType::Tensor) return note_override(o, out) || fits;
    note_item_overrides(o, out);
    return true;
  }
  [[gnu::noinline]] static bool note_override(PyObject* o, Args& out) {
    if (!out.owner_ || !overrides(o)) return false;
    return out.has_override_ = true;
  }
  static void note_item_overrides(PyObject* list, Args& out) {
    if (list == Py_None) return;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i)
      note_override(PySequence_Fast_GET_ITEM(list, i), out);
  }

  static bool match_keywords(const Call& call, const Signature& signature, int first, Args& out) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(call.kwnames); ++k) {
      const std::string_view name = keyword(call.kwnames, k);
      int i = first;
      while (i < signature.count && !is_name_of(signature.params[i], name)) ++i;
      PyObject* o = call.args[call.nargs + k];
      if (i == signature.count || out.values_[i] || !takes(signature.params[i], o, out))
        return false;
      out.values_[i] = o;
    }
    return true;
  }

  static PyObject* call_override_of(const Call& call, const Args& out) {
    Overloaded overloaded;
    for (int i = 0; i < out.signature_->count; ++i) {
      PyObject* o = out.values_[i];
      if (!o) continue;
      const ParamType type = out.signature_->params[i].type;
      if (i == out.varargs_at_)
        for (Py_ssize_t k = 0; k < out.varargs_count_; ++k)
          overloaded.add_if_overrides(out.varargs_[k]);
      else if (type == ParamType::TensorList || type == ParamType::OptionalTensorList ||
               (is_size_list(type) && (PyTuple_Check(o) || PyList_Check(o))))
        overloaded.add_items(o);
      else
        overloaded.add_if_overrides(o);
    }
    Ref args, kwargs;
    if (!pack_call(call.self, call.args, call.nargs, call.kwnames, args, kwargs)) return nullptr;
    return call_override({out.owner_, call.function}, overloaded, args.get(), kwargs.get());
  }
};

int parse(const char* function_name, const Signature* signatures, int count, PyObject* self,
          PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Args& out) {
  return Matcher::parse({function_name, self, args, nargs, kwnames}, signatures, count, nullptr,
                        out);
}
int parse_function(const char* name, const Signature* signatures, int count, PyObject* module,
                   PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Args& out) {
  return Matcher::parse({name, nullptr, args, nargs, kwnames}, signatures, count, module, out);
}
int parse_method(const char* name, const Signature* signatures, int count, PyObject* self,
                 PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, Args& out) {
  return Matcher::parse({name, self, args, nargs, kwnames}, signatures, count,
                        reinterpret_cast<PyObject*>(tensor_type), out);
}

}  // namespace taeda::python
