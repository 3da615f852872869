// Conversion between Python objects and boxed values.
#include "python/src/dispatch/boxed_values.h"

#include <optional>
#include <unordered_map>

#include "python/interop/errors.h"
#include "python/interop/numbers.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/text.h"
#include "python/interop/types.h"
#include "python/interop/wrap.h"
#include "python/src/args/arg_match.h"
#include "python/src/dispatch/script_object.h"
#include "python/src/fx/fx_regions.h"
#include "python/src/tensor/storage_type.h"
#include "taeda/dispatch/custom_class.h"
#include "taeda/fx/regions.h"

namespace taeda::python {

using dispatch::Argument;
using dispatch::Stack;
using dispatch::TypeRef;
using dispatch::Value;

std::string shown_type(const TypeRef& type) {
  std::string_view base = type.base;
  const bool has_optional_items = base.ends_with('?');
  if (has_optional_items) base.remove_suffix(1);
  for (const std::string_view whole : {"SymInt", "ScalarType", "Layout", "MemoryFormat"})
    if (base == whole) base = "int";
  std::string out(base == "Scalar" ? "number" : base);
  if (base.ends_with("[]")) out = shown_type({type.base.substr(0, base.size() - 2), true});
  if (has_optional_items) out = "Optional[" + out + "]";
  if (type.is_list) out = "List[" + out + "]";
  return type.is_optional ? "Optional[" + out + "]" : out;
}

namespace {

// ---- to Python ----
template <class T>
PyObject* wrap_element(const T& v) {
  return wrap(v);
}
PyObject* wrap_element(const Value& v) { return wrap_value(v); }

template <class List>
PyObject* wrap_list(const List& values) {
  Ref list(checked(PyList_New(static_cast<Py_ssize_t>(values.size()))));
  Py_ssize_t i = 0;
  for (const auto& v : values) PyList_SET_ITEM(list.get(), i++, checked(wrap_element(v)));
  return list.release();
}

struct Wrapper {
  PyObject* operator()(std::monostate) const { return Py_NewRef(Py_None); }
  PyObject* operator()(const Complex<double>& v) const { return wrap(Scalar(v)); }
  PyObject* operator()(uint64_t v) const { return wrap(Scalar(v)); }
  PyObject* operator()(const Storage& v) const { return wrap_storage(v); }
  template <class T>
  PyObject* operator()(const std::vector<T>& v) const {
    return wrap_list(v);
  }
  PyObject* operator()(const std::shared_ptr<Value::List>& v) const { return wrap_list(*v); }
  PyObject* operator()(const IntrusivePtr<dispatch::Opaque>& v) const {
    if (dynamic_cast<dispatch::CustomClassHolder*>(v.get())) return wrap_script_object(v);
    if (const fx::RegionValue* region = fx::find_region(Value(v))) return wrap_region(*region);
    fail(ErrorKind::Type, "a value of another world has no Python form here: ", v->text());
  }
  template <class T>
  PyObject* operator()(const T& v) const {
    return wrap(v);
  }
};

PyObject* wrap_argument(const Value& v) {
  if (v.is<Tensor>()) {
    const Tensor& t = v.get<Tensor>();
    if (t.defined() && t.impl()->is_wrapped_number()) return checked(wrap(read_scalar(t)));
  }
  return wrap_value(v);
}

bool is_same(const Value& a, const Value& b) {
  return a.index() == b.index() && a.visit([&]<class T>(const T& v) {
    if constexpr (std::equality_comparable<T> && !std::is_same_v<T, Tensor> &&
                  !std::is_same_v<T, std::vector<Tensor>>)
      return v == b.get<T>();
    else
      return false;
  });
}

bool is_default(const CallSchema& schema, size_t i, const Value& v) {
  return schema.arguments[i].has_default && is_same(v, schema.defaults[i]);
}

// ---- from Python ----
// Each reads one object, or nothing when it does not fit.
std::optional<Value> read_tensor(PyObject* o) {
  if (is_tensor(o)) return Value(tensor_of(o));
  if (is_number(o)) return Value(wrapped_scalar(to_scalar(o)));
  return std::nullopt;
}
std::optional<Value> read_bool(PyObject* o) {
  if (!PyBool_Check(o) && numpy_scalar_kind(o) != NumpyKind::Bool && !is_symbool(o))
    return std::nullopt;
  const int truth = PyObject_IsTrue(o);
  if (truth < 0) throw_python_error();
  return Value(truth == 1);
}

std::optional<Value> read_value(const TypeRef& type, PyObject* o);

std::optional<Value> read_one(const std::string& base, PyObject* o) {
  const auto when = [](bool fits, auto&& read) {
    return fits ? std::optional<Value>(read()) : std::nullopt;
  };
  if (base == "Tensor") return read_tensor(o);
  if (base == "SymInt" && is_symint(o)) return Value(to_symint(o));
  if (base == "int" || base == "SymInt") {
    if (PyBool_Check(o)) return Value(int64_t{o == Py_True});
    return when(is_integer(o), [&] { return Value(to_int64(o)); });
  }
  if (base == "float")
    return when(is_number(o) || is_tensor(o), [&] { return Value(to_double(o)); });
  if (base == "Scalar")
    return when(is_number(o) || is_tensor(o), [&] { return Value(to_scalar(o)); });
  if (base == "bool") return read_bool(o);
  if (base == "str") return when(PyUnicode_Check(o), [&] { return Value(text_of(o)); });
  if (base == "ScalarType") return when(is_dtype(o), [&] { return Value(to_dtype(o)); });
  if (base == "Device") return when(is_device(o), [&] { return Value(to_device(o)); });
  if (base == "Layout") return when(is_layout(o), [&] { return Value(to_layout(o)); });
  if (base == "MemoryFormat")
    return when(is_memory_format(o), [&] { return Value(to_memory_format(o)); });
  if (base.starts_with("__torch__.")) return read_script_object(base, o);
  if (base == "Generator") return when(is_generator(o), [&] { return Value(to_generator(o)); });
  if (base == "Storage") return when(is_storage(o), [&] { return Value(storage_of(o)); });
  if (base.ends_with("[]")) return read_value({base.substr(0, base.size() - 2), true}, o);
  if (base == "Any") return read_any(o);
  if (base == "NoneType") return when(o == Py_None, [] { return Value(); });
  fail(ErrorKind::NotImplemented, "arguments of type ", base, " cannot be passed from Python");
}

template <class T, class Read>
std::optional<Value> read_elements(PyObject* list, Read&& read) {
  std::vector<T> out;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i) {
    std::optional<Value> v = read(PySequence_Fast_GET_ITEM(list, i));
    if (!v) return std::nullopt;
    out.push_back(v->is_none() ? T() : T(v->template get<T>()));
  }
  return Value(std::move(out));
}

bool has_symbolic_item(PyObject* list) {
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i)
    if (is_symint(PySequence_Fast_GET_ITEM(list, i))) return true;
  return false;
}
std::optional<Value> read_symints(PyObject* list) {
  std::vector<SymInt> out;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(list, i);
    if (!is_integer(item)) return std::nullopt;
    out.push_back(to_symint(item));
  }
  return Value(std::move(out));
}

