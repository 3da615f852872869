// Anomaly mode: remembers where nodes were made, and checks what they compute.
//
// While it is on, every new node is shown to the host language, which keeps the stack of the
// forward call; a node that fails in backward, or computes NaN, is shown again so that the stack
// can be told. The switch is process-wide and costs one branch a node while it is off.
#pragma once

#include "taeda/autograd/node.h"

namespace taeda::autograd {

inline bool is_anomaly_enabled() { return autograd_detail::is_anomaly_enabled; }
TAEDA_API bool does_anomaly_check_nan();
TAEDA_API void set_anomaly_enabled(bool enabled, bool check_nan = true);

// Callbacks of the host language; both may be null.
struct AnomalyHooks {
  void (*remember)(Node& node) = nullptr;  // the node is being made: note the stack
  void (*report)(Node& node) = nullptr;    // the node failed: tell its stack
};
TAEDA_API void set_anomaly_hooks(const AnomalyHooks& hooks);

// For the engine: tells where `node` came from, and refuses NaN among its results.
void report_anomaly(Node& node);
void check_for_nan(const Node& node, Span<Tensor> grad_inputs);

}  // namespace taeda::autograd
