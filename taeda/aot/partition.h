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
// where values that are cheap to compute and fuse with their readers may be computed again.
// Products, reductions, random numbers and everything that a library computes are never computed
// twice. Inputs of the forward cost nothing, since they are alive anyway.
#pragma once

#include "taeda/fx/retrace.h"

namespace taeda::aot {

struct Partition {
  // The forward returns the results of the program, then what is saved. The backward takes what is
  // saved, then the tangents, and returns the gradients.
  IntrusivePtr<fx::Graph> forward, backward;
  size_t num_results = 0;
  size_t num_saved = 0;
  // For people: one line per value that is saved or computed again, with its bytes and the reason.
  std::string report;
};

struct PartitionOptions {
  bool recomputes = true;  // false: everything that the backward reads is saved
};

// `num_inputs`: placeholders of the joint graph before the tangents.
TAEDA_API Partition partition(const fx::Retraced& joint, size_t num_inputs,
                              const PartitionOptions& options = {});

}  // namespace taeda::aot