// A list of elements for which Value has no typed list: strings, numbers of any kind.
std::optional<Value> read_values(const TypeRef& type, PyObject* list) {
  auto out = std::make_shared<Value::List>();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i) {
    std::optional<Value> v = read_one(type.base, PySequence_Fast_GET_ITEM(list, i));
    if (!v) return std::nullopt;
    out->push_back(std::move(*v));
  }
  return Value(std::move(out));
}

std::optional<Value> read_list(const TypeRef& type, PyObject* o) {
  const Ref list(PySequence_Fast(o, "expected a sequence"));
  if (!list) throw_python_error();
  const auto read = [&](PyObject* item) { return read_one(type.base, item); };
  if (type.base == "SymInt" && has_symbolic_item(list.get())) return read_symints(list.get());
  if (type.base == "int" || type.base == "SymInt") return read_elements<int64_t>(list.get(), read);
  if (type.base == "float") return read_elements<double>(list.get(), read);
  if (type.base == "bool") return read_elements<bool>(list.get(), read);
  const bool allows_none = type.base == "Tensor?";
  if (!allows_none && type.base != "Tensor") return read_values(type, list.get());
  return read_elements<Tensor>(list.get(), [&](PyObject* item) -> std::optional<Value> {
    if (item == Py_None && allows_none) return Value();
    return is_tensor(item) ? std::optional(Value(tensor_of(item))) : std::nullopt;
  });
}

