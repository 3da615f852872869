// Node: one recorded operation; the backward graph is nodes and the edges between them.
//
// A node's inputs are the gradients of the forward operation's outputs; its results are the
// gradients of the forward operation's differentiable arguments, one for each next edge.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "taeda/base/intrusive_ptr.h"
#include "taeda/base/small_vector.h"
#include "taeda/core/tensor.h"

namespace taeda::autograd {

class Node;
class SavedVisitor;

// Where a gradient goes: input `input_nr` of `function`. No function: the argument needs none.
struct Edge {
  IntrusivePtr<Node> function;
  uint32_t input_nr = 0;
  explicit operator bool() const { return static_cast<bool>(function); }
};
using EdgeList = SmallVector<Edge, 2>;

// Metadata of a forward output, against which the engine checks the incoming gradient.
struct InputMetadata {
  SymIntVec sizes;
  DType dtype = DType::Undefined;  // Undefined: that output is not differentiable
  Device device;
  bool takes_any_dtype = false;  // gradients keep theirs

  InputMetadata() = default;
  explicit InputMetadata(const Tensor& output)
      : sizes(output.sym_sizes()), dtype(output.dtype()), device(output.device()) {}
  bool is_defined() const { return dtype != DType::Undefined; }
};

// Sees the gradient of one forward output; a defined result replaces it.
using TensorHook = std::function<Tensor(const Tensor& grad)>;
// Sees, and may change, all incoming gradients before the node runs.
using PreHook = std::function<void(std::vector<Tensor>& grads)>;
// Sees, and may change, the node's results.
using PostHook = std::function<void(std::vector<Tensor>& grad_inputs, Span<Tensor> grads)>;
// Sees a leaf after its gradient was accumulated.
using PostAccumulateHook = std::function<void(const Tensor& variable)>;

// Everything rare about a node, behind one pointer: its hooks, which run in the order of the
// members, hooks of one kind in the order of registration, and the data of anomaly mode. Ids are
// unique in the process. Lists change under the mutex; the engine runs copies of them.
struct TAEDA_API NodeHooks {
  ~NodeHooks();
  struct OnTensor {
    uint64_t id;
    uint32_t input;
    TensorHook call;
  };
  // A tensor that wants its gradient kept (retain_grad): runs after all tensor hooks.
  struct Retain {
    uint32_t input;
    WeakPtr<TensorImpl> tensor;
    const TensorImpl* key;  // for removal, never followed
  };
  std::vector<OnTensor> tensor;
  std::vector<Retain> retain;
  std::vector<std::pair<uint64_t, PreHook>> pre;
  std::vector<std::pair<uint64_t, PostHook>> post;
  std::vector<std::pair<uint64_t, PostAccumulateHook>> post_accumulate;

  std::shared_ptr<void> metadata;  // the host language's notes on the node
  IntrusivePtr<Node> parent;       // anomaly mode: the node whose run made this one
  std::mutex mutex;

  // A copy that stays as it is while hooks come and go.
  template <class List>
  List copy_of(const List& list) {
    const std::lock_guard lock(mutex);
    return list;
  }
  uint64_t add_tensor(uint32_t input, TensorHook hook);
  uint64_t add_pre(PreHook hook);
  uint64_t add_post(PostHook hook);
  uint64_t add_post_accumulate(PostAccumulateHook hook);
  // Drops the hook with that id, whatever its kind; false if there is none.
  bool remove(uint64_t id);
};

// Decides which nodes a run with `inputs=` visits; set by the engine while a node is applied.
class ExecFilter {
 public:
  virtual bool allows(const Node& node) const = 0;

 protected:
  ~ExecFilter() = default;
};

namespace autograd_detail {
extern TAEDA_API thread_local constinit const ExecFilter* exec_filter;
extern TAEDA_API thread_local constinit uint64_t next_sequence_nr;
extern TAEDA_API constinit bool is_anomaly_enabled;  // see anomaly.h
TAEDA_API void note_new_node(Node& node);
}  // namespace autograd_detail

// Sets the filter until the end of the scope; null lets every node run.
class ExecFilterScope {
 public:
  explicit ExecFilterScope(const ExecFilter* filter)
      : saved_(std::exchange(autograd_detail::exec_filter, filter)) {}
  ~ExecFilterScope() { autograd_detail::exec_filter = saved_; }
  ExecFilterScope(const ExecFilterScope&) = delete;

