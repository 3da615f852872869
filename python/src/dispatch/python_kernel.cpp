// Runs Python callables as kernels and batching rules.
#include "python/src/dispatch/python_kernel.h"

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/wrap.h"
#include "python/src/dispatch/boxed_values.h"
#include "python/src/dispatch/overloads.h"
#include "taeda/autograd/forward.h"
#include "taeda/autograd/variable.h"
#include "taeda/ops/batching.h"

namespace taeda::python {

namespace {

using dispatch::Operator;
using dispatch::Stack;
using dispatch::Value;

std::vector<Tensor> tensors_on(const Stack& stack) {
  std::vector<Tensor> out;
  for (const Value& v : stack) for_each_tensor(v, [&](const Tensor& t) { out.push_back(t); });
  return out;
}

// Wrappers of levels have no memory of their own.
bool shares_memory(const Tensor& a, const Tensor& b) {
  return a.is_same(b) || (a.storage() && a.storage() == b.storage());
}

void check_aliases(const Operator& op, const Stack& results, std::vector<Tensor> seen) {
  for (const Tensor& t : tensors_on(results)) {
    for (const Tensor& other : seen)
      TAEDA_CHECK(
          !shares_memory(t, other), dispatch::qualified_name(op),
          ": The output of this custom operator (1) must not also be an input to this custom "
          "operator and (2) may not alias any inputs to this custom operator or other returns. The "
          "most common way to trigger this error is if we have y = custom_op(x) and y and x are "
          "the same Tensor. Please instead return a clone of the offending output tensor(s) (e.g. "
          "return x.clone()) or refactor the custom operator to not return y.");
    seen.push_back(t);
  }
}

PyObject* wrap_keys(KeySet keys) {
  static PyObject* const make = [] {
    const Ref module(checked(PyImport_ImportModule("taeda.library.keys")));
    return checked(PyObject_GetAttrString(module.get(), "DispatchKeySet"));
  }();
  const auto bits = static_cast<unsigned long long>(keys.bits());
  return checked(PyObject_CallFunction(make, "K", bits));
}

Ref with_first(PyObject* first, PyObject* args) {
  const Ref head(checked(PyTuple_Pack(1, first)));
  return Ref(checked(PySequence_Concat(head.get(), args)));
}

void call_below_autograd(const Operator& op, KeySet keys, Stack& stack) {
  const BelowAutograd below;
  Operator& callee = const_cast<Operator&>(op);
  callee.call_boxed(callee, keys & KeySet::below(Key::Autograd), stack);
}

}  // namespace

PythonKernel::PythonKernel(PyObject* callable, KernelOptions options)
    : callable_(keep_object(callable)), options_(options) {}

void PythonKernel::run(const Operator& op, KeySet keys, Stack& stack, void* context) {
  const GilHold gil;
  auto& self = *static_cast<PythonKernel*>(context);
  const std::shared_ptr<PyObject> callable = self.callable_;
  TAEDA_CHECK(callable, dispatch::qualified_name(op), ": the kernel was removed");
  const CallSchema& schema = call_schema(op);
  auto [args, kwargs] = self.options_.passes_defaults ? wrap_all_arguments(schema, stack)
                                                      : wrap_arguments(schema, stack);
  if (self.options_.passes_keys) args = with_first(Ref(wrap_keys(keys)).get(), args.get());
  if (self.options_.passes_operator) args = with_first(overload_of(op), args.get());
  const std::vector<Tensor> inputs =
      self.options_.forbids_aliases ? tensors_on(stack) : std::vector<Tensor>();
  const Ref result(checked(PyObject_Call(callable.get(), args.get(), kwargs.get())));
  stack = read_results(schema, result.get(), "a kernel");
  if (self.options_.forbids_aliases) check_aliases(op, stack, inputs);
}

void PythonKernel::run_recording(const Operator& op, KeySet keys, Stack& stack, void* context) {
  const std::vector<Tensor> tensors = tensors_on(stack);
  const TensorList list(tensors);
  if (autograd::should_record(list) || autograd::any_tangent(list))
    return run(op, keys, stack, context);
  call_below_autograd(op, keys, stack);
}

// ---- versions ----

namespace {

void run_and_mark_written(const Operator& op, KeySet keys, Stack& stack, void*) {
  const auto& arguments = call_schema(op).arguments;
  std::vector<Tensor> written;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].is_written)
      for_each_tensor(stack[i], [&](const Tensor& t) { written.push_back(t); });
  Operator& callee = const_cast<Operator&>(op);
  callee.call_boxed(callee, keys & KeySet::below(Key::ADInplaceOrView), stack);
  for (const Tensor& t : written) t.impl()->bump_version();
}

}  // namespace

dispatch::BoxedKernel version_kernel() { return {&run_and_mark_written, nullptr}; }

// ---- batching ----

namespace {

struct PythonBatchRule : dispatch::BatchRule {
  explicit PythonBatchRule(PyObject* callable)
      : BatchRule{&PythonBatchRule::run}, callable(keep_object(callable)) {}

  static void run(Operator& op, const dispatch::BatchRule& rule, const BatchContext& batch,
                  Stack& stack) {
    const GilHold gil;
    const CallSchema& schema = call_schema(op);
    const auto [args, kwargs] = wrap_all_arguments(schema, stack);
    const std::shared_ptr<PyObject> callable = static_cast<const PythonBatchRule&>(rule).callable;
    const Ref result(checked(PyObject_CallFunction(
        callable.get(), "KNiOO", static_cast<unsigned long long>(batch.level), wrap(batch.size),
        static_cast<int>(batch.randomness), args.get(), kwargs.get())));
    stack = read_results(schema, result.get(), "a vmap rule");
  }

  std::shared_ptr<PyObject> callable;
};

}  // namespace

void set_python_batch_rule(Operator& op, PyObject* callable) {
  // Rules stay: a call on another thread may be running the one that is replaced.
  op.batch_rule = callable == Py_None ? nullptr : new PythonBatchRule(callable);
}

}  // namespace taeda::python
