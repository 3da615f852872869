// The switch of anomaly mode and its checks.
#include "taeda/autograd/anomaly.h"

#include "taeda/autograd/engine.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/ops/functions.h"

namespace taeda::autograd {

namespace autograd_detail {
constinit bool is_anomaly_enabled = false;
}

namespace {

constinit bool checks_nan = true;
AnomalyHooks host;

}  // namespace

bool does_anomaly_check_nan() { return checks_nan; }

void set_anomaly_enabled(bool enabled, bool check_nan) {
  autograd_detail::is_anomaly_enabled = enabled;
  checks_nan = check_nan;
}

void set_anomaly_hooks(const AnomalyHooks& hooks) { host = hooks; }

void autograd_detail::note_new_node(Node& node) {
  if (Node* running = current_node())
    node.ensure_hooks()->parent = IntrusivePtr<Node>::share(running);
  if (host.remember) host.remember(node);
}

void report_anomaly(Node& node) {
  if (host.report) host.report(node);
}

void check_for_nan(const Node& node, Span<Tensor> grad_inputs) {
  const NoGrad unrecorded;
  for (size_t i = 0; i < grad_inputs.size(); ++i) {
    const Tensor& grad = grad_inputs[i];
    if (!grad.defined() || grad.is_meta()) continue;
    TAEDA_CHECK(!read_scalar(isnan(grad).any().to(Device(), DType::Bool)).to_bool(), "Function '",
                node.name(), "' returned nan values in its ", i, "th output.");
  }
}

}  // namespace taeda::autograd
