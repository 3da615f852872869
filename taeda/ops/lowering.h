// Lowering: what the elements of an operator's results are, for a compiler that fuses them.
//
//   void permute(const Tensor& self, IntList dims, const Tensor& out) {
//     Lowering::current().view(out, self, [=](const Place& at) { ... });
//   }
//
// `lowering.cpp` of a family has one function per record that has a lowering, found by the
// record's name; pointwise records are lowered by their bodies. Tensors of a lowering have sizes,
// symbolic ones too, and no memory: each stands for a definition of the program that is lowered.
#pragma once

#include <functional>
#include <vector>

#include "taeda/base/function_ref.h"
#include "taeda/core/tensor.h"
#include "taeda/dispatch/boxing.h"
#include "taeda/dispatch/operator.h"
#include "taeda/kernel/definition.h"

namespace taeda {

namespace lowering {
using kernel::Definition;
using kernel::Emitter;
using kernel::Place;
using kernel::Reduction;
using kernel::Scatter;
using kernel::Sym;
using kernel::SymMask;
using kernel::Type;
using symbolic::Expr;
}  // namespace lowering

class TAEDA_API Lowering {
 public:
  using Place = kernel::Place;
  using Expr = symbolic::Expr;
  using ValueFn = std::function<kernel::Sym(kernel::Emitter&, const Place&)>;
  using ValuesFn = std::function<std::vector<kernel::Sym>(kernel::Emitter&, const Place&)>;
  using NumberFn = std::function<kernel::Sym(kernel::Emitter&, kernel::Type)>;

  // The one that runs on this thread.
  static Lowering& current();

  virtual ~Lowering();
  virtual symbolic::ExprPool& pool() = 0;
  virtual const Expr* integer(const SymInt& value) = 0;
  // A number of the call, symbolic or not, in a compute type.
  virtual NumberFn number(const Scalar& value) = 0;
  // The results of the operator that is lowered; undefined ones were not asked for.
  virtual const std::vector<Tensor>& results() = 0;
  // What a tensor stands for.
  virtual const kernel::Definition& of(const Tensor& t) = 0;

  // Says what the elements of a result are.
  virtual void define(const Tensor& out, ValueFn value) = 0;
  // A value between operators; `is_stored` where it is dear, and many elements read each of it.
  virtual const kernel::Definition& define(DType dtype, Place sizes, ValueFn value,
                                           bool is_stored = false) = 0;
  // The elements of a result, or of a value between operators, to which updates are added.
  virtual void scatter(const Tensor& out, ValueFn value, kernel::Scatter updates) = 0;
  virtual const kernel::Definition& scatter(DType dtype, Place sizes, ValueFn value,
                                            kernel::Scatter updates) = 0;
  virtual const kernel::Reduction& reduce(std::string body, Place sizes, uint64_t dims,
                                          ValuesFn values,
                                          kernel::Part part = kernel::Part::Whole) = 0;
  // Over the last dimension, which cuts rows of `length` elements (Reduction::cut_length).
  virtual const kernel::Reduction& reduce_pieces(std::string body, Place sizes, const Expr* length,
                                                 ValuesFn values) = 0;

  // Intermediate results along a dimension; the elements of a result read them at their own place.
  virtual const kernel::Reduction& scan(std::string body, Place sizes, size_t dim,
                                        ValuesFn values) = 0;
  // A part of the default generator's stream, of so many counters. Runs reserve theirs in the order
  // in which eager operators would.
  virtual kernel::RandomStream reserve(const Expr* counters) = 0;

  // A result whose elements are those of another tensor, each at the place that `map` gives.
  void view(const Tensor& out, const Tensor& of, std::function<Place(const Place&)> map);
  Place sizes(const Tensor& t);

 protected:
  Lowering();
  Lowering(const Lowering&) = delete;

 private:
  Lowering* outer_;
};

// Generated: every lowering that is no pointwise body, with its operator's own signature.
void for_each_lowering(FunctionRef<void(dispatch::Operator&, void*)> visit);
// Generated: every operator that the compiler calls whole though it has a decomposition.
void for_each_whole_operator(FunctionRef<void(dispatch::Operator&)> visit);

// Generated: every operator whose kernel a plan calls because none that it could write is better.
void for_each_library_operator(FunctionRef<void(dispatch::Operator&)> visit);

// An operator of the core set with the function of others that computes it.
class OpenedOperator {
 public:
  template <class R, class... A>
  OpenedOperator(dispatch::TypedOperator<R(A...)>& op, R (*fn)(A...))
      : op_(op),
        fn_(reinterpret_cast<void*>(fn)),
        call_(&dispatch::CallBoxedFor<R(A...)>::call_function) {}

  const dispatch::Operator& op() const { return op_; }
  // Takes the operator's arguments from the stack and leaves its results there.
  void operator()(dispatch::Stack& stack) const { call_(op_, KeySet(), stack, fn_); }

 private:
  const dispatch::Operator& op_;
  void* fn_;
  dispatch::BoxedFn call_;
};
// Generated: every operator that the compiler takes as others.
void for_each_opened_operator(FunctionRef<void(const OpenedOperator&)> visit);

}  // namespace taeda
