// Maps of places that lowerings share.
#pragma once

#include "taeda/ops/lowering.h"

namespace taeda {

// The place in a tensor that was expanded to `from`.
TAEDA_API kernel::Place broadcast_place(symbolic::ExprPool& pool, const kernel::Place& from,
                                        const kernel::Place& to, const kernel::Place& at);
// The place in sizes `to` of the element at `at` of as many elements in sizes `from`. Dimensions
// that hold the same elements on both sides are matched first, so quotients and remainders are left
// only where a dimension is really split.
TAEDA_API kernel::Place reshaped_place(symbolic::ExprPool& pool, const kernel::Place& from,
                                       const kernel::Place& to, const kernel::Place& at);

namespace lowering {
// Every element of a result is one number; a symbolic one is an integer that sizes tell.
TAEDA_API void filled(const Tensor& out, const Scalar& value);

// Updates add up in what sums have: 16-bit numbers are summed in float, and rounded once all are
// there.
TAEDA_API DType dtype_of_sums(const Tensor& out);
TAEDA_API void add_up(const Tensor& out, Lowering::ValueFn value, kernel::Scatter updates);

// Note [Scalars as vectors]: operators that take indices along a dimension take a tensor without
// dimensions for a vector of one element.
//
// The dimension that a number names.
TAEDA_API size_t vector_dim(int64_t dim, const Tensor& self);
// A place in a tensor of `ndim` dimensions that is one of the two where `at` is the other.
TAEDA_API Place vector_place(symbolic::ExprPool& pool, const Place& at, size_t ndim);
// Where an index along a dimension leads: the place, and a value that stands there or comes from
// there. The index is checked also where the tensor has no dimension that it could count.
struct TAEDA_API NamedPlace {
  NamedPlace(Emitter& e, const Definition& x, const Place& at, size_t along, Sym index);
  Sym checked(Emitter& e, Sym value) const;

  Place place;
  const Expr* scalar = nullptr;  // the index, where there is no dimension
};
}  // namespace lowering

}  // namespace taeda
