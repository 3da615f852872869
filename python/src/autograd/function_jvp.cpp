// Calls jvp and checks what it returns.
#include "python/src/autograd/function_jvp.h"

#include "python/interop/errors.h"
#include "python/interop/tensor_object.h"
#include "python/interop/wrap.h"
#include "taeda/autograd/forward.h"
#include "taeda/ops/functions.h"

namespace taeda::python {

namespace {

bool is_among(const Tensor& t, Span<Tensor> list) {
  for (const Tensor& item : list)
    if (t.is_same(item)) return true;
  return false;
}

// The tangents that the tensors among the arguments have, and their versions before jvp.
struct InputTangents {
  std::vector<Tensor> own;  // undefined where there is none
  std::vector<uint32_t> versions;

  explicit InputTangents(Span<Tensor> inputs) {
    for (const Tensor& t : inputs) {
      own.push_back(autograd::tangent_of(t));
      versions.push_back(own.back().defined() ? own.back().version() : 0);
    }
  }
};

// What jvp gets in the place of each argument of forward.
Ref jvp_arguments(FunctionObject& context, Span<PyObject*> args, const InputTangents& tangents) {
  Ref tuple(checked(PyTuple_New(static_cast<Py_ssize_t>(args.size()) + 1)));
  PyTuple_SET_ITEM(tuple.get(), 0, Py_NewRef(reinterpret_cast<PyObject*>(&context)));
  size_t input = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    Tensor tangent;
    if (is_tensor(args[i])) {
      const Tensor& t = tensor_of(args[i]);
      tangent = tangents.own[input++];
      if (!tangent.defined() && context.materialize_grads && autograd::is_differentiable(t))
        tangent = taeda::zeros_like(t);
    }
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i) + 1, checked(wrap(tangent)));
  }
  return tuple;
}

std::vector<Tensor> read_tangents(PyObject* result, size_t expected) {
  const bool is_tuple = PyTuple_Check(result);
  std::vector<Tensor> out(is_tuple ? PyTuple_GET_SIZE(result) : 1);
  TAEDA_CHECK(out.size() == expected,
              "Function's jvp returned an invalid number of forward gradients (expected ", expected,
              " but got ", out.size(), ")");
  for (size_t i = 0; i < out.size(); ++i) {
    PyObject* item = is_tuple ? PyTuple_GET_ITEM(result, static_cast<Py_ssize_t>(i)) : result;
    if (item == Py_None) continue;
    TAEDA_CHECK(is_tensor(item), "expected Variable or None (got ", Py_TYPE(item)->tp_name,
                ") for grad output ", i, ".");
    out[i] = tensor_of(item);
  }
  return out;
}

void check_written(const Tensor& given, uint32_t version, const Tensor& tangent) {
  TAEDA_CHECK(tangent.is_same(given) && tangent.version() != version,
              "An inplace custom Function is not modifying the forward mode gradients inplace. If "
              "the forward is modifying an input inplace, then the jvp function must modify the "
              "corresponding gradient inplace.");
}

// The output is an input, or a view of it, and `tangent` has to be a view of the tangent given.
void check_view(const Tensor& given, const Tensor& tangent) {
  TAEDA_CHECK(tangent.is_view(),
              "A custom Function's forward is returning a view (or an input as-is) but the jvp is "
              "not returning a view.");
  const TensorImpl* base = tangent.impl()->view_base();
  if (given.is_view())
    TAEDA_CHECK(base == given.impl()->view_base(),
                "A custom Function is returning a view but the jvp is not returning a view of the "
                "same base as the given grad input.");
  else
    TAEDA_CHECK(base == given.impl(),
                "A custom Function is returning a view but the jvp is not returning a view of the "
                "given grad input.");
}

bool is_or_views(const Tensor& returned, const Tensor& input) {
  if (returned.is_same(input)) return true;
  const TensorImpl* base = returned.impl()->view_base();
  return base && (base == input.impl() || base == input.impl()->view_base());
}

// Output `i` and its tangent belong together as the argument behind the output and its tangent do.
void check_aliasing(const FinishedCall& finished, size_t i, bool is_dirty,
                    const InputTangents& tangents, const Tensor& tangent) {
  const Tensor& returned = finished.returned[i];
  for (size_t k = 0; k < tangents.own.size(); ++k) {
    if (!tangents.own[k].defined()) continue;
    const Tensor& input = finished.call.inputs[k];
    if (is_dirty && returned.is_same(input))
      check_written(tangents.own[k], tangents.versions[k], tangent);
    else if (!is_dirty && is_or_views(returned, input))
      check_view(tangents.own[k], tangent);
    else
      continue;
    return;
  }
}

void set_output_tangent(const FinishedCall& finished, size_t i, const InputTangents& tangents,
                        const Tensor& tangent) {
  const Tensor &output = finished.outputs[i], &returned = finished.returned[i];
  if (!output.defined() || !tangent.defined()) return;
  TAEDA_CHECK(
      autograd::is_differentiable(output) && !is_among(returned, finished.call.non_differentiable),
      "Function's jvp returned a gradient at position ", i,
      ", but  the corresponding forward output is not a differentiable Tensor.You should "
      "return None at that position instead.");
  const bool is_dirty = is_among(returned, finished.call.dirty);
  check_aliasing(finished, i, is_dirty, tangents, tangent);
  TAEDA_CHECK(tangent.sym_sizes() == output.sym_sizes(),
              "Trying to set a forward gradient that has a different size than that of the "
              "original Tensor, this is not supported. Tensor is of size ",
              output.sym_sizes(), " while the given forward gradient is of size ",
              tangent.sym_sizes(), ".");
  if (is_dirty)
    autograd::set_tangent_inplace(output, tangent);
  else
    autograd::set_tangent(output, tangent);
}

}  // namespace

void push_forward(PyObject* cls, FunctionObject& context, Span<PyObject*> args,
                  const FinishedCall& finished) {
  static PyObject* const name = checked(PyUnicode_InternFromString("jvp"));
  Ref jvp(checked(PyObject_GetAttr(cls, name)));
  const InputTangents tangents(finished.call.inputs);
  const autograd::ForwardMode off(false);
  Ref given = jvp_arguments(context, args, tangents);
  context.is_in_jvp = true;
  Ref result(PyObject_Call(jvp.get(), given.get(), nullptr));
  context.is_in_jvp = false;
  if (!result) throw_python_error();
  const std::vector<Tensor> pushed = read_tangents(result.get(), finished.outputs.size());
  for (size_t i = 0; i < pushed.size(); ++i) set_output_tangent(finished, i, tangents, pushed[i]);
}

}  // namespace taeda::python
