// Python's objects for the restricted pickle machine: containers and numbers are made here, and
// nothing is called that the rules do not list.
#pragma once

#include "python/interop/python.h"

#include <string>
#include <string_view>
#include <vector>

namespace taeda::python {

// An int of little-endian bytes.
Ref wrap_long(std::string_view bytes);

// What may be loaded: the attributes of a Python object of taeda.serialization.
struct PickleRules {
  explicit PickleRules(PyObject* rules);

  // {"module.name": object}; names of Python 2 are translated first.
  Ref allowed, user_allowed, module_names, global_names, blocked_modules;
  // The values of `allowed` and `user_allowed`, a set.
  Ref callables;
  Ref tensor_class, parameter_class, ordered_dict_class, counter_class;
  // {"module.name": message} of globals that a module not yet imported brings.
  Ref absent;
  // Classes that are called without arguments, which could ask for memory; the function that calls
  // another, and what it may call.
  Ref without_arguments, rebuild_from_type, rebuilders;
  // Functions: a Tensor's state, what a pickle keeps outside, and whether Taeda lacks a global.
  Ref set_tensor, persistent_load, lacks, encode;
  // Adds the place in the file to an exception's words.
  Ref add_place;
  std::string encoding;
};

// The model of pickle/unpickler.h.
class PythonModel {
 public:
  using Object = Ref;

  explicit PythonModel(const PickleRules& rules) : rules_(rules) {}

  static Ref share(const Ref& o) { return Ref::share(o.get()); }
  Ref none() const { return Ref::share(Py_None); }
  Ref boolean(bool b) const { return Ref::share(b ? Py_True : Py_False); }
  Ref integer(int64_t v) const;
  Ref long_integer(std::string_view bytes) const { return wrap_long(bytes); }
  Ref real(double v) const;
  Ref text(std::string_view utf8) const;
  Ref byte_string(std::string_view bytes) const;
  Ref list() const;
  Ref dict() const;
  Ref set() const;
  Ref tuple(std::vector<Ref> items) const;
  void extend(const Ref& list, std::vector<Ref> items, const char* what) const;
  void set_items(const Ref& dict, std::vector<Ref> items, const char* op) const;
  Ref global(std::string module, std::string name) const;
  Ref reduce(const Ref& function, const Ref& arguments) const;
  Ref make(const Ref& type, const Ref& arguments) const;
  void build(const Ref& object, const Ref& state) const;
  Ref persistent(const Ref& id) const;
  void warn_of_protocol(int protocol) const;

 private:
  bool is_callable(PyObject* o) const;

  const PickleRules& rules_;
};

}  // namespace taeda::python
