// ReduceBody: a reduction read symbolically.
//
// A reduction is a struct of function templates over the value type V, written once:
//
//   struct Sum {
//     template <class V>
//     struct State { V sum; };
//     template <class V> static State<V> identity() { return {V(0)}; }
//     template <class V> static State<V> lift(V x) { return {x}; }
//     template <class V> static State<V> combine(State<V> a, State<V> b) { return {a.sum + b.sum};
//     } template <class V> static V finish(State<V> s) { return s.sum; }
//   };
//
// combine is associative but for rounding, identity is neutral. The order in which elements are
// combined is Note [Reduction tree].
#pragma once

#include <string>
#include <vector>

#include "taeda/base/export.h"
#include "taeda/kernel/expr.h"

namespace taeda::kernel {

// identity: constants. lift: over inputs 0 .. number of values - 1. combine: over the states of the
// left operand, then of the right one. finish: over the states. takes_place, where the states are
// an element as it is and its index, and the first of equal elements stays: whether the right
// element takes the place of the left one before it, over the same inputs; else -1. Such a body has
// the same result in every order, and for elements that come twice.
struct ReduceBody {
  std::string name;
  Type type;  // of the first value
  ExprGraph graph;
  std::vector<Type> value_types, state_types, result_types;
  std::vector<NodeId> identity, lift, combine, finish;
  NodeId takes_place = -1;

  // Lanes of the reduction tree, by the size of the first state.
  int lanes() const { return 64 / type_size(state_types[0]); }
};

// The body of a name ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "moments",
// "logsumexp", and for scans "running_max", "running_min", "logaddexp") for values of a type; lives
// as long as the program. ValueError for other names, TypeError for types that the body does not
// take. Thread-safe.
TAEDA_API const ReduceBody* find_reduce_body(const std::string& name, Type type);
// The names, in the order above.
TAEDA_API std::vector<std::string> reduce_body_names();

}  // namespace taeda::kernel
