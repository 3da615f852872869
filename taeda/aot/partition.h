// Partition: a joint graph cut into a forward and a backward graph.
//
//   joint(x, w, tangent) {              forward(x, w) {           backward(x, w, relu, tangent) {
//     mm = x @ w                          mm = x @ w                mask = relu <= 0
//     relu = relu(mm)             ->      relu = relu(mm)           g = where(mask, 0, tangent)
//     mask = relu <= 0                    return relu, x, w, relu   return g @ w.T, x.T @ g
//     g = where(mask, 0, tangent)       }                         }
//     return relu, g @ w.T, x.T @ g
//   }
//
// Note [What is saved]: the values between the two are a minimum cut: as few bytes as possible,
// where values that are cheap to compute and fuse with their readers may be computed again. Of
// several such cuts it is the last, so that least is computed again.
// Products, reductions, random numbers and everything that a library computes are never computed
// twice, unless a budget of memory asks for it. Inputs of the forward that the gradients read, as
// eager keeps them, cost nothing, since they are alive anyway, and neither do leaves that need
// gradients. Other inputs may be written to before the backward runs, where eager kept a result
// that was made of them (`h += tanh(h)`): they are copied if they are saved, which costs their
// bytes, so the result is preferred. Inputs that the program itself writes to are copied, too. What
// only the backward reads, and no tangent reaches, is what a checkpointed region computes for the
// second time: it stays in the backward unless its result is smaller than what it is made of.
#pragma once

#include <string>
#include <unordered_set>

#include "taeda/fx/retrace.h"

namespace taeda::aot {

// Where a value that the backward needs is after the forward.
struct Saved {
  enum class Kind : uint8_t { Input, Value, Own };
  Kind kind;
  size_t number;  // of the input, or of the element of the forward's tuple
};

struct Partition {
  // The forward returns the values of the joint graph, then those that are saved and lie nowhere
  // else. The backward takes what is saved, then the tangents, and returns the gradients.
  IntrusivePtr<fx::Graph> forward, backward;
  size_t num_values = 0;
  std::vector<Saved> saved;
  std::vector<size_t> primal_inputs;  // that the gradients are made of
  std::vector<Saved> primals;         // where these inputs are
  // For people: one line per value that is saved or computed again, with its bytes and the reason.
  std::string report;
};

struct PartitionOptions {
  bool recomputes = true;  // false: everything that the backward reads is saved
  // The share of the bytes saved by the rule above that may be saved; below 1, products and
  // reductions are computed again as well, those first that cost least for their bytes.
  double memory_budget = 1;
  // Nodes, by name, that are computed again whatever they cost, and nodes that are never.
  std::unordered_set<std::string> computed_again, computed_once;
  // Inputs that nobody writes to before the backward has run: leaves that need gradients.
  std::unordered_set<size_t> lasting;
};

// `num_inputs`: placeholders of the joint graph before the tangents.
TAEDA_API Partition partition(const fx::Retraced& joint, size_t num_inputs,
                              const PartitionOptions& options = {});

// The same as partition() for parts that somebody else cut: `forward` returns the values and then
// everything that is saved, `backward` takes that and the tangents.
TAEDA_API Partition take_parts(const fx::Retraced& joint, size_t num_inputs,
                               const fx::Graph& forward, IntrusivePtr<fx::Graph> backward);

// The forward graph as others expect it: everything that is saved is among its results, behind the
// values, in the order in which the backward takes it; then what else the forward returns.
// `places`: by result of the forward, where it is among those results.
TAEDA_API IntrusivePtr<fx::Graph> with_all_saved(const Partition& parts,
                                                 std::vector<size_t>* places = nullptr);

}  // namespace taeda::aot