std::optional<Value> read_value(const TypeRef& type, PyObject* o) {
  if (o == Py_None && type.is_optional) return Value();
  if (!type.is_list) return read_one(type.base, o);
  if (PyTuple_Check(o) || PyList_Check(o)) return read_list(type, o);
  if (type.list_size <= 0 || !is_number(o)) return std::nullopt;
  // One number stands for a list of the declared length.
  Ref repeated(checked(PyTuple_New(type.list_size)));
  for (int i = 0; i < type.list_size; ++i) PyTuple_SET_ITEM(repeated.get(), i, Py_NewRef(o));
  return read_list(type, repeated.get());
}

// ---- messages ----
Value read_argument(const CallSchema& schema, size_t i, PyObject* o, Numbers numbers) {
  const Argument& a = schema.arguments[i];
  const bool is_one_tensor = a.type.base == "Tensor" && !a.type.is_list;
  TAEDA_CHECK(
      o != Py_None || a.type.is_optional || !is_one_tensor,
      "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #", i,
      " '", a.name, "'");
  std::optional<Value> v;
  if (numbers == Numbers::AsTensors || !is_one_tensor || !is_number(o)) v = read_value(a.type, o);
  if (!v)
    fail(ErrorKind::Runtime, schema.qualified_name, "() Expected a value of type '",
         shown_type(a.type), "' for argument '", a.name, "' but instead found type '",
         shown_class(o), "'.\nPosition: ", i, "\nValue: ", shown(o, PyObject_Repr),
         "\nDeclaration: ", schema.declaration);
  return std::move(*v);
}

void check_keywords(const CallSchema& schema, PyObject* kwargs) {
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(kwargs, &at, &key, &value)) {
    const std::string name = shown(key, PyObject_Str);
    bool is_known = false;
    for (const Argument& a : schema.arguments) is_known |= a.name == name;
    TAEDA_CHECK(is_known, "Unknown keyword argument '", name, "' for operator '",
                schema.qualified_name, "'. Schema: ", schema.declaration);
  }
}

}  // namespace

const CallSchema& call_schema(const dispatch::Operator& op) {
  static auto* schemas = new std::unordered_map<const dispatch::Operator*, CallSchema>;
  if (auto it = schemas->find(&op); it != schemas->end()) return it->second;
  const dispatch::CallForm& form = dispatch::call_form(op);
  const std::string prefix = form.name.find("::") == std::string::npos ? "aten::" : "";
  CallSchema schema{form, prefix + form.name, prefix + op.schema};
  return schemas->emplace(&op, std::move(schema)).first->second;
}

PyObject* wrap_value(const Value& v) { return checked(v.visit(Wrapper())); }

Stack bind_arguments(const CallSchema& schema, PyObject* args, PyObject* kwargs, Numbers numbers) {
  const size_t given = static_cast<size_t>(PyTuple_GET_SIZE(args));
  const size_t named_count = kwargs ? static_cast<size_t>(PyDict_GET_SIZE(kwargs)) : 0;
  const size_t count = schema.arguments.size();
  TAEDA_CHECK(given + named_count <= count, schema.qualified_name, "() expected at most ", count,
              " argument(s) but received ", given + named_count,
              " argument(s). Declaration: ", schema.declaration);
  TAEDA_CHECK(given <= schema.num_positional, schema.qualified_name, "() takes ",
              schema.num_positional, " positional argument(s) but ", given,
              " was/were given.  Declaration: ", schema.declaration);
  Stack stack;
  stack.reserve(count);
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument& a = schema.arguments[i];
    PyObject* o = i < given ? PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(i)) : nullptr;
    if (PyObject* named = kwargs ? PyDict_GetItemString(kwargs, a.name.c_str()) : nullptr) {
      TAEDA_CHECK(
          !o, "Argument '", a.name,
          "' specified both as positional and keyword argument. Schema: ", schema.declaration);
      o = named;
    }
    TAEDA_CHECK(o || a.has_default, schema.qualified_name, "() is missing value for argument '",
                a.name, "'. Declaration: ", schema.declaration);
    stack.push_back(o ? read_argument(schema, i, o, numbers) : schema.defaults[i]);
  }
  if (kwargs) check_keywords(schema, kwargs);
  return stack;
}

