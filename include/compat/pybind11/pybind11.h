// A small binding layer behind pybind11's names: modules of functions.
//
//   PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
//     m.def("scale", &scale, "Multiplies.", py::arg("x"), py::arg("by") = 2.0);
//   }
//
// Arguments and results: see casters.h. Functions of one name are overloads, tried in order. C++
// exceptions become Python's. Classes are not covered; torch.library is the way to operators.
#pragma once

#include "pybind11/functions.h"

namespace pybind11 {

class module_ : public object {
 public:
  explicit module_(PyObject* module) { p_ = Py_NewRef(module); }

  template <class F, class... Extra>
  module_& def(const char* name, F&& fn, const Extra&... extra) {
    detail::Extras extras;
    (extras.add(extra), ...);
    using Guards = typename GuardsOf<Extra...>::type;
    detail::Overload overload =
        detail::Signature<std::decay_t<F>>::template make<Guards>(std::decay_t<F>(fn));
    if (!extras.arguments.empty() && extras.arguments.size() != overload.arguments.size())
      ::taeda::fail(::taeda::ErrorKind::Runtime, "def(\"", name, "\"): ", extras.arguments.size(),
                    " arguments are named, the function has ", overload.arguments.size());
    for (size_t i = 0; i < extras.arguments.size(); ++i) {
      overload.arguments[i].name = extras.arguments[i].name;
      overload.arguments[i].value = extras.arguments[i].value;
    }
    add(name, std::move(overload), extras.doc);
    return *this;
  }
  template <class T>
  void attr(const char* name, const T& value) {
    const detail::Owned o(detail::Caster<T>::cast(value));
    if (!o || PyModule_AddObjectRef(p_, name, o.get()) < 0)
      ::taeda::fail(::taeda::ErrorKind::Runtime, "cannot set the attribute ", name);
  }
  // Assigning to .doc().
  module_& doc() { return *this; }
  module_& operator=(const char* text) {
    PyModule_SetDocString(p_, text);
    return *this;
  }

 private:
  template <class... Extra>
  struct GuardsOf {
    using type = detail::Scope<>;
  };
  template <class First, class... Rest>
  struct GuardsOf<First, Rest...> {
    using own = typename detail::GuardOf<First>::type;
    using type = std::conditional_t<std::is_same_v<own, detail::Scope<>>,
                                    typename GuardsOf<Rest...>::type, own>;
  };

  void add(const char* name, detail::Overload overload, const std::string& doc);
};
using module = module_;

inline void module_::add(const char* name, detail::Overload overload, const std::string& doc) {
  using detail::Function;
  using detail::Owned;
  // A function of that name, or a new one that lives as long as the module.
  static auto* functions = new std::map<std::pair<PyObject*, std::string>, Function*>;
  Function*& function = (*functions)[{p_, name}];
  const bool is_new = !function;
  if (is_new) function = new Function;
  function->name = name;
  function->overloads.push_back(std::move(overload));
  const detail::Overload& added = function->overloads.back();
  function->doc += (is_new ? "" : "\n\n") + std::string(name) + detail::signature(added) +
                   (doc.empty() ? "" : "\n\n" + doc);
  function->definition = {
      function->name.c_str(),
      reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&detail::call)),
      METH_VARARGS | METH_KEYWORDS, function->doc.c_str()};
  if (!is_new) return;
  const Owned self(PyCapsule_New(function, detail::kFunctionName, nullptr));
  const Owned module_name(PyModule_GetNameObject(p_));
  const Owned callable(PyCFunction_NewEx(&function->definition, self.get(), module_name.get()));
  if (!callable || PyModule_AddObjectRef(p_, name, callable.get()) < 0)
    ::taeda::fail(::taeda::ErrorKind::Runtime, "cannot add the function ", name);
}

}  // namespace pybind11

namespace py = pybind11;

#define TAEDA_PYBIND_JOIN_(a, b) a##b
#define TAEDA_PYBIND_JOIN(a, b) TAEDA_PYBIND_JOIN_(a, b)
#define TAEDA_PYBIND_TEXT_(x) #x
#define TAEDA_PYBIND_TEXT(x) TAEDA_PYBIND_TEXT_(x)

#define PYBIND11_MODULE(name, variable)                                                            \
  static void TAEDA_PYBIND_JOIN(taeda_init_, name)(::pybind11::module_&);                          \
  extern "C" __attribute__((visibility("default"))) PyObject* TAEDA_PYBIND_JOIN(PyInit_, name)() { \
    static PyModuleDef definition = {PyModuleDef_HEAD_INIT,                                        \
                                     TAEDA_PYBIND_TEXT(name),                                      \
                                     nullptr,                                                      \
                                     -1,                                                           \
                                     nullptr,                                                      \
                                     nullptr,                                                      \
                                     nullptr,                                                      \
                                     nullptr,                                                      \
                                     nullptr};                                                     \
    PyObject* created = PyModule_Create(&definition);                                              \
    if (!created) return nullptr;                                                                  \
    try {                                                                                          \
      ::pybind11::module_ filled(created);                                                         \
      TAEDA_PYBIND_JOIN(taeda_init_, name)(filled);                                                \
    } catch (const ::std::exception& error) {                                                      \
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_ImportError, error.what());                     \
      Py_DECREF(created);                                                                          \
      return nullptr;                                                                              \
    }                                                                                              \
    return created;                                                                                \
  }                                                                                                \
  static void TAEDA_PYBIND_JOIN(taeda_init_, name)([[maybe_unused]] ::pybind11::module_ & variable)
