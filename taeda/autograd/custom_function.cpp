// Histories of the results of custom functions, and the routing of their gradients.
#include "taeda/autograd/custom_function.h"

#include "taeda/autograd/variable.h"
#include "taeda/base/log.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {
namespace {

constexpr size_t kNowhere = ~size_t{0};

size_t position(const Tensor& t, Span<Tensor> list) {
  for (size_t i = 0; i < list.size(); ++i)
    if (t.is_same(list[i])) return i;
  return kNowhere;
}
bool is_among(const Tensor& t, Span<Tensor> list) { return position(t, list) != kNowhere; }

void check_dirty_are_returned(Span<Tensor> dirty, Span<Tensor> outputs) {
  for (const Tensor& t : dirty)
    TAEDA_CHECK(
        is_among(t, outputs),
        "Some elements marked as dirty during the forward method were not returned as "
        "output. The inputs that are modified inplace must all be outputs of the Function.");
}

// What an input becomes that came back as it is.
Tensor view_of_input(const Tensor& input, const CustomCall& call) {
  TAEDA_CHECK(!is_among(input, call.saved_behind),
              "An input that has been returned as-is as output is being saved for backward. This "
              "is not supported if you override setup_context. You should return and save a view "
              "of the input instead, e.g. with x.view_as(x) or setup ctx inside the forward "
              "function itself.");
  return call.view(input);
}

// An output that takes no part in differentiation; inputs keep their own flags.
Tensor without_gradient(Tensor output, bool is_input, bool is_dirty, const CustomCall& call) {
  if (!requires_grad(output))
    return is_input && !is_dirty ? view_of_input(output, call) : std::move(output);
  if (is_input) return detach(output);
  if (!output.is_view()) detach_inplace(output);
  return output;
}

void record_write(const Tensor& output, const CustomCall& call, const IntrusivePtr<Node>& node,
                  uint32_t nr, size_t num_outputs) {
  TAEDA_CHECK(!requires_grad(output) || !is_leaf(output),
              "a leaf Variable that requires grad has been used in an in-place operation.");
  const size_t input = position(output, call.inputs);
  constexpr const char* kNoInput =
      "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have "
      "been mutated should be passed to ctx.mark_dirty().";
  TAEDA_CHECK(input != kNowhere || !output.is_view(), kNoInput);
  if (input == kNowhere) warn(kNoInput);
  if (output.is_view()) {
    check_inplace(output, /*any_requires_grad=*/true);
    TAEDA_CHECK(
        num_outputs == 1,
        "If your Function modifies inplace an input that is a view of another Tensor, your Function"
        " cannot return more than one Tensor. This is not supported by the current autograd engine."
        " You should either make sure the input is not a view (using .clone() for example) or make "
        "your Function only return one Tensor (potentially splitting it into two Functions: one "
        "doing the inplace that returns a single Tensor and a second one that does the other "
        "operations).");
  }
  rebase_history(output, node, nr, input == kNowhere ? 0 : input);
}

}  // namespace

Tensor view_without_grad(const Tensor& input) {
  const NoGrad unrecorded;
  return input.view(input.sym_sizes());
}

void record_outputs(std::vector<Tensor>& outputs, const CustomCall& call,
                    const IntrusivePtr<Node>& node) {
  check_dirty_are_returned(call.dirty, outputs);
  size_t num_tensors = 0, num_recorded = 0;
  for (const Tensor& output : outputs) num_tensors += output.defined();
  SmallVector<bool, 4> is_fresh_view(outputs.size(), false);
  for (size_t i = 0; i < outputs.size(); ++i) {
    Tensor& output = outputs[i];
    const auto nr = static_cast<uint32_t>(i);
    if (node) node->set_input_metadata(i, Tensor());
    if (!output.defined()) continue;
    const bool is_input = is_among(output, call.inputs), is_dirty = is_among(output, call.dirty);
    if (!node || !is_differentiable(output.dtype()) || is_among(output, call.non_differentiable)) {
      output = without_gradient(std::move(output), is_input, is_dirty, call);
    } else {
      ++num_recorded;
      if (is_dirty) {
        record_write(output, call, node, nr, num_tensors);
      } else {
        if (is_input) output = view_of_input(output, call);
        set_history(output, node, nr);
      }
    }
    is_fresh_view[i] = output.is_view() && !(is_input && is_dirty);
  }
  const ViewOrigin origin = num_recorded > 1 ? ViewOrigin::MultiOutput : ViewOrigin::CustomFunction;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (is_fresh_view[i]) outputs[i].impl()->set_view_origin(origin);
}

