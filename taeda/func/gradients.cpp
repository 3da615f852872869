// Running the engine for transforms, and the checks with PyTorch's phrases.
#include "taeda/func/gradients.h"

#include <algorithm>

#include "taeda/autograd/engine.h"
#include "taeda/autograd/variable.h"
#include "taeda/func/argnums.h"
#include "taeda/ops/functions.h"

namespace taeda::func::func_detail {

std::vector<Tensor> gradients(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& cotangents, bool keep_graph,
                              bool create_graph) {
  std::vector<Tensor> roots, weights, wanted;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!autograd::requires_grad(outputs[i])) continue;
    roots.push_back(outputs[i]);
    if (!cotangents.empty()) weights.push_back(cotangents[i]);
  }
  std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(wanted),
               [](const Tensor& t) { return autograd::requires_grad(t); });
  std::vector<Tensor> found;
  if (!roots.empty() && !wanted.empty())
    found = autograd::run_backward(roots, weights, keep_graph, create_graph, wanted,
                                   /*allow_unused=*/true, /*accumulate=*/false);
  std::vector<Tensor> grads;
  size_t next = 0;
  for (const Tensor& input : inputs) {
    Tensor grad;
    if (!found.empty() && autograd::requires_grad(input)) grad = found[next++];
    grads.push_back(grad.defined() ? grad : taeda::zeros_like(input));
  }
  return grads;
}

void check_scalar_output(const Tensor& output) {
  TAEDA_CHECK(output.defined(),
              "grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got an undefined "
              "one");
  TAEDA_CHECK(output.dim() == 0,
              "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor "
              "with ",
              output.dim(), " dims. Maybe you wanted to use the vjp or jacrev APIs instead?");
}

void check_has_outputs(const char* api, bool has_outputs) {
  TAEDA_CHECK(has_outputs, api,
              ": Expected f to be a function that has non-empty output (got output = ())");
}

void check_vjp_outputs(const std::vector<Tensor>& outputs) {
  check_has_outputs("vjp(f, *primals)", !outputs.empty());
  for (const Tensor& t : outputs)
    TAEDA_CHECK(autograd::is_differentiable(t),
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                "Tensor with dtype torch.",
                dtype_name(t.dtype()));
}

void fail_cotangents(const std::string& cotangents, const std::string& outputs) {
  fail(ErrorKind::Runtime,
       "Expected pytree structure of cotangents to be the same as pytree structure of outputs to "
       "the function. cotangents: ",
       cotangents, ", primal output: ", outputs);
}

void check_jvp_inputs(bool is_same_form, const std::string& primals, const std::string& tangents,
                      size_t num_primals) {
  TAEDA_CHECK(is_same_form,
              "jvp(f, primals, tangents): Expected primals and tangents to have the same python "
              "structure. For example, if primals is a tuple of 3 tensors, tangents also must be. "
              "Got primals with structure ",
              primals, " and tangents with structure ", tangents);
  TAEDA_CHECK(num_primals > 0,
              "jvp(f, primals, tangents): Expected primals to contain at least one Tensor.");
}

void check_strict(const Tensor& tangent) {
  TAEDA_CHECK(tangent.defined(),
              "jvp(f, primals, tangents, strict=True): The output of f is independent of the "
              "inputs. This is not allowed with strict=True.");
}

size_t check_argnum(int64_t argnum, size_t num_args) {
  const auto count = static_cast<int64_t>(num_args);
  TAEDA_CHECK(-count <= argnum && argnum < count, "Got argnum=", argnum, ", but only ", count,
              " positional inputs");
  return static_cast<size_t>(argnum < 0 ? argnum + count : argnum);
}

std::vector<size_t> check_argnums(const std::vector<int64_t>& argnums, size_t num_args) {
  TAEDA_CHECK(!argnums.empty(), "argnums must be non-empty");
  std::vector<size_t> places;
  for (const int64_t n : argnums) {
    places.push_back(check_argnum(n, num_args));
    TAEDA_CHECK(std::count(places.begin(), places.end(), places.back()) == 1,
                "argnums elements must be unique, got ", IntList(argnums));
  }
  return places;
}

}  // namespace taeda::func::func_detail
