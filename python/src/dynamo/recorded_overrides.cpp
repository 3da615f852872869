// Classes of tensors and function modes of the program: calls go to them, and what their handlers
// call is captured.
#include <algorithm>
#include <utility>

#include "python/interop/wrap.h"
#include "python/src/dispatch/handler_call.h"
#include "python/src/dynamo/recorder_parts.h"
#include "python/src/fx/fx_types.h"
#include "taeda/autograd/variable.h"
#include "taeda/dispatch/modes.h"
#include "taeda/dynamo/capture/errors.h"
#include "taeda/fx/fake.h"
#include "taeda/ops/functions.h"

namespace taeda::python {

using dynamo::Break;
using dynamo::Overrides;

// The recorder's mode sees the calls of a handler, also of one that is asked while the mode itself
// answers.
class GraphRecorder::ModeInPlace {
 public:
  explicit ModeInPlace(GraphRecorder& recorder)
      : recorder_(recorder), was_aside_(recorder.is_aside_) {
    if (was_aside_) push_function_mode(recorder.function_mode_.get());
    recorder.is_aside_ = false;
  }
  ~ModeInPlace() {
    if (was_aside_) pop_function_mode();
    recorder_.is_aside_ = was_aside_;
  }
  ModeInPlace(const ModeInPlace&) = delete;

 private:
  GraphRecorder& recorder_;
  bool was_aside_;
};

PyObject* GraphRecorder::take(PyObject* function, PyObject* args, PyObject* kwargs) {
  struct Aside {
    bool& is_aside;
    bool before = std::exchange(is_aside, true);
    ~Aside() { is_aside = before; }
  } aside{is_aside_};
  return call(function, args, kwargs);
}

namespace {

void add_overriding(PyObject* value, Overloaded& overloaded) {
  if (PyTuple_CheckExact(value) || PyList_CheckExact(value)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
      add_overriding(PySequence_Fast_GET_ITEM(value, i), overloaded);
  } else {
    overloaded.add_if_overrides(value);
  }
}

// _has_torch_function(...): asked of the program's objects alone.
bool asks_for_overrides(PyObject* function) {
  static PyObject* const functions[] = {attribute_of("taeda._C", "_has_torch_function"),
                                        attribute_of("taeda._C", "_has_torch_function_unary"),
                                        attribute_of("taeda._C", "_has_torch_function_variadic")};
  for (PyObject* known : functions)
    if (function == known) return true;
  return false;
}

PyObject* ask(PyObject* asked, PyObject* function, PyObject* types, PyObject* args,
              PyObject* kwargs) {
  const Ref hook(checked(PyObject_GetAttrString(asked, "__torch_function__")));
  const Ref none(kwargs ? nullptr : checked(PyDict_New()));
  PyObject* const argv[] = {function, types, args, kwargs ? kwargs : none.get()};
  return PyObject_Vectorcall(hook.get(), argv, 4, nullptr);
}

}  // namespace

// Whether the program answers a call itself, and how; null with an error.
bool GraphRecorder::ask_overrides(PyObject* function, PyObject* args, PyObject* kwargs,
                                  Ref& answer) {
  if (asks_for_overrides(function)) {
    const Natively natively;
    answer = Ref(PyObject_Call(function, args, kwargs));
    return true;
  }
  const bool has_mode =
      is_function_mode_active() && !is_aside_ && innermost_function_mode() != function_mode_.get();
  Overloaded overloaded;
  add_overriding(args, overloaded);
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; kwargs && PyDict_Next(kwargs, &at, &name, &value);)
    add_overriding(value, overloaded);
  if (!has_mode && overloaded.size() == 0) return false;
  const Ref types = types_of(overloaded);
  if (!types) throw_python_error();
  answer = Ref::share(Py_NotImplemented);
  if (has_mode) {
    const SetAsideFunctionMode mode;
    answer = Ref(ask(mode.get(), function, types.get(), args, kwargs));
  }
  const ModeInPlace in_place(*this);
  for (size_t i = 0; answer.get() == Py_NotImplemented && i < overloaded.size(); ++i)
    answer = Ref(ask(overloaded[i], function, types.get(), args, kwargs));
  if (answer.get() == Py_NotImplemented) throw Break{"a call that all handlers decline"};
  return true;
}

bool GraphRecorder::is_subclass(PyObject* value) const {
  return is_tensor_value(value) && is_of_asked_class(value);
}

bool GraphRecorder::gets_class(PyObject* value) const {
  return is_subclass(value) || (is_tensor(value) && made_.contains(tensor_of(value).impl()));
}

PyTypeObject* GraphRecorder::plain_class() const { return tensor_type; }

// An object of its own, which stands for the same node.
PyObject* GraphRecorder::make_subclass(PyObject* tensor, PyObject* type) {
  const Natively natively;
  fx::Node* node = tracer_->node_of(tensor_of(tensor));
  if (!node && records()) throw Break{"a tensor that is none of the graph's"};
  auto* cls = reinterpret_cast<PyTypeObject*>(type);
  if (!PyType_IsSubtype(cls, tensor_type)) throw Break{"a class that is none of tensors"};
  Tensor alias;
  {
    const dispatch::ActiveMode active(*mode_);
    alias = taeda::alias(tensor_of(tensor));
  }
  Ref made(checked(cls == tensor_type ? wrap(alias) : tensor_object(cls, alias)));
  if (class_dispatches(cls)) {
    // Its handlers are asked when the graph runs.
    static PyObject* const as_subclass =
        PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), "as_subclass");
    note_made_wrapper(made.get());
    if (node && records())
      record(as_subclass, {fx::Arg(*node), read_arg(type)}, nullptr, made.get());
    return made.release();
  }
  if (node) tracer_->track(alias, *node);
  made_.insert(alias.impl());
  kept_.push_back(Ref::share(made.get()));
  return made.release();
}

Overrides GraphRecorder::overrides() const {
  Overrides all{{}, static_cast<int>(override_state())};
  bool is_program = false;
  for (PyObject* mode : function_modes()) {
    if (is_program) all.modes.push_back(mode);
    is_program |= mode == function_mode_.get();
  }
  return all;
}

void GraphRecorder::restore(const Overrides& wanted) {
  set_override_state(static_cast<OverrideState>(wanted.state));
  while (overrides().modes.size() > wanted.modes.size()) pop_function_mode();
  for (size_t i = overrides().modes.size(); i < wanted.modes.size(); ++i)
    push_function_mode(wanted.modes[i]);
}

}  // namespace taeda::python
