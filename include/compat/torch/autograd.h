// torch::autograd.
#pragma once

#include "taeda/autograd/anomaly.h"
#include "taeda/autograd/guards.h"
#include "torch/csrc/autograd/autograd.h"

namespace taeda::autograd {

struct AnomalyMode {
  static bool is_enabled() { return is_anomaly_enabled(); }
  static bool should_check_nan() { return does_anomaly_check_nan(); }
  static void set_enabled(bool enabled, bool check_nan = true) {
    set_anomaly_enabled(enabled, check_nan);
  }
};

// Anomaly mode for the time that it lives.
class DetectAnomalyGuard {
 public:
  explicit DetectAnomalyGuard(bool check_nan = true) { AnomalyMode::set_enabled(true, check_nan); }
  ~DetectAnomalyGuard() { AnomalyMode::set_enabled(was_enabled_, checked_nan_); }
  DetectAnomalyGuard(const DetectAnomalyGuard&) = delete;

 private:
  bool was_enabled_ = AnomalyMode::is_enabled(), checked_nan_ = AnomalyMode::should_check_nan();
};

}  // namespace taeda::autograd
