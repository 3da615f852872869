// Conversions of Taeda's types and errors for pybind11.
//
// pybind11 itself is the library of that name; taeda.utils.cpp_extension puts it on the include
// path.
#pragma once

#if !__has_include(<pybind11/pybind11.h>)
#  error \
      "bindings for Python need pybind11: pip install pybind11, or name the folder of its headers in CPLUS_INCLUDE_PATH or extra_include_paths"
#endif

#include "python/interop/extension_api.h"

#include <pybind11/complex.h>
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "ATen/core/List.h"
#include "ATen/core_names.h"
#include "c10/core/SymFloat.h"

namespace py = pybind11;

PYBIND11_DECLARE_HOLDER_TYPE(T, c10::intrusive_ptr<T>, true)

namespace pybind11::detail {

// A type of the table in extension_api.h, found by `form`.
template <class T, auto form>
struct taeda_caster {
  using Api = ::taeda::python::ExtensionApi;
  T value{};
  template <class>
  using cast_op_type = T&;
  operator T*() { return &value; }
  operator T&() { return value; }

  bool load(handle source, bool) {
    const auto& python_form = ::taeda::python::extension_api().*form;
    if (!python_form.is(source.ptr())) return false;
    value = python_form.read(source.ptr());
    return true;
  }
  static handle cast(const T& v, return_value_policy, handle) {
    PyObject* object = (::taeda::python::extension_api().*form).wrap(v);
    if (!object) throw error_already_set();
    return object;
  }
  static handle cast(const T* v, return_value_policy policy, handle parent) {
    return v ? cast(*v, policy, parent) : none().release();
  }
};

#define TAEDA_CASTER(type, form, python_name)                                           \
  template <>                                                                           \
  struct type_caster<type> : taeda_caster<type, &::taeda::python::ExtensionApi::form> { \
    static constexpr auto name = const_name(python_name);                               \
  }
TAEDA_CASTER(::taeda::Tensor, tensor, "torch.Tensor");
TAEDA_CASTER(::taeda::DType, dtype, "torch.dtype");
TAEDA_CASTER(::taeda::Device, device, "torch.device");
TAEDA_CASTER(::taeda::Layout, layout, "torch.layout");
TAEDA_CASTER(::taeda::MemoryFormat, memory_format, "torch.memory_format");
TAEDA_CASTER(::taeda::Scalar, scalar, "Number");
TAEDA_CASTER(::taeda::SymInt, symint, "Union[int, torch.SymInt]");
TAEDA_CASTER(::taeda::Generator, generator, "torch.Generator");
TAEDA_CASTER(::taeda::Storage, storage, "torch.StorageBase");
#undef TAEDA_CASTER

// A list lives as a vector while the call runs; one number stands for a list of sizes.
template <class T>
struct type_caster<::taeda::Span<T>> {
  using Items = make_caster<std::vector<T>>;
  static constexpr auto name = Items::name;
  template <class>
  using cast_op_type = ::taeda::Span<T>;
  operator ::taeda::Span<T>() { return view_; }

  bool load(handle source, bool convert) {
    if constexpr (std::is_same_v<T, int64_t>) {
      if (make_caster<int64_t> one; !PySequence_Check(source.ptr()) && one.load(source, convert)) {
        one_[0] = cast_op<int64_t>(one);
        view_ = ::taeda::Span<T>(one_, 1);
        return true;
      }
    }
    if (!items_.load(source, convert)) return false;
    view_ = cast_op<std::vector<T>&>(items_);
    return true;
  }
  static handle cast(::taeda::Span<T> v, return_value_policy policy, handle parent) {
    return Items::cast(v.vec(), policy, parent);
  }

 private:
  Items items_;
  T one_[1]{};
  ::taeda::Span<T> view_;
};

// A float, or a symbolic one.
template <>
struct type_caster<::c10::SymFloat> {
  PYBIND11_TYPE_CASTER(::c10::SymFloat, const_name("Union[float, torch.SymFloat]"));
  bool load(handle source, bool convert) {
    const auto& symbolic = ::taeda::python::extension_api().symfloat;
    if (symbolic.is(source.ptr())) {
      value = ::c10::SymFloat(symbolic.read(source.ptr()));
      return true;
    }
    make_caster<double> plain;
    if (!plain.load(source, convert)) return false;
    value = cast_op<double>(plain);
    return true;
  }
  static handle cast(const ::c10::SymFloat& v, return_value_policy policy, handle parent) {
    if (!v.is_symbolic()) return make_caster<double>::cast(v.expect_float(), policy, parent);
    PyObject* object = ::taeda::python::extension_api().symfloat.wrap(v.toSymNodeImpl());
    if (!object) throw error_already_set();
    return object;
  }
};

template <class T>
struct type_caster<::c10::List<T>> {
  using Items = make_caster<std::vector<T>>;
  PYBIND11_TYPE_CASTER(::c10::List<T>, Items::name);
  bool load(handle source, bool convert) {
    Items items;
    if (!items.load(source, convert)) return false;
    value = ::c10::List<T>(cast_op<std::vector<T>&>(items));
    return true;
  }
  static handle cast(const ::c10::List<T>& v, return_value_policy policy, handle parent) {
    return Items::cast(v.vec(), policy, parent);
  }
};

template <class T>
struct type_caster<::taeda::Complex<T>> {
  PYBIND11_TYPE_CASTER(::taeda::Complex<T>, const_name("complex"));
  bool load(handle source, bool convert) {
    make_caster<std::complex<T>> plain;
    if (!plain.load(source, convert)) return false;
    const auto z = cast_op<std::complex<T>>(plain);
    value = {z.real(), z.imag()};
    return true;
  }
  static handle cast(const ::taeda::Complex<T>& v, return_value_policy policy, handle parent) {
    return make_caster<std::complex<T>>::cast({v.re, v.im}, policy, parent);
  }
};

}  // namespace pybind11::detail

namespace torch_compat {

// Taeda's errors keep their kind as Python exceptions. Runs once per shared object, while Python
// imports it; hidden, or the first object's would stand for all. A program without Python has
// nobody to tell.
struct __attribute__((visibility("hidden"))) ErrorTranslator {
  ErrorTranslator() {
    if (!Py_IsInitialized()) return;
    const py::gil_scoped_acquire gil;
    py::register_local_exception_translator([](std::exception_ptr pending) {
      try {
        if (pending) std::rethrow_exception(pending);
      } catch (const ::taeda::Error&) {
        ::taeda::python::extension_api().translate_exception();
      }
    });
  }
};
__attribute__((visibility("hidden"))) inline const ErrorTranslator error_translator;

}  // namespace torch_compat
