// NodeTable: the state of each node in one run of the engine, found by the node's address.
#pragma once

#include "taeda/autograd/node.h"

namespace taeda::autograd {

struct NodeState {
  Node* node;
  int32_t dependencies = 0;  // edges into the node whose gradient has not arrived
  bool is_needed = false;    // runs: an input's gradient flows through it
  bool has_capture = false;  // its incoming gradient is a result
  bool is_queued = false;
  SmallVector<Tensor, 2> buffer;  // sums of arrived gradients; empty before the first

  explicit NodeState(Node* node) : node(node) {}
};

// An open-addressing hash of indices into a list. Small graphs stay on the stack; the state is not
// kept in the nodes because threads share them.
class NodeTable {
 public:
  static constexpr uint32_t kNone = ~0U;

  NodeTable() : slots_(kInlineSlots, kNone) {}

  size_t size() const { return states_.size(); }
  NodeState& operator[](uint32_t i) { return states_[i]; }
  const NodeState& operator[](uint32_t i) const { return states_[i]; }

  uint32_t find(const Node* node) const {
    for (size_t at = hash(node);; ++at) {
      const uint32_t i = slots_[at & mask()];
      if (i == kNone || states_[i].node == node) return i;
    }
  }
  // The node's index and whether this call added it.
  std::pair<uint32_t, bool> insert(Node* node) {
    if (2 * (states_.size() + 1) > slots_.size()) grow();
    size_t at = hash(node);
    for (;; ++at) {
      const uint32_t i = slots_[at & mask()];
      if (i == kNone) break;
      if (states_[i].node == node) return {i, false};
    }
    const auto fresh = static_cast<uint32_t>(states_.size());
    slots_[at & mask()] = fresh;
    states_.emplace_back(node);
    return {fresh, true};
  }

 private:
  static constexpr size_t kInlineSlots = 32;

  size_t mask() const { return slots_.size() - 1; }
  static size_t hash(const Node* node) {
    return (reinterpret_cast<uintptr_t>(node) >> 4) * 0x9E3779B97F4A7C15ULL >> 24;
  }
  void grow() {
    SmallVector<uint32_t, kInlineSlots> wider(slots_.size() * 2, kNone);
    slots_ = std::move(wider);
    for (uint32_t i = 0; i < states_.size(); ++i) {
      size_t at = hash(states_[i].node);
      while (slots_[at & mask()] != kNone) ++at;
      slots_[at & mask()] = i;
    }
  }

  SmallVector<NodeState, kInlineSlots / 2> states_;
  SmallVector<uint32_t, kInlineSlots> slots_;
};

}  // namespace taeda::autograd
