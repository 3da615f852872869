// Pointwise operators on devices that compile: a body of the records over any strides and dtypes.
#pragma once

#include <functional>

#include "taeda/base/function_ref.h"
#include "taeda/kernel/values.h"
#include "taeda/ops/pointwise.h"
#include "taeda/ops/symbolic.h"

namespace taeda::lowered {

using kernel::Sym;

// The type in which elements of a dtype are computed with: truth values count as integers.
inline kernel::Type type_in(DType dtype) {
  return dtype == DType::Bool ? kernel::Type::I64 : kernel::compute_type(dtype);
}

// A pointwise call: `out` from inputs that broadcast to it, computed in a common dtype.
struct PointwiseCall {
  const SymbolicBody& body;
  const PointwiseOp& op;
  DType common;
  const Tensor& out;
  Span<const Tensor*> inputs;
  Span<Scalar> scalars;
};

// The element of an input as the common dtype holds it: a number beside smaller ones counts in
// their dtype, whether it is computed with, taken as a truth value or divided by.
TAEDA_API Sym in_common(kernel::ExprGraph& graph, const PointwiseCall& call, int input,
                        Sym element);

// The value of a call. input(i) is the element of input i in any compute type, number(i) is scalar
// i in the compute type of the common dtype. It reads the call's dtypes and ranks alone.
TAEDA_API Sym pointwise_value(kernel::ExprGraph& graph, const PointwiseCall& call,
                              FunctionRef<Sym(int)> input, FunctionRef<Sym(int)> number);

// Until the end of the scope, pointwise forms that run on this thread give their calls to `take`
// and compute nothing.
class TAEDA_API TakePointwise {
 public:
  using Taker = std::function<void(const PointwiseCall&)>;
  explicit TakePointwise(Taker take);
  ~TakePointwise();
  TakePointwise(const TakePointwise&) = delete;

 private:
  Taker take_;
  const Taker* outer_;
};

TAEDA_API void run_pointwise(const SymbolicBody& body, const PointwiseOp& op, DType common,
                             const Tensor& out, Span<const Tensor*> inputs, Span<Scalar> scalars);

}  // namespace taeda::lowered
