// Arguments and results of __torch_dispatch__, and the error when every handler declines.
#include "python/src/dispatch/handler_call.h"

#include "python/interop/errors.h"
#include "python/interop/text.h"
#include "python/interop/wrap.h"
#include "python/src/dispatch/overloads.h"
#include "python/src/fx/fx_regions.h"
#include "taeda/fx/fake.h"

namespace taeda::python {

thread_local HandlerTaker* handler_taker = nullptr;

namespace {

using dispatch::Argument;
using dispatch::Operator;
using dispatch::Stack;

// The position of the argument that a result is, by the alias that the operator writes to; -1 for a
// result of its own.
int written_argument(const CallSchema& schema, const Argument& result) {
  if (!result.is_written) return -1;
  const std::vector<Argument>& arguments = schema.arguments;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].is_written && arguments[i].alias == result.alias) return static_cast<int>(i);
  return -1;
}

}  // namespace

// The classes that a handler is told of: those with handlers of their own, and fake tensors.
static Overloaded seen_classes(const Stack& stack) {
  const KeySet told = KeySet(Key::Python) | KeySet(Key::Fake);
  Overloaded seen;
  for (const dispatch::Value& v : stack)
    dispatch::for_each_tensor(v, [&](const Tensor& t) {
      if (!(t.keys() & told).empty()) seen.add(Ref(checked(wrap(t))).get());
    });
  return seen;
}

HandlerCall::HandlerCall(const Operator& op, const Stack& stack)
    : schema_(call_schema(op)), overload_(control_flow_object(op)) {
  is_control_flow_ = overload_ != nullptr;
  if (!overload_) overload_ = overload_of(op);
  std::tie(args_, kwargs_) = wrap_arguments(schema_, stack);
  for (const dispatch::Value& v : stack)
    dispatch::for_each_tensor(v, [&](const Tensor& t) {
      // The arguments keep these objects alive.
      if (t.keys().has(Key::Python)) subclasses_.add(Ref(checked(wrap(t))).get());
    });
  types_ = types_of(seen_classes(stack));
  if (!types_) throw_python_error();
}

Ref HandlerCall::ask(PyObject* handler) const {
  static PyObject* const name = PyUnicode_InternFromString("__torch_dispatch__");
  if (is_control_flow_ && handler_taker && is_tensor(handler))
    return Ref(checked(handler_taker->take(Py_TYPE(handler), nullptr, nullptr)));
  if (is_control_flow_)
    return Ref(checked(
        PyObject_CallMethod(overload_, "_ask", "OOO", handler, args_.get(), kwargs_.get())));
  PyObject* const argv[] = {handler, overload_, types_.get(), args_.get(), kwargs_.get()};
  PyObject* const rule = dispatch_rule(overload_, Py_TYPE(handler));
  if (handler_taker && is_tensor(handler) && fx::is_fake(tensor_of(handler))) {
    PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(handler));
    const Ref given(
        checked(rule ? PyTuple_Pack(5, type, overload_, types_.get(), args_.get(), kwargs_.get())
                     : PyTuple_Pack(4, overload_, types_.get(), args_.get(), kwargs_.get())));
    return Ref(checked(handler_taker->take(Py_TYPE(handler), rule, given.get())));
  }
  if (rule) {
    PyObject* first = is_tensor(handler) ? reinterpret_cast<PyObject*>(Py_TYPE(handler)) : handler;
    return Ref(checked(PyObject_CallFunctionObjArgs(rule, first, overload_, types_.get(),
                                                    args_.get(), kwargs_.get(), nullptr)));
  }
  return Ref(checked(PyObject_VectorcallMethod(name, argv, 5, nullptr)));
}

void HandlerCall::finish(PyObject* result, Stack& stack) const {
  const std::vector<Argument>& returns = schema_.returns;
  const int only = returns.size() == 1 ? written_argument(schema_, returns[0]) : -1;
  if (only >= 0) {
    stack = {stack[static_cast<size_t>(only)]};
    return;
  }
  Stack results = read_results(schema_, result);
  for (size_t i = 0; i < returns.size(); ++i)
    if (const int at = written_argument(schema_, returns[i]); at >= 0)
      results[i] = stack[static_cast<size_t>(at)];
  stack = std::move(results);
}

void HandlerCall::fail_declined(PyObject* mode) const {
  std::string message =
      str("Multiple dispatch failed for 'torch._ops.", shown(overload_, PyObject_Str),
          "'; all __torch_dispatch__ handlers returned NotImplemented:\n\n");
  if (mode) message += str("  - mode object ", shown(mode, PyObject_Repr), "\n");
  for (size_t i = 0; i < subclasses_.size(); ++i)
    message +=
        str("  - tensor subclass ",
            shown(reinterpret_cast<PyObject*>(Py_TYPE(subclasses_[i])), PyObject_Repr), "\n");
  message += "\nFor more information, try re-running with TORCH_LOGS=not_implemented";
  fail(ErrorKind::Type, message);
}

}  // namespace taeda::python
