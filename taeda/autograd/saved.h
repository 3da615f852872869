// SavedTensor: a tensor a node keeps from the forward for its backward.
#pragma once

#include "taeda/autograd/node.h"
#include "taeda/autograd/saved_hooks.h"
#include "taeda/dispatch/value.h"

namespace taeda::autograd {

// Remembers the version, and refuses to hand out values that were overwritten since, or an input
// that lost its history since. An input is kept as it is; an output is kept without its history,
// which would own the node that owns us, and gets it back in unpack. This is the only way tensors
// get into a node, so it is where pack and unpack hooks attach: a packed tensor is kept as what its
// hook returned, without a version.
class TAEDA_API SavedTensor {
 public:
  SavedTensor() = default;
  // `is_output`: `tensor` is an output of the very node that saves it; save it after set_history or
  // rebase_history, which say whether and where gradients flow into it.
  SavedTensor(const Tensor& tensor, bool is_output);

  // `node`, needed for outputs, is the node that holds this. Undefined if an undefined tensor was
  // saved; throws if the tensor was modified since or already freed. Outputs get their history back
  // only while recording: formulas ask for nothing else.
  Tensor unpack(Node* node = nullptr) const;
  // The same, always with its history: for users, who may look at it.
  Tensor unpack_with_history(Node* node) const;
  // Packs the kept tensor; throws PyTorch's errors if that is too late.
  void register_hooks(IntrusivePtr<SavedTensorHooks> hooks);
  // Throws where unpack would because the values were overwritten or the tensor was detached. What
  // a hook packed has no version, and the hook is not called.
  void check(const Node* node) const;
  // The values were not changed by the writes until now, whatever the version says: others count
  // theirs with the tensor.
  void accept_writes() {
    if (const Tensor t = kept_tensor(); t.defined()) version_ = t.version();
  }
  // Frees the tensor; unpack throws from now on.
  void release();
  bool is_freed() const { return is_freed_; }
  // What is kept: the tensor, or what a hook made of it; both null where nothing is.
  Tensor kept_tensor() const { return is_packed_ || !held_ ? Tensor() : plain(); }
  PackedTensor* kept_packed() const;

 private:
  struct Packed;

  const Packed& packed() const;
  Tensor plain() const;
  void pack(SavedTensorHooks& hooks, const Tensor& tensor);
  Tensor unpack_packed(Node* node) const;
  void check_unmodified(const Tensor& data, const Node* node) const;
  void check_attached(const Tensor& data) const;
  Tensor with_history(const Tensor& data, Node* node) const;

  IntrusivePtr<RefCounted> held_;  // a TensorImpl, or a Packed where is_packed_
  uint32_t version_ = 0;
  uint32_t output_nr_ = 0;
  bool is_output_ = false;
  bool has_history_ = false;  // a node made the tensor; of outputs unpack restores it
  bool is_packed_ = false;
  bool is_freed_ = false;
};

// Sees the values that a node saved, by the names that the formulas use.
class SavedVisitor {
 public:
  virtual void tensor(const char* name, SavedTensor& saved) = 0;
  virtual void tensors(const char* name, std::vector<SavedTensor>& saved) = 0;
  virtual void value(const char* name, dispatch::Value value) = 0;

 protected:
  ~SavedVisitor() = default;
};

// The errors of this thread that saved values were overwritten.
struct OverwrittenErrors {
  uint64_t count = 0;
  std::string last;  // its message
};
TAEDA_API OverwrittenErrors& overwritten_errors();

// Raises the error of a node whose saved values are gone.
[[noreturn]] TAEDA_API void fail_freed();

}  // namespace taeda::autograd
