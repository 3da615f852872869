// Whether operations on this thread are recorded for differentiation.
#pragma once

#include "taeda/base/export.h"

namespace taeda::autograd {

namespace autograd_detail {
extern TAEDA_API thread_local constinit bool grad_mode;
}

inline bool grad_enabled() { return autograd_detail::grad_mode; }
inline void set_grad_enabled(bool on) { autograd_detail::grad_mode = on; }

// The mode; an object of this class sets it until the end of the scope.
class GradMode {
 public:
  static bool is_enabled() { return grad_enabled(); }
  static void set_enabled(bool on) { set_grad_enabled(on); }

  explicit GradMode(bool on) : saved_(grad_enabled()) { set_grad_enabled(on); }
  ~GradMode() { set_grad_enabled(saved_); }
  GradMode(const GradMode&) = delete;

 private:
  bool saved_;
};
struct NoGrad : GradMode {
  NoGrad() : GradMode(false) {}
};
struct EnableGrad : GradMode {
  EnableGrad() : GradMode(true) {}
};

}  // namespace taeda::autograd
