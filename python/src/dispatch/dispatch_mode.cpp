// Dispatch modes written in Python: objects with a method __torch_dispatch__.
#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/numbers.h"
#include "python/src/dispatch/handler_call.h"
#include "python/src/dispatch/native_mode.h"
#include "python/src/fx/fx_fake.h"
#include "python/src/tensor/factories.h"
#include "taeda/fx/mode_order.h"

namespace taeda::python {

namespace {

using dispatch::Operator;
using dispatch::Stack;

class PythonMode final : public dispatch::Mode {
 public:
  explicit PythonMode(PyObject* mode)
      : object_(keep_object(mode)),
        is_of_class_(has_class_handler(Py_TYPE(mode))),
        is_of_package_(is_infra_mode(mode)) {
    peer = mode;
  }
  PyObject* object() const { return object_.get(); }

  void run(Operator& op, Stack& stack) override {
    if (offer(op, stack)) return;
    const GilHold gil;
    HandlerCall(op, stack).fail_declined(object());
  }
  bool offer(Operator& op, Stack& stack) override {
    TAEDA_CHECK(!is_of_class_,
                "Defining your mode's `__torch_dispatch__` as a classmethod is not supported, "
                "please make it a plain method");
    const GilHold gil;
    const HandlerCall call(op, stack);
    const Ref result = call.ask(object());
    if (result.get() == Py_NotImplemented) return false;
    call.finish(result.get(), stack);
    return true;
  }
  // A mode of the program sees calls below autograd, whatever mode is around it; those of the
  // package (PyTorch's `is_infra_mode`) belong to a trace and see what it sees.
  bool offer_early(Operator& op, Stack& stack) override {
    return is_of_package_ && offer(op, stack);
  }

 private:
  // A mode is an object: its handler must see which one it is.
  static bool has_class_handler(PyTypeObject* type) {
    static PyObject* const name = PyUnicode_InternFromString("__torch_dispatch__");
    PyObject* handler = _PyType_Lookup(type, name);
    return handler && PyObject_TypeCheck(handler, &PyClassMethod_Type);
  }

  static bool is_infra_mode(PyObject* mode) {
    if (!PyObject_HasAttrString(mode, "is_infra_mode")) return false;
    const Ref said(checked(PyObject_CallMethod(mode, "is_infra_mode", nullptr)));
    return PyObject_IsTrue(said.get()) == 1;
  }

  std::shared_ptr<PyObject> object_;
  bool is_of_class_, is_of_package_;
};

PyObject* push(PyObject*, PyObject* object) {
  return guarded([&] {
    IntrusivePtr<dispatch::Mode> mode;
    if (is_native_mode(object))
      mode = native_mode_of(object);
    else
      mode = make_intrusive<PythonMode>(object);
    fx::enter_mode(std::move(mode));
    return Py_NewRef(Py_None);
  });
}
// _pop_torch_dispatch_stack(mode=None): the innermost mode, or the innermost place of this one.
PyObject* pop(PyObject*, PyObject* args) {
  PyObject* object = Py_None;
  if (!PyArg_ParseTuple(args, "|O", &object)) return nullptr;
  return guarded([&] {
    const dispatch::ModeStack& modes = dispatch::modes();
    for (size_t i = modes.size(); object != Py_None && i-- > 0;) {
      if (modes[i]->peer != object) continue;
      fx::leave_mode(*modes[i]);
      return Py_NewRef(object);
    }
    return mode_object(*dispatch::pop_mode());
  });
}
PyObject* count(PyObject*, PyObject*) { return PyLong_FromSize_t(dispatch::modes().size()); }
PyObject* at(PyObject*, PyObject* index) {
  return guarded([&] {
    const int64_t i = to_int64(index);
    const dispatch::ModeStack& modes = dispatch::modes();
    TAEDA_CHECK_INDEX(i >= 0 && i < static_cast<int64_t>(modes.size()),
                      "Tried to get stack at idx that's too big");
    return mode_object(*modes[static_cast<size_t>(i)]);
  });
}

}  // namespace

PyObject* mode_object(dispatch::Mode& mode) {
  if (mode.peer) return Py_NewRef(static_cast<PyObject*>(mode.peer));
  auto* fake = dynamic_cast<fx::FakeMode*>(&mode);
  return fake ? wrap_fake_mode(IntrusivePtr<fx::FakeMode>::share(fake)) : Py_NewRef(Py_None);
}

PyMethodDef dispatch_mode_table[] = {
    {"_push_on_torch_dispatch_stack", push, METH_O, nullptr},
    {"_pop_torch_dispatch_stack", pop, METH_VARARGS, nullptr},
    {"_len_torch_dispatch_stack", count, METH_NOARGS, nullptr},
    {"_get_dispatch_stack_at", at, METH_O, nullptr},
    {},
};

}  // namespace taeda::python
