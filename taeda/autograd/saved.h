// SavedTensor: a tensor a node keeps from the forward for its backward.
#pragma once

#include "taeda/autograd/node.h"

namespace taeda::autograd {

// Remembers the version, and refuses to hand out values that were overwritten since. An input is
// kept as it is; an output is kept without its history, which would own the node that owns us, and
// gets it back in unpack. This is the only way tensors get into a node, so it is where pack and
// unpack hooks attach.
class TAEDA_API SavedTensor {
 public:
  SavedTensor() = default;
  // `is_output`: `tensor` is an output of the very node that saves it; save it after set_history or
  // rebase_history, which say whether and where gradients flow into it.
  SavedTensor(const Tensor& tensor, bool is_output);

  // `node`, needed for outputs, is the node that holds this. Undefined if an undefined tensor was
  // saved; throws if the tensor was modified since or already freed.
  Tensor unpack(Node* node = nullptr) const;
  // Frees the tensor; unpack throws from now on.
  void release();
  bool is_freed() const { return is_freed_; }

 private:
  Tensor data_;
  uint32_t version_ = 0;
  uint32_t output_nr_ = 0;
  bool is_output_ = false;
  bool has_history_ = false;  // outputs: unpack restores one
  bool is_freed_ = false;
};

// What a node raises whose saved values are gone.
[[noreturn]] TAEDA_API void fail_freed();

}  // namespace taeda::autograd