// ---- CustomNode ----

void CustomNode::release_saved() {
  for (SavedTensor& s : saved_) s.release();
}

void CustomNode::release_resources() {
  saved_.clear();
  Node::release_resources();
}

void CustomNode::save(Span<Tensor> tensors, Span<Tensor> outputs) {
  saved_.clear();
  saved_.reserve(tensors.size());
  for (const Tensor& t : tensors) saved_.emplace_back(t, t.defined() && is_among(t, outputs));
}

std::vector<Tensor> CustomNode::saved_tensors() {
  std::vector<Tensor> out;
  out.reserve(saved_.size());
  for (const SavedTensor& s : saved_) out.push_back(s.unpack_with_history(this));
  return out;
}

void CustomNode::apply_and_show(Span<Tensor>, std::vector<Tensor>&, Span<uint32_t>, ShowInner) {
  TAEDA_INTERNAL_CHECK(false, name(), " has no gradients that are complete inside of it alone");
}

bool CustomNode::needs_argument(size_t i) const {
  if (i >= is_tensor_.size() || !is_tensor_[i]) return false;
  size_t edge = 0;
  for (size_t k = 0; k < i; ++k) edge += is_tensor_[k];
  return needs_input(edge);
}

void CustomNode::remember_outputs(Span<Tensor> outputs) {
  for (const Tensor& t : outputs)
    output_like_.push_back(t.defined() ? InputMetadata(t) : InputMetadata());
}

std::vector<Tensor> CustomNode::materialized(Span<Tensor> grads) const {
  std::vector<Tensor> out = grads.vec();
  for (size_t i = 0; i < out.size() && i < output_like_.size(); ++i) {
    const InputMetadata& like = output_like_[i];
    if (out[i].defined() || !like.is_defined()) continue;
    out[i] = zeros(SymIntList(like.sizes), like.dtype, Layout::Strided, like.device);
  }
  return out;
}

void CustomNode::route(std::vector<Tensor> results, std::vector<Tensor>& grad_inputs) const {
  const size_t expected = is_tensor_.size(), got = results.size();
  while (results.size() > expected && !results.back().defined()) results.pop_back();
  TAEDA_CHECK(results.size() == expected, "function ", name(),
              " returned an incorrect number of gradients (expected ", expected, ", got ", got,
              ")");
  size_t edge = 0;
  for (size_t i = 0; i < expected; ++i) {
    if (is_tensor_[i]) {
      grad_inputs[edge++] = std::move(results[i]);
      continue;
    }
    TAEDA_CHECK(!results[i].defined(), "function ", name(),
                " returned a gradient different than None at position ", i + 1,
                ", but the corresponding forward input was not a Variable");
  }
}

// ---- delayed errors ----

namespace {

class ErrorNode final : public Node {
 public:
  explicit ErrorNode(std::string message) : message_(std::move(message)) {}
  const char* name() const override { return "Error"; }
  bool wants_undefined() const override { return true; }
  void apply(Span<Tensor>, std::vector<Tensor>&) override { fail(ErrorKind::Runtime, message_); }

 private:
  std::string message_;
};

}  // namespace

std::vector<Tensor> delay_error(std::string message, const std::vector<Tensor>& tensors) {
  const IntrusivePtr<Node> node = make_intrusive<ErrorNode>(std::move(message));
  node->set_next_edges(collect_edges(TensorList(tensors)));
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) {
    out.push_back(t.defined() ? detached(t) : Tensor());
    set_history(out.back(), node, static_cast<uint32_t>(out.size() - 1));
  }
  return out;
}

}  // namespace taeda::autograd
