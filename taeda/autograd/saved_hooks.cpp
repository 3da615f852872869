// The thread's stack of saved-tensor hooks.
#include "taeda/autograd/saved_hooks.h"

#include <utility>

namespace taeda::autograd {

namespace autograd_detail {
constinit std::atomic<uint32_t> saved_hooks_in_process{0};
}

namespace {

struct HookStack {
  std::vector<IntrusivePtr<SavedTensorHooks>> pairs;
  std::string disabled;
};
thread_local HookStack stack;

}  // namespace

void push_saved_tensor_hooks(IntrusivePtr<SavedTensorHooks> hooks) {
  TAEDA_CHECK(stack.disabled.empty(), stack.disabled);
  stack.pairs.push_back(std::move(hooks));
  ++autograd_detail::saved_hooks_in_process;
}

void pop_saved_tensor_hooks() {
  TAEDA_INTERNAL_CHECK(!stack.pairs.empty(), "no saved-tensor hooks to pop");
  --autograd_detail::saved_hooks_in_process;
  stack.pairs.pop_back();
}

size_t num_saved_tensor_hooks() { return stack.pairs.size(); }

uint64_t& num_failed_packs() {
  thread_local uint64_t count = 0;
  return count;
}

SavedTensorHooksScope::SavedTensorHooksScope() : outer_(stack.pairs) {}
SavedTensorHooksScope::~SavedTensorHooksScope() {
  autograd_detail::saved_hooks_in_process += static_cast<uint32_t>(outer_.size());
  autograd_detail::saved_hooks_in_process -= static_cast<uint32_t>(stack.pairs.size());
  const auto inner = std::exchange(stack.pairs, std::move(outer_));  // freed with the stack whole
}

WithoutSavedTensorHooks::WithoutSavedTensorHooks() {
  while (!stack.pairs.empty()) pop_saved_tensor_hooks();
}

void disable_saved_tensor_hooks(std::string message) {
  TAEDA_CHECK(stack.pairs.empty(), message);
  stack.disabled = std::move(message);
}
void enable_saved_tensor_hooks() { stack.disabled.clear(); }
const std::string& saved_tensor_hooks_disabled() { return stack.disabled; }

IntrusivePtr<SavedTensorHooks> innermost_saved_tensor_hooks() {
  return stack.pairs.empty() ? nullptr : stack.pairs.back();
}

}  // namespace taeda::autograd
