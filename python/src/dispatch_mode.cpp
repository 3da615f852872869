// Dispatch modes written in Python: objects with a method __torch_dispatch__.
#include "python/src/args.h"
#include "python/src/boxed_values.h"
#include "python/src/factories.h"
#include "python/src/fx_fake.h"
#include "python/src/native_mode.h"
#include "python/src/overloads.h"
#include "python/src/wrap.h"
#include "taeda/dispatch/modes.h"

namespace taeda::python {

namespace {

using dispatch::Operator;
using dispatch::Stack;

std::string shown(PyObject* o) {
  const Ref text(checked(PyObject_Str(o)));
  const char* utf8 = PyUnicode_AsUTF8(text.get());
  if (!utf8) throw_python_error();
  return utf8;
}

class PythonMode final : public dispatch::Mode {
 public:
  explicit PythonMode(PyObject* mode) : object_(keep_object(mode)) { peer = mode; }
  PyObject* object() const { return object_.get(); }

  void run(Operator& op, Stack& stack) override {
    const GilHold gil;
    const CallSchema& schema = call_schema(op);
    PyObject* overload = overload_of(op);
    const auto [args, kwargs] = wrap_arguments(schema, stack);
    const Ref types(checked(PyTuple_New(0)));
    const Ref result(checked(PyObject_CallMethod(object(), "__torch_dispatch__", "OOOO", overload,
                                                 types.get(), args.get(), kwargs.get())));
    if (result.get() == Py_NotImplemented)
      fail(ErrorKind::Type, "Multiple dispatch failed for 'torch.ops.", shown(overload),
           "'; all __torch_dispatch__ handlers returned NotImplemented:\n\n  - mode object ",
           shown(object()));
    stack = read_results(schema, result.get());
  }

 private:
  std::shared_ptr<PyObject> object_;
};

PyObject* object_of(dispatch::Mode& mode) {
  if (mode.peer) return Py_NewRef(static_cast<PyObject*>(mode.peer));
  auto* fake = dynamic_cast<fx::FakeMode*>(&mode);
  return fake ? wrap_fake_mode(IntrusivePtr<fx::FakeMode>::share(fake)) : Py_NewRef(Py_None);
}

PyObject* push(PyObject*, PyObject* mode) {
  return guarded([&] {
    if (is_native_mode(mode))
      dispatch::push_mode(native_mode_of(mode));
    else
      dispatch::push_mode(make_intrusive<PythonMode>(mode));
    return Py_NewRef(Py_None);
  });
}
PyObject* pop(PyObject*, PyObject*) {
  return guarded([] { return object_of(*dispatch::pop_mode()); });
}
PyObject* count(PyObject*, PyObject*) { return PyLong_FromSize_t(dispatch::modes().size()); }
PyObject* at(PyObject*, PyObject* index) {
  return guarded([&] {
    const int64_t i = to_int64(index);
    const dispatch::ModeStack& modes = dispatch::modes();
    TAEDA_CHECK_INDEX(i >= 0 && i < static_cast<int64_t>(modes.size()),
                      "Tried to get stack at idx that's too big");
    return object_of(*modes[static_cast<size_t>(i)]);
  });
}

}  // namespace

PyMethodDef dispatch_mode_table[] = {
    {"_push_on_torch_dispatch_stack", push, METH_O, nullptr},
    {"_pop_torch_dispatch_stack", pop, METH_NOARGS, nullptr},
    {"_len_torch_dispatch_stack", count, METH_NOARGS, nullptr},
    {"_get_dispatch_stack_at", at, METH_O, nullptr},
    {},
};

}  // namespace taeda::python
