// What is left to do when the values of a traced program are there.
//
//   program(x, y) {                graph(x, y) {          epilogue(x, y, mul, add) {
//     x.mul_(2)                      mul = x * 2            copy_(x, mul)
//     h = x + y              ->      add = mul + y          view = view(add, [-1])
//     return x, h, h.view(-1)        return mul, add        return x, add, view
//   }                              }                      }
//
// Note [Epilogue]: the graph computes new values alone, each in memory of its own, so a compiler is
// free in how it does that. The epilogue runs as the program would, under autograd: it writes to
// the inputs and gives each result the memory that it has in the program, that of an input or of
// another result. A write that the program did not record goes to the detached input. What was
// detached from an input, or from a value, is made so again, and is written to once more where it
// got a history of its own. A view that is older than the last write is made before that: once its
// base requires gradients it follows the base's history.
#pragma once

#include "taeda/autograd/node.h"
#include "taeda/autograd/variable.h"
#include "taeda/fx/functional_mode.h"
#include "taeda/fx/tracer.h"

namespace taeda::fx {

// Where a tensor's elements lie in its memory.
struct Look {
  SymIntVec sizes, strides;
  SymInt offset = 0;

  Look() = default;
  explicit Look(const Tensor& t)
      : sizes(t.sym_sizes()), strides(t.sym_strides()), offset(t.impl()->sym_storage_offset()) {}
  bool operator==(const Look&) const = default;
};

// The history that a recorded write to the tensor changes: of a view that of its base, since its
// own is made anew after any write (Note [View histories]).
inline IntrusivePtr<autograd::Node> written_history(const Tensor& t) {
  const TensorImpl* base = t.impl()->view_base();
  if (!base) return autograd::grad_fn(t);
  const autograd::AutogradMetaImpl* meta = autograd::meta_or_null(base);
  return meta ? meta->grad_fn : nullptr;
}

// A program at the end of its trace.
struct TracedProgram {
  Tracer& tracer;
  FunctionalMode& functional;
  const std::vector<Value>& values;  // of the inputs, before the program ran
  const std::vector<Value>& inputs;  // as the program sees them
  const std::vector<IntrusivePtr<autograd::Node>>& histories;  // written_history, at the start
  const std::vector<const Aliased*>& memories;                 // the same
  const std::vector<Look>& looks;                              // the same
  const std::vector<bool>& had_gradients;                      // the same
  const std::vector<uint32_t>& versions;                       // the same
  bool begins_with_grad;
  FunctionRef<Value(const Value& v)> value_of;
  FunctionRef<Tensor(const Tensor& value)> copy;  // as a node of the graph
};

struct Epilogue {
  // What the graph gives, and the tensor of the program whose gradient belongs to it, if any.
  struct Given {
    Arg arg;
    Tensor root;
  };
  std::vector<Given> values;
  // Takes the inputs and these values, gives the results; null where the values are the results.
  IntrusivePtr<Graph> graph;
};

Epilogue write_epilogue(const TracedProgram& program, const std::vector<Value>& results);

}  // namespace taeda::fx
