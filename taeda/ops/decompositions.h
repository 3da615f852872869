// Decompositions: operators as functions of others, down to the core set.
//
//   TAEDA_DECOMPOSITION(silu, (const Tensor& self)) { return self * taeda::sigmoid(self); }
//
// binds the function to ops::silu, whose signature it must have. The definitions stand in
// decompose_<family>.cpp. Explicit operators are functions of others already: theirs are made by
// the generator, and a definition by hand goes before. Composite operators need none, they come
// apart in any call.
//
// Note [What a decomposition keeps]
// Results have the operator's sizes, dtype and strides. 16-bit numbers are computed in float and
// rounded once, where the operator does so. A decomposition calls operators through the
// dispatcher: modes, gradients and transforms that are active see them. It neither writes to its
// arguments nor to views, so that a trace of it holds functions only.
#pragma once

#include "taeda/dispatch/boxing.h"
#include "taeda/ops/operators.h"

namespace taeda {

class TAEDA_API Decomposition {
 public:
  enum class Origin : uint8_t { Formula, Explicit };

  // Makes the function the operator's decomposition for the life of the process.
  template <class R, class... A>
  Decomposition(dispatch::TypedOperator<R(A...)>& op, R (*fn)(A...),
                Origin origin = Origin::Formula)
      : op_(op),
        fn_(reinterpret_cast<void*>(fn)),
        call_(&dispatch::CallBoxedFor<R(A...)>::call_function),
        origin_(origin) {
    add();
  }
  Decomposition(const Decomposition&) = delete;

  const dispatch::Operator& op() const { return op_; }
  Origin origin() const { return origin_; }
  // Takes the operator's arguments from the stack and leaves its results there.
  void operator()(dispatch::Stack& stack) const { call_(op_, KeySet(), stack, fn_); }

 private:
  void add();

  const dispatch::Operator& op_;
  void* fn_;
  dispatch::BoxedFn call_;
  Origin origin_;
};

// Null where the operator has none. Any thread; a lock and a hash lookup.
TAEDA_API const Decomposition* find_decomposition(const dispatch::Operator& op);
// Of every operator that has one, in no order.
TAEDA_API std::vector<const Decomposition*> all_decompositions();

template <class Op>
struct ResultOf;
template <class R, class... A>
struct ResultOf<dispatch::TypedOperator<R(A...)>> {
  using type = R;
};

#define TAEDA_DECOMPOSITION(ident, parameters)                                                \
  static ::taeda::ResultOf<decltype(::taeda::ops::ident)>::type decompose_##ident parameters; \
  static const ::taeda::Decomposition decomposition_of_##ident(::taeda::ops::ident,           \
                                                               &decompose_##ident);           \
  static ::taeda::ResultOf<decltype(::taeda::ops::ident)>::type decompose_##ident parameters

}  // namespace taeda