 private:
  const ExecFilter* saved_;
};

// Several threads may run the same graph at once if they keep it; a node's apply must not change
// it.
class TAEDA_API Node : public RefCounted {
 public:
  // Nodes made later on a thread run earlier: the number orders the engine's queue.
  static constexpr uint64_t kRunsFirst = ~0ULL;

  Node() : sequence_nr_(autograd_detail::next_sequence_nr++) {
    if (__builtin_expect(autograd_detail::is_anomaly_enabled, 0))
      autograd_detail::note_new_node(*this);
  }
  explicit Node(uint64_t sequence_nr) : sequence_nr_(sequence_nr) {}
  ~Node() override;

  // "AddBackward0"
  virtual const char* name() const = 0;
  // "Add": the operation's name in PyTorch's messages.
  std::string operation_name() const;
  // `grads`: one for each forward output, undefined where nothing flowed. `grad_inputs` has one
  // undefined tensor for each next edge; fill those with needs_input(i).
  virtual void apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) = 0;
  // Drops saved tensors once the node ran in a run that does not keep the graph.
  virtual void release_saved() {}
  // Whether apply must run even if no gradient arrived; otherwise the engine passes "none" on.
  virtual bool wants_undefined() const { return false; }
  // Shows every saved value by name; see saved.h.
  virtual void visit_saved(SavedVisitor&) {}
  // Of edges to nodes that are equally urgent: which runs first, the least one. Empty: it is left
  // to the queue.
  virtual Span<uint32_t> edge_ranks() const { return {}; }
  // The object of the host language that stands for this node; null: it makes one when asked.
  virtual void* host_object() const { return nullptr; }

  uint64_t sequence_nr() const { return sequence_nr_; }
  void set_sequence_nr(uint64_t nr) { sequence_nr_ = nr; }

  void set_next_edges(EdgeList edges) { next_edges_ = std::move(edges); }
  Span<Edge> next_edges() const { return {next_edges_.data(), next_edges_.size()}; }
  const Edge& next_edge(size_t i) const { return next_edges_[i]; }
  size_t num_edges() const { return next_edges_.size(); }
  bool has_edge(size_t i) const { return static_cast<bool>(next_edges_[i]); }
  bool needs_input(size_t i) const {
    const Node* next = next_edges_[i].function.get();
    return next && (!autograd_detail::exec_filter || autograd_detail::exec_filter->allows(*next));
  }
  // Any of the edges [from, from + count): a TensorList argument.
  bool needs_any_input(size_t from, size_t count) const {
    for (size_t i = from; i < from + count; ++i)
      if (needs_input(i)) return true;
    return false;
  }

  size_t num_inputs() const { return input_metadata_.size(); }
  const InputMetadata& input_metadata(size_t i) const { return input_metadata_[i]; }
  void set_input_metadata(size_t i, const Tensor& output);
  // The dtype that gradients are brought to; none: they keep theirs.
  void set_input_dtype(size_t i, std::optional<DType> dtype);

  // Shared because a leaf keeps its hooks while its accumulator comes and goes.
  NodeHooks* hooks() const { return hooks_.get(); }
  const std::shared_ptr<NodeHooks>& ensure_hooks();
  void share_hooks(std::shared_ptr<NodeHooks> hooks) { hooks_ = std::move(hooks); }

 protected:
  void release_resources() override;

 private:
  uint64_t sequence_nr_;
  EdgeList next_edges_;
  SmallVector<InputMetadata, 1> input_metadata_;
  std::shared_ptr<NodeHooks> hooks_;
};

// Note [Freeing graphs]: dropping the last reference to a node drops the nodes behind it, through
// edges and through the histories of saved tensors. Both go through here: while one node is being
// freed on this thread the next ones wait in a list, so the stack stays flat however long the chain
// is.
TAEDA_API void release_node(IntrusivePtr<Node> node);

}  // namespace taeda::autograd
