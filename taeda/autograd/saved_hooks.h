// Hooks on saved tensors: one may be packed into anything and unpacked for backward.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "taeda/core/tensor.h"

namespace taeda::autograd {

// The packed form of a tensor; may be unpacked any number of times, from any thread.
class TAEDA_API PackedTensor : public RefCounted {
 public:
  virtual Tensor unpack() = 0;
};

// A pair of hooks.
class TAEDA_API SavedTensorHooks : public RefCounted {
 public:
  // Gets the very tensor, and must neither change it nor, where it is an output of the node that
  // saves it, keep it: that would be a cycle.
  virtual IntrusivePtr<PackedTensor> pack(const Tensor& tensor) = 0;
};

// The thread's stack of default hooks; the innermost pair packs everything that is saved.
TAEDA_API void push_saved_tensor_hooks(IntrusivePtr<SavedTensorHooks> hooks);
TAEDA_API void pop_saved_tensor_hooks();
TAEDA_API size_t num_saved_tensor_hooks();  // pairs on this thread
// How many calls of hooks threw on this thread so far: whether an error is one of theirs.
TAEDA_API uint64_t& num_failed_packs();
// Keeps the thread's stack: what is pushed or popped until the end of the scope is undone there.
class TAEDA_API SavedTensorHooksScope {
 public:
  SavedTensorHooksScope();
  ~SavedTensorHooksScope();
  SavedTensorHooksScope(const SavedTensorHooksScope&) = delete;

 private:
  std::vector<IntrusivePtr<SavedTensorHooks>> outer_;
};
// A scope without the caller's hooks: they get what a run saves, nothing that a trace does.
class TAEDA_API WithoutSavedTensorHooks {
 public:
  WithoutSavedTensorHooks();

 private:
  SavedTensorHooksScope outer_;
};
// While disabled, pushing raises `message`; disabling raises it where hooks are active already.
TAEDA_API void disable_saved_tensor_hooks(std::string message);
TAEDA_API void enable_saved_tensor_hooks();
// The message on this thread; empty while hooks are allowed.
TAEDA_API const std::string& saved_tensor_hooks_disabled();

namespace autograd_detail {
// How many pairs all threads together have pushed: while it is zero nobody asks the thread's stack.
extern TAEDA_API constinit std::atomic<uint32_t> saved_hooks_in_process;
}  // namespace autograd_detail

TAEDA_API IntrusivePtr<SavedTensorHooks> innermost_saved_tensor_hooks();
// The pair new saved tensors go through, null almost always.
inline IntrusivePtr<SavedTensorHooks> default_saved_tensor_hooks() {
  if (__builtin_expect(autograd_detail::saved_hooks_in_process.load(std::memory_order_relaxed) == 0,
                       1))
    return nullptr;
  return innermost_saved_tensor_hooks();
}

}  // namespace taeda::autograd
