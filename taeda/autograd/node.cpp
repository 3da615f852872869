// Lifetime, hooks and metadata of nodes.
#include "taeda/autograd/node.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace taeda::autograd {

namespace autograd_detail {
thread_local constinit const ExecFilter* exec_filter = nullptr;
thread_local constinit uint64_t next_sequence_nr = 0;
}  // namespace autograd_detail

namespace {

// Nodes that wait for the one being freed; null while none is. See Note [Freeing graphs].
using WaitingNodes = SmallVector<IntrusivePtr<Node>, 8>;
constinit thread_local WaitingNodes* pending TAEDA_STATIC_TLS = nullptr;

uint64_t next_hook_id() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

template <class Hooks, class Hook>
uint64_t add_hook(Hooks& hooks, Hook hook, std::mutex& mutex) {
  const uint64_t id = next_hook_id();
  const std::lock_guard lock(mutex);
  hooks.emplace_back(id, std::move(hook));
  return id;
}

template <class Hooks>
bool erase_id(Hooks& hooks, uint64_t id) {
  return std::erase_if(hooks, [id](const auto& hook) { return hook.first == id; }) != 0;
}

void release_edges(EdgeList& edges) {
  for (Edge& edge : edges)
    if (edge.function) release_node(std::move(edge.function));
  edges.clear();
}

}  // namespace

void release_node(IntrusivePtr<Node> node) {
  if (!node || node->use_count() > 1) return;  // not the last one, nothing to free
  if (pending) {
    pending->push_back(std::move(node));
    return;
  }
  WaitingNodes waiting;
  pending = &waiting;
  node.reset();
  while (!waiting.empty()) {
    IntrusivePtr<Node> next = std::move(waiting.back());
    waiting.pop_back();
    next.reset();
  }
  pending = nullptr;
}

NodeHooks::~NodeHooks() { release_node(std::move(parent)); }

Node::~Node() { release_edges(next_edges_); }

void Node::release_resources() {
  release_saved();
  release_edges(next_edges_);
}

std::string Node::operation_name() const {
  const std::string full = name();
  const size_t at = full.rfind("Backward");
  if (at == std::string::npos || at == 0) return full;
  const std::string overload = full.substr(at + std::strlen("Backward"));
  return full.substr(0, at) + (overload == "0" ? "" : overload);
}

void Node::set_input_dtype(size_t i, std::optional<DType> dtype) {
  InputMetadata& input = input_metadata_[i];
  input.takes_any_dtype = !dtype;
  if (dtype) input.dtype = *dtype;
}

void Node::set_input_metadata(size_t i, const Tensor& output) {
  while (i >= input_metadata_.size()) input_metadata_.emplace_back();
  InputMetadata& input = input_metadata_[i];
  if (!output.defined()) {
    input = InputMetadata();
    return;
  }
  // In place: a node is made by nearly every call, and its metadata is most of its bytes.
  const SymIntList sizes = output.sym_sizes();
  input.sizes.assign(sizes.begin(), sizes.end());
  input.dtype = output.dtype();
  input.device = output.device();
  input.takes_any_dtype = false;
}

const std::shared_ptr<NodeHooks>& Node::ensure_hooks() {
  if (!hooks_) hooks_ = std::make_shared<NodeHooks>();
  return hooks_;
}

uint64_t NodeHooks::add_tensor(uint32_t input, TensorHook hook) {
  const uint64_t id = next_hook_id();
  const std::lock_guard lock(mutex);
  tensor.push_back({id, input, std::move(hook)});
  return id;
}
uint64_t NodeHooks::add_pre(PreHook hook) { return add_hook(pre, std::move(hook), mutex); }
uint64_t NodeHooks::add_post(PostHook hook) { return add_hook(post, std::move(hook), mutex); }
uint64_t NodeHooks::add_post_accumulate(PostAccumulateHook hook) {
  return add_hook(post_accumulate, std::move(hook), mutex);
}

bool NodeHooks::remove(uint64_t id) {
  const std::lock_guard lock(mutex);
  if (std::erase_if(tensor, [id](const OnTensor& hook) { return hook.id == id; }) != 0) return true;
  return erase_id(pre, id) || erase_id(post, id) || erase_id(post_accumulate, id);
}

}  // namespace taeda::autograd
