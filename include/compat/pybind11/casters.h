// Conversion between Python objects and C++ values, by type.
//
// Caster<T>: load(object, value) reads one or says no without an error; cast(value) gives a new
// reference, null with an error pending; name() is what messages call the type.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "python/interop/extension_api.h"

namespace pybind11 {

namespace detail {

using ::taeda::python::extension_api;

// A new reference that is dropped at the end of the scope.
class Owned {
 public:
  explicit Owned(PyObject* p) : p_(p) {}
  ~Owned() { Py_XDECREF(p_); }
  Owned(const Owned&) = delete;
  PyObject* get() const { return p_; }
  PyObject* release() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject* p_;
};

template <class T>
struct Caster;

template <>
struct Caster<::taeda::Tensor> {
  static std::string name() { return "torch.Tensor"; }
  static bool load(PyObject* o, ::taeda::Tensor& out) {
    if (o == Py_None) return out = {}, true;
    if (!extension_api().is_tensor(o)) return false;
    out = extension_api().to_tensor(o);
    return true;
  }
  static PyObject* cast(const ::taeda::Tensor& t) { return extension_api().wrap_tensor(t); }
};
template <>
struct Caster<bool> {
  static std::string name() { return "bool"; }
  static bool load(PyObject* o, bool& out) {
    if (!PyBool_Check(o)) return false;
    out = o == Py_True;
    return true;
  }
  static PyObject* cast(bool v) { return PyBool_FromLong(v); }
};
template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
struct Caster<T> {
  static std::string name() { return "int"; }
  static bool load(PyObject* o, T& out) {
    if (PyFloat_Check(o) || !PyIndex_Check(o)) return false;
    const Owned number(PyNumber_Index(o));
    const long long value = number ? PyLong_AsLongLong(number.get()) : -1;
    if (value == -1 && PyErr_Occurred()) return PyErr_Clear(), false;
    out = static_cast<T>(value);
    return static_cast<long long>(out) == value;
  }
  static PyObject* cast(T v) { return PyLong_FromLongLong(static_cast<long long>(v)); }
};
template <class T>
  requires(std::is_floating_point_v<T>)
struct Caster<T> {
  static std::string name() { return "float"; }
  static bool load(PyObject* o, T& out) {
    if (!PyFloat_Check(o) && !PyIndex_Check(o) && !PyNumber_Check(o)) return false;
    const double value = PyFloat_AsDouble(o);
    if (value == -1 && PyErr_Occurred()) return PyErr_Clear(), false;
    out = static_cast<T>(value);
    return true;
  }
  static PyObject* cast(T v) { return PyFloat_FromDouble(static_cast<double>(v)); }
};
template <>
struct Caster<std::string> {
  static std::string name() { return "str"; }
  static bool load(PyObject* o, std::string& out) {
    if (!PyUnicode_Check(o)) return false;
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(o, &size);
    if (!text) return PyErr_Clear(), false;
    out.assign(text, static_cast<size_t>(size));
    return true;
  }
  static PyObject* cast(const std::string& v) {
    return PyUnicode_FromStringAndSize(v.data(), static_cast<Py_ssize_t>(v.size()));
  }
};
template <>
struct Caster<const char*> {
  static std::string name() { return "str"; }
  static PyObject* cast(const char* v) { return PyUnicode_FromString(v); }
};
template <>
struct Caster<::taeda::Scalar> {
  static std::string name() { return "Number"; }
  static bool load(PyObject* o, ::taeda::Scalar& out) {
    if (!extension_api().is_number(o)) return false;
    out = extension_api().to_scalar(o);
    return true;
  }
  static PyObject* cast(const ::taeda::Scalar& v) { return extension_api().wrap_scalar(v); }
};
template <>
struct Caster<::taeda::DType> {
  static std::string name() { return "torch.dtype"; }
  static bool load(PyObject* o, ::taeda::DType& out) {
    if (!extension_api().is_dtype(o)) return false;
    out = extension_api().to_dtype(o);
    return true;
  }
  static PyObject* cast(::taeda::DType v) { return extension_api().wrap_dtype(v); }
};
template <>
struct Caster<::taeda::Device> {
  static std::string name() { return "torch.device"; }
  static bool load(PyObject* o, ::taeda::Device& out) {
    if (!extension_api().is_device(o)) return false;
    out = extension_api().to_device(o);
    return true;
  }
  static PyObject* cast(::taeda::Device v) { return extension_api().wrap_device(v); }
};

template <class T>
struct Caster<std::optional<T>> {
  static std::string name() { return "Optional[" + Caster<T>::name() + "]"; }
  static bool load(PyObject* o, std::optional<T>& out) {
    if (o == Py_None) return out.reset(), true;
    return Caster<T>::load(o, out.emplace());
  }
  static PyObject* cast(const std::optional<T>& v) {
    return v ? Caster<T>::cast(*v) : Py_NewRef(Py_None);
  }
};
template <class T>
struct Caster<std::vector<T>> {
  static std::string name() { return "List[" + Caster<T>::name() + "]"; }
  static bool load(PyObject* o, std::vector<T>& out) {
    if (!PySequence_Check(o) || PyUnicode_Check(o) || PyBytes_Check(o)) return false;
    const Owned items(PySequence_Fast(o, "expected a sequence"));
    if (!items) return PyErr_Clear(), false;
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(items.get());
    out.clear();
    for (Py_ssize_t i = 0; i < size; ++i) {
      T item{};
      if (!Caster<T>::load(PySequence_Fast_GET_ITEM(items.get(), i), item)) return false;
      out.push_back(std::move(item));
    }
    return true;
  }
  static PyObject* cast(const std::vector<T>& v) {
    Owned list(PyList_New(static_cast<Py_ssize_t>(v.size())));
    if (!list) return nullptr;
    Py_ssize_t i = 0;
    for (const auto& item : v) {
      PyObject* o = Caster<T>::cast(item);
      if (!o) return nullptr;
      PyList_SET_ITEM(list.get(), i++, o);
    }
    return list.release();
  }
};
// A list lives as a vector while the call runs.
template <class T>
struct Caster<::taeda::Span<T>> : Caster<std::vector<T>> {};

template <class... T>
struct TupleCaster {
  template <class Tuple, size_t... I>
  static PyObject* cast(const Tuple& v, std::index_sequence<I...>) {
    Owned tuple(PyTuple_New(sizeof...(T)));
    if (!tuple) return nullptr;
    const auto set = [&](size_t i, PyObject* o) {
      if (o) PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), o);
      return o != nullptr;
    };
    return (set(I, Caster<T>::cast(std::get<I>(v))) && ...) ? tuple.release() : nullptr;
  }
  template <class Tuple, size_t... I>
  static bool load(PyObject* o, Tuple& out, std::index_sequence<I...>) {
    if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) != sizeof...(T)) return false;
    return (Caster<T>::load(PyTuple_GET_ITEM(o, I), std::get<I>(out)) && ...);
  }
  static std::string name() {
    std::string out;
    ((out += (out.empty() ? "" : ", ") + Caster<T>::name()), ...);
    return "Tuple[" + out + "]";
  }
};
template <class... T>
struct Caster<std::tuple<T...>> {
  static std::string name() { return TupleCaster<T...>::name(); }
  static bool load(PyObject* o, std::tuple<T...>& out) {
    return TupleCaster<T...>::load(o, out, std::index_sequence_for<T...>());
  }
  static PyObject* cast(const std::tuple<T...>& v) {
    return TupleCaster<T...>::cast(v, std::index_sequence_for<T...>());
  }
};
template <class A, class B>
struct Caster<std::pair<A, B>> {
  static std::string name() { return TupleCaster<A, B>::name(); }
  static bool load(PyObject* o, std::pair<A, B>& out) {
    return TupleCaster<A, B>::load(o, out, std::index_sequence_for<A, B>());
  }
  static PyObject* cast(const std::pair<A, B>& v) {
    return TupleCaster<A, B>::cast(v, std::index_sequence_for<A, B>());
  }
};

