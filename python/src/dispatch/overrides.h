// __torch_function__: calls that go to Python because an argument's class or an active mode asks
// for it.
//
// A class overrides when it has a `__torch_function__` other than the disabled one; Tensor itself
// is never asked for plain tensors, so a call on them costs a comparison of types and a look at
// `num_function_modes`. All of it needs the GIL.
#pragma once

#include "python/interop/python.h"

#include "python/interop/tensor_object.h"
#include "taeda/base/small_vector.h"

namespace taeda::python {

// The overrides that a thread asks: all, modes only, or none.
enum class OverrideState : uint8_t { Enabled, SubclassesDisabled, AllDisabled };
OverrideState override_state();
void set_override_state(OverrideState state);

// Function modes that wait for calls in any thread: zero tells without a look at the thread's own.
extern int num_function_modes;
// Whether one waits in this thread.
bool is_function_mode_active();

// Whether the class of `o`, which is not exactly Tensor, overrides, and this thread lets it.
bool class_overrides(PyObject* o);
// Whether the class has its __torch_function__ from Tensor.
bool has_default_function_hook(PyTypeObject* type);
inline bool overrides(PyObject* o) { return !is_exact_tensor(o) && class_overrides(o); }
// The two reasons together, for calls whose only interesting arguments are these.
inline bool is_overridden(PyObject* o) {
  return __builtin_expect(num_function_modes || !is_exact_tensor(o), 0) &&
         (overrides(o) || is_function_mode_active());
}
bool is_overridden(PyObject* a, PyObject* b);

// The arguments whose classes are asked, one per class: in the order of the call, but a subclass
// before its base classes. Borrowed references.
class Overloaded {
 public:
  // Adds `o` whether it overrides or not.
  void add(PyObject* o);
  void add_if_overrides(PyObject* o) {
    if (overrides(o)) add(o);
  }
  // The items of a list or tuple, or the object itself.
  void add_items(PyObject* o);
  PyObject* operator[](size_t i) const { return items_[i]; }
  size_t size() const { return items_.size(); }

 private:
  SmallVector<PyObject*, 4> items_;
};

// Their classes as a tuple; null with a Python error pending.
Ref types_of(const Overloaded& overloaded);

// A function as Python sees it: an attribute of a module or of Tensor, or an accessor of an
// attribute (Tensor.grad.__get__).
struct Callee {
  PyObject* owner;  // borrowed
  const char* name;
  const char* accessor = nullptr;
};
inline Callee tensor_callee(const char* name, const char* accessor = nullptr) {
  return {reinterpret_cast<PyObject*>(tensor_type), name, accessor};
}

// Asks the innermost mode, then the classes in turn. `kwargs` may be null. Returns a new reference:
// NotImplemented when all declined; null with a Python error pending.
PyObject* ask_overrides(const Callee& callee, const Overloaded& overloaded, PyObject* args,
                        PyObject* kwargs);
// The same, but a TypeError when all declined.
PyObject* call_override(const Callee& callee, const Overloaded& overloaded, PyObject* args,
                        PyObject* kwargs);
// The same for an operator of taeda.ops, which is its own function.
PyObject* call_operator_override(PyObject* function, const Overloaded& overloaded, PyObject* args,
                                 PyObject* kwargs);
// A method of Tensor with self and up to two more arguments; where none overrides, a mode is told
// of the class of `self`.
PyObject* call_method_override(const Callee& callee, PyObject* self, PyObject* a = nullptr,
                               PyObject* b = nullptr);

// The arguments of a vectorcall as a tuple, `self` first where it is not null, and a dict that
// stays null where there are no keywords. False with a Python error pending.
bool pack_call(PyObject* self, PyObject* const* argv, Py_ssize_t nargs, PyObject* kwnames,
               Ref& args, Ref& kwargs);

// Replaces hand-written methods and attributes of Tensor by ones that look for overrides first.
PyMethodDef overridable_method(const PyMethodDef& method);
PyGetSetDef overridable_property(const PyGetSetDef& property);

// Adds the guards and functions behind taeda.overrides to the module.
bool init_overrides(PyObject* module);

}  // namespace taeda::python
