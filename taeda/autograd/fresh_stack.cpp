// Runs a function on another thread, whose stack is fresh, with the same modes.
#include "taeda/autograd/fresh_stack.h"

#include <exception>
#include <thread>

#include "taeda/autograd/autocast.h"
#include "taeda/autograd/forward.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/saved_hooks.h"
#include "taeda/core/tensor.h"
#include "taeda/dispatch/levels.h"
#include "taeda/dispatch/modes.h"

namespace taeda::autograd {
namespace {

// The thread-local state that decides how operations behave.
class ThreadModes {
 public:
  ThreadModes()
      : grad_(grad_enabled()),
        forward_(forward_enabled()),
        inference_(is_inference_mode()),
        levels_(dispatch::dispatch_detail::levels()),
        keys_(local_keys()),
        modes_(dispatch::modes()),
        saved_hooks_(innermost_saved_tensor_hooks()) {
    for (int i = 0; i < kNumDeviceTypes; ++i) {
      const auto device = static_cast<DeviceType>(i);
      autocast_[i] = {autocast::is_enabled(device), autocast::dtype_of(device)};
    }
  }

  void apply() const {
    set_grad_enabled(grad_);
    set_forward_enabled(forward_);
    set_inference_mode(inference_);
    dispatch::dispatch_detail::levels() = levels_;
    for (int i = 0; i < kNumDeviceTypes; ++i) {
      if (!autocast_[i].is_enabled) continue;
      autocast::set_dtype(static_cast<DeviceType>(i), autocast_[i].dtype);
      autocast::set_enabled(static_cast<DeviceType>(i), true);
    }
    local_keys() = keys_;
    dispatch::set_modes(modes_);
    if (saved_hooks_) push_saved_tensor_hooks(saved_hooks_);
  }
  // Only state that outlives the thread.
  void undo() const {
    if (saved_hooks_) pop_saved_tensor_hooks();
    dispatch::set_modes({});
  }

 private:
  bool grad_, forward_, inference_;
  std::vector<dispatch::Level> levels_;
  struct Autocast {
    bool is_enabled;
    DType dtype;
  };
  Autocast autocast_[kNumDeviceTypes];
  LocalKeys keys_;
  dispatch::ModeStack modes_;
  IntrusivePtr<SavedTensorHooks> saved_hooks_;
};

}  // namespace

void call_on_fresh_stack(FunctionRef<void()> work) {
  const ThreadModes modes;
  std::exception_ptr error;
  std::thread thread([&] {
    modes.apply();
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
    modes.undo();
  });
  thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace taeda::autograd