template <class Map>
struct MapCaster {
  using K = typename Map::key_type;
  using V = typename Map::mapped_type;
  static std::string name() { return "Dict[" + Caster<K>::name() + ", " + Caster<V>::name() + "]"; }
  static bool load(PyObject* o, Map& out) {
    if (!PyDict_Check(o)) return false;
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t at = 0;
    while (PyDict_Next(o, &at, &key, &value)) {
      K k{};
      if (!Caster<K>::load(key, k) || !Caster<V>::load(value, out[k])) return false;
    }
    return true;
  }
  static PyObject* cast(const Map& v) {
    Owned dict(PyDict_New());
    if (!dict) return nullptr;
    for (const auto& [key, value] : v) {
      const Owned k(Caster<K>::cast(key)), item(Caster<V>::cast(value));
      if (!k || !item || PyDict_SetItem(dict.get(), k.get(), item.get()) < 0) return nullptr;
    }
    return dict.release();
  }
};
template <class K, class V>
struct Caster<std::map<K, V>> : MapCaster<std::map<K, V>> {};
template <class K, class V>
struct Caster<std::unordered_map<K, V>> : MapCaster<std::unordered_map<K, V>> {};

// What an argument of type A is kept as during a call.
template <class A>
struct Stored {
  using type = std::remove_cvref_t<A>;
};
template <class T>
struct Stored<::taeda::Span<T>> {
  using type = std::vector<T>;
};
template <class T>
struct Stored<const ::taeda::Span<T>&> : Stored<::taeda::Span<T>> {};

}  // namespace detail

}  // namespace pybind11
