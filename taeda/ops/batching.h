// Batching rules: how operators run over a batch of arguments at once, for vmap.
//
// A record names its rule: "pointwise", "dims" and "fold" are generic, "decompose" runs the
// operator's own composition, "random" asks the level's randomness, "rule" is a function
// batch::<ident> in the family's sources. Operators without one run once for each example, with a
// warning.
#pragma once

#include "taeda/dispatch/boxing.h"
#include "taeda/dispatch/levels.h"

namespace taeda {

// An argument or result of a rule: its values, and where the batch is if it has one.
struct Batched {
  Tensor value;
  int64_t dim = -1;  // -1: the same for every example

  Batched() = default;
  Batched(Tensor value, int64_t dim) : value(std::move(value)), dim(dim) {}
  bool is_batched() const { return dim >= 0; }
  bool defined() const { return value.defined(); }
  // Of one example.
  int64_t rank() const { return value.dim() - (is_batched() ? 1 : 0); }
  // The values with the batch in front; unbatched ones as they are.
  TAEDA_API Tensor front() const;
  // With the batch in front, unbatched ones expanded to it.
  TAEDA_API Tensor front_expanded(const SymInt& size) const;
  // With the batch in front and ones behind it up to `rank` dimensions an example.
  TAEDA_API Tensor front_aligned(int64_t rank) const;
};
using BatchedList = std::vector<Batched>;

struct BatchContext {
  uint64_t level;
  SymInt size;
  dispatch::Randomness randomness;
};

// The role of an argument in the generic rules.
enum class Role : uint8_t {
  Other,
  Tensor,
  Model,  // a tensor whose rank the result has; the first one unless an argument says so
  Tensors,
  Dim,          // wraps at the example's rank
  NewDim,       // wraps at the rank plus one
  Dims,         // none given: all of them
  SomeDims,     // an empty list: none of them; no list: all
  Permutation,  // one for every dimension
  Size,         // the batch size goes in front
  Shape,        // a tensor of which only the shape matters
  FoldedSize,   // the batch is folded into the first of these sizes
};

// The number of examples in the rule that runs on this thread.
TAEDA_API const BatchContext& batch_context();
// Whether each example draws random numbers of its own, or all share one draw; throws where the
// level allows no random operator.
TAEDA_API bool draws_per_example();
// An argument of a draw that all examples share must be the same for all.
TAEDA_API void check_same_draw(const Batched& argument);
// PyTorch's error for an operator whose result has another shape for each example.
[[noreturn]] TAEDA_API void fail_dynamic_batch(std::string_view op);

}  // namespace taeda

namespace taeda::dispatch {

struct BatchRule {
  using Run = void (*)(Operator& op, const BatchRule& rule, const BatchContext& context,
                       Stack& stack);
  Run run;
  const Role* roles = nullptr;  // one for each argument, for generic rules
  void* function = nullptr;     // the decomposition or the rule's own function
  bool is_random = false;       // runs even if no argument is batched
  bool is_inplace = false;
  bool keeps_level = false;     // runs with the level still active
  const char* error = nullptr;  // the message of a forbidden call, if the record has one
};

// Rules see tensors as batches; the stack holds wrappers of the level that runs.
template <>
struct Boxing<const Batched&> {
  using Owned = Batched;
  static Batched from(const Value& v) {
    if (v.is_none()) return {};
    const Tensor& t = v.get<Tensor>();
    const LevelWrapper* w = wrapper_at(t, batch_context().level);
    return w ? Batched(w->value, w->batch_dim) : Batched(t, -1);
  }
  static const Batched& pass(const Owned& o) { return o; }
};
template <>
struct Boxing<Batched> : Boxing<const Batched&> {
  static Value to(const Batched& b) {
    if (!b.defined()) return Value();
    return b.is_batched() ? Value(make_wrapper(b.value, batch_context().level, b.dim))
                          : Value(b.value);
  }
};
template <>
struct Boxing<const BatchedList&> {
  using Owned = BatchedList;
  static BatchedList from(const Value& v) {
    BatchedList out;
    for (const Tensor& t : v.get<std::vector<Tensor>>())
      out.push_back(t.defined() ? Boxing<const Batched&>::from(Value(t)) : Batched());
    return out;
  }
  static const BatchedList& pass(const Owned& o) { return o; }
};
template <>
struct Boxing<BatchedList> {
  static Value to(const BatchedList& list) {
    std::vector<Tensor> out;
    for (const Batched& b : list) {
      const Value v = Boxing<Batched>::to(b);
      out.push_back(v.is_none() ? Tensor() : v.get<Tensor>());
    }
    return Value(std::move(out));
  }
};

}  // namespace taeda::dispatch

namespace taeda {

// ---- the generic rules, named in the records ----
using RuleRun = void(dispatch::Operator&, const dispatch::BatchRule&, const BatchContext&,
                     dispatch::Stack&);
TAEDA_API RuleRun batch_pointwise;  // broadcasts; the batch in front
TAEDA_API RuleRun batch_dims;       // dimensions move by one, sizes get the batch, tensors expand
TAEDA_API RuleRun batch_fold;       // the batch becomes a part of every tensor's first dimension
TAEDA_API RuleRun batch_random;
TAEDA_API RuleRun batch_each;        // one call per example, with a warning and a count
TAEDA_API RuleRun batch_forbidden;   // depends on values: PyTorch's error
TAEDA_API RuleRun batch_unreadable;  // reads a value: the error of item()
// In place by way of the functional operator behind `rule.function`, whose rule is its own.
TAEDA_API RuleRun batch_inplace;
// The same for views that change their own geometry.
TAEDA_API RuleRun batch_inplace_view;
// Runs the function behind `rule.function` on wrappers, level active.
template <class Signature>
void batch_decompose(dispatch::Operator& op, const dispatch::BatchRule& rule, const BatchContext&,
                     dispatch::Stack& stack) {
  dispatch::CallBoxedFor<Signature>::call_function(op, KeySet(), stack, rule.function);
}
// Runs an operator's own rule; Signature in terms of Batched.
template <class Signature>
void batch_rule(dispatch::Operator& op, const dispatch::BatchRule& rule, const BatchContext&,
                dispatch::Stack& stack) {
  dispatch::CallBoxedFor<Signature>::call_function(op, KeySet(), stack, rule.function);
}

// How many operator calls fell to batch_each since the start.
TAEDA_API uint64_t batch_each_count();
// Whether batch_each warns, once for each operator.
TAEDA_API void set_batch_each_warning(bool on);

}  // namespace taeda