namespace {

std::pair<Ref, Ref> wrap_arguments(const CallSchema& schema, const Stack& stack, bool is_complete) {
  size_t count = schema.num_positional;
  const auto is_left_out = [&](size_t i) {
    return !is_complete && is_default(schema, i, stack[i]);
  };
  while (count > 0 && is_left_out(count - 1)) --count;
  Ref args(checked(PyTuple_New(static_cast<Py_ssize_t>(count)))), kwargs(checked(PyDict_New()));
  for (size_t i = 0; i < count; ++i)
    PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), wrap_argument(stack[i]));
  for (size_t i = schema.num_positional; i < stack.size(); ++i) {
    if (is_left_out(i)) continue;
    const Ref value(wrap_argument(stack[i]));
    const char* name = schema.arguments[i].name.c_str();
    if (PyDict_SetItemString(kwargs.get(), name, value.get()) < 0) throw_python_error();
  }
  return {std::move(args), std::move(kwargs)};
}

}  // namespace

std::pair<Ref, Ref> wrap_arguments(const CallSchema& schema, const Stack& stack) {
  return wrap_arguments(schema, stack, /*is_complete=*/false);
}
std::pair<Ref, Ref> wrap_all_arguments(const CallSchema& schema, const Stack& stack) {
  return wrap_arguments(schema, stack, /*is_complete=*/true);
}

PyObject* wrap_results(const Stack& stack) {
  if (stack.empty()) return Py_NewRef(Py_None);
  if (stack.size() == 1) return wrap_value(stack[0]);
  Ref tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(stack.size()))));
  for (size_t i = 0; i < stack.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap_value(stack[i]));
  return tuple.release();
}

Stack read_results(const CallSchema& schema, PyObject* result, const char* who) {
  const std::vector<Argument>& returns = schema.returns;
  Stack stack;
  const auto add = [&](const TypeRef& type, PyObject* o) {
    const bool is_one_tensor = type.base == "Tensor" && !type.is_list;
    // None is how an undefined tensor looks from Python; a number is no tensor here.
    std::optional<Value> v = is_one_tensor && o == Py_None    ? Value()
                             : is_one_tensor && !is_tensor(o) ? std::nullopt
                                                              : read_value(type, o);
    TAEDA_CHECK(v || type.base != "NoneType", "Cannot cast ", shown(o, PyObject_Str),
                " to None; it was returned by ", who, " for ", schema.declaration);
    TAEDA_CHECK(v, "Unable to cast ", shown(o, PyObject_Str), " to ", shown_type(type),
                "; it was returned by ", who, " for ", schema.declaration);
    stack.push_back(std::move(*v));
  };
  TAEDA_CHECK(
      !returns.empty() || result == Py_None, "Expected ", who, " for ", schema.qualified_name,
      " to return None but it returned something else instead: ", shown(result, PyObject_Str));
  if (returns.empty()) return stack;
  if (returns.size() == 1) {
    add(returns[0].type, result);
    return stack;
  }
  const bool is_sequence = PyTuple_Check(result) || PyList_Check(result);
  TAEDA_CHECK(
      is_sequence && PySequence_Fast_GET_SIZE(result) == static_cast<Py_ssize_t>(returns.size()),
      schema.qualified_name, "() has ", returns.size(), " results, but ", who, " returned ",
      shown(result, PyObject_Str));
  for (size_t i = 0; i < returns.size(); ++i)
    add(returns[i].type, PySequence_Fast_GET_ITEM(result, static_cast<Py_ssize_t>(i)));
  return stack;
}

}  // namespace taeda::python
