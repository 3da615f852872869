// Another thread with the same modes.
#include "taeda/autograd/fresh_stack.h"

#include <exception>
#include <thread>

#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/saved_hooks.h"
#include "taeda/core/tensor.h"

namespace taeda::autograd {
namespace {

// What of a thread decides how operations on it behave.
class ThreadModes {
 public:
  ThreadModes()
      : grad_(grad_enabled()),
        inference_(is_inference_mode()),
        keys_(local_keys()),
        saved_hooks_(innermost_saved_tensor_hooks()) {}

  void apply() const {
    set_grad_enabled(grad_);
    set_inference_mode(inference_);
    local_keys() = keys_;
    if (saved_hooks_) push_saved_tensor_hooks(saved_hooks_);
  }
  // Only what outlives the thread.
  void undo() const {
    if (saved_hooks_) pop_saved_tensor_hooks();
  }

 private:
  bool grad_, inference_;
  LocalKeys keys_;
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
