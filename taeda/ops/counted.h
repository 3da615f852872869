// Results whose sizes only data tells, for fake tensors: rules give them with numbers not known
// yet.
//
//   TAEDA_COUNTED(distinct, Tensor, (const Tensor& self)) {
//     return OutSpec(SymIntList({new_count({.most = self.sym_numel()})}), ...).allocate();
//   }
//
// binds the rule to ops::distinct, whose signature it must have. It returns meta tensors. A record
// whose one result holds a part of its first argument needs no rule: see `counted` in the records.
#pragma once

#include "taeda/base/function_ref.h"
#include "taeda/dispatch/boxing.h"

namespace taeda {

struct UnknownCount {
  SymInt least = 0;
  std::optional<SymInt> most = {};
  Tensor of =
      {};  // where defined: every call with the same values of this tensor has the same number
};
using CountFn = FunctionRef<SymInt(const UnknownCount&)>;

// Inside a rule: a number that only data tells. Throws what the rule's caller throws where there
// are no such numbers.
TAEDA_API SymInt new_count(const UnknownCount& wanted);

class TAEDA_API CountedRule {
 public:
  // Makes the function the operator's rule for the life of the process.
  template <class R, class... A>
  CountedRule(dispatch::TypedOperator<R(A...)>& op, R (*fn)(A...))
      : op_(op),
        fn_(reinterpret_cast<void*>(fn)),
        call_(&dispatch::CallBoxedFor<R(A...)>::call_function) {
    add();
  }
  CountedRule(const CountedRule&) = delete;

  const dispatch::Operator& op() const { return op_; }
  // Takes the operator's arguments from the stack and leaves its results there.
  void operator()(dispatch::Stack& stack, CountFn count) const;

 private:
  void add();

  const dispatch::Operator& op_;
  void* fn_;
  dispatch::BoxedFn call_;
};

// Null where the operator has none. Any thread: rules are added before main only.
TAEDA_API const CountedRule* find_counted_rule(const dispatch::Operator& op);

#define TAEDA_COUNTED(ident, result, parameters)                                                  \
  static result count_##ident parameters;                                                         \
  static const ::taeda::CountedRule counted_rule_of_##ident(::taeda::ops::ident, &count_##ident); \
  static result count_##ident parameters

}  // namespace taeda
