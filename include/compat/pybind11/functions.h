// C++ functions as Python's: arguments with names and defaults, overloads, errors.
#pragma once

#include <functional>

#include "pybind11/objects.h"

namespace pybind11 {

// The name of an argument, maybe with its default.
struct arg {
  explicit arg(const char* name) : name(name) {}
  template <class T>
  arg operator=(T&& value) const {
    arg with_default(name);
    with_default.value = object::steal(detail::Caster<std::decay_t<T>>::cast(value));
    return with_default;
  }
  arg operator=(std::nullopt_t) const {
    arg with_default(name);
    with_default.value = object::borrow(Py_None);
    return with_default;
  }
  const char* name;
  object value;  // null: required
};
namespace literals {
inline arg operator""_a(const char* name, size_t) { return arg(name); }
}  // namespace literals

// Releases the GIL while the function runs.
template <class Guard>
struct call_guard {};

namespace detail {

struct Argument {
  std::string name, type;
  object value;
};

// One overload: `call` returns a new reference, null with an error pending, and sets `fits` to
// false where the arguments cannot be converted.
struct Overload {
  std::vector<Argument> arguments;
  std::string result;
  std::function<PyObject*(const std::vector<PyObject*>&, bool& fits)> call;
};

struct Function {
  std::string name, doc;
  std::vector<Overload> overloads;
  PyMethodDef definition{};
};

inline constexpr const char* kFunctionName = "taeda.extension.Function";

inline std::string signature(const Overload& overload) {
  std::string out = "(";
  for (const Argument& a : overload.arguments) {
    out += (out.size() > 1 ? ", " : "") + a.name + ": " + a.type;
    if (!a.value.ptr()) continue;
    const Owned text(PyObject_Repr(a.value.ptr()));
    out += std::string(" = ") + (text ? PyUnicode_AsUTF8(text.get()) : "...");
  }
  return out + ") -> " + overload.result;
}

// Positions, keywords and defaults as one list; empty optional if they do not fit.
inline std::optional<std::vector<PyObject*>> bind(const Overload& overload, PyObject* args,
                                                  PyObject* kwargs) {
  const auto given = static_cast<size_t>(PyTuple_GET_SIZE(args));
  if (given > overload.arguments.size()) return std::nullopt;
  std::vector<PyObject*> out;
  Py_ssize_t named = 0;
  for (size_t i = 0; i < overload.arguments.size(); ++i) {
    const Argument& a = overload.arguments[i];
    PyObject* keyword = kwargs ? PyDict_GetItemString(kwargs, a.name.c_str()) : nullptr;
    if (keyword && i < given) return std::nullopt;
    named += keyword != nullptr;
    PyObject* o = i < given ? PyTuple_GET_ITEM(args, i) : keyword ? keyword : a.value.ptr();
    if (!o) return std::nullopt;
    out.push_back(o);
  }
  if (kwargs && named != PyDict_Size(kwargs)) return std::nullopt;
  return out;
}

inline void fail_to_match(const Function& function, PyObject* args, PyObject* kwargs) {
  std::string message = function.name +
                        "(): incompatible function arguments. The following argument types are "
                        "supported:\n";
  int number = 1;
  for (const Overload& o : function.overloads)
    message += "    " + std::to_string(number++) + ". " + signature(o) + "\n";
  const Owned text(PyObject_Repr(args)), named(kwargs ? PyObject_Repr(kwargs) : nullptr);
  message += std::string("\nInvoked with: ") + (text ? PyUnicode_AsUTF8(text.get()) : "?");
  if (named && PyDict_Size(kwargs) > 0)
    message += std::string(", ") + PyUnicode_AsUTF8(named.get());
  PyErr_SetString(PyExc_TypeError, message.c_str());
}

inline PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  auto& function = *static_cast<Function*>(PyCapsule_GetPointer(self, kFunctionName));
  try {
    for (const Overload& overload : function.overloads) {
      const auto values = bind(overload, args, kwargs);
      if (!values) continue;
      bool fits = true;
      PyObject* result = overload.call(*values, fits);
      if (fits) return result;
    }
  } catch (...) {
    extension_api().translate_exception();
    return nullptr;
  }
  fail_to_match(function, args, kwargs);
  return nullptr;
}

template <class... Guards>
struct Scope {};
template <class Guard>
struct Scope<Guard> {
  Guard guard;
};

template <class Guards, class R, class... A, class F, size_t... I>
PyObject* invoke(F& fn, const std::vector<PyObject*>& values, bool& fits,
                 std::index_sequence<I...>) {
  std::tuple<typename Stored<A>::type...> arguments;
  fits = (Caster<typename Stored<A>::type>::load(values[I], std::get<I>(arguments)) && ...);
  if (!fits) return nullptr;
  if constexpr (std::is_void_v<R>) {
    [[maybe_unused]] Guards scope;
    fn(static_cast<A>(std::get<I>(arguments))...);
  } else {
    auto result = [&]() -> std::remove_cvref_t<R> {
      [[maybe_unused]] Guards scope;
      return fn(static_cast<A>(std::get<I>(arguments))...);
    }();
    return Caster<std::remove_cvref_t<R>>::cast(result);
  }
  return Py_NewRef(Py_None);
}

template <class R>
std::string result_name() {
  if constexpr (std::is_void_v<R>)
    return "None";
  else
    return Caster<std::remove_cvref_t<R>>::name();
}

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R (*)(A...)> {
  template <class Guards, class F>
  static Overload make(F fn) {
    Overload out;
    ((out.arguments.push_back({"arg" + std::to_string(out.arguments.size()),
                               Caster<typename Stored<A>::type>::name(), object()})),
     ...);
    out.result = result_name<R>();
    out.call = [fn](const std::vector<PyObject*>& values, bool& fits) mutable {
      return invoke<Guards, R, A...>(fn, values, fits, std::index_sequence_for<A...>());
    };
    return out;
  }
};
template <class R, class... A>
struct Signature<R(A...)> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};

// What follows the function in def(): documentation, arguments, guards.
struct Extras {
  std::string doc;
  std::vector<arg> arguments;

  void add(const char* text) { doc = text; }
  void add(const arg& a) { arguments.push_back(a); }
  template <class Guard>
  void add(call_guard<Guard>) {}
};
template <class T>
struct GuardOf {
  using type = Scope<>;
};
template <class Guard>
struct GuardOf<call_guard<Guard>> {
  using type = Scope<Guard>;
};

}  // namespace detail

}  // namespace pybind11
