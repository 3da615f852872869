// Views with the dimensions in another order.
#include "taeda/ops/permute/declarations.h"

#include "taeda/base/log.h"
#include "taeda/ops/functions.h"

namespace taeda::impl {

Tensor permute(const Tensor& self, IntList dims) {
  const int64_t ndim = self.dim();
  TAEDA_CHECK(static_cast<int64_t>(dims.size()) == ndim,
              "permute(sparse_coo): number of dimensions in the tensor input does not match the "
              "length of the desired ordering of dimensions i.e. "
              "input.dim() = ",
              ndim, " is not equal to len(dims) = ", dims.size());
  SymIntVec sizes, strides;
  uint64_t seen = 0;
  for (int64_t d : dims) {
    const int64_t w = wrap_dim(d, ndim);
    TAEDA_CHECK(!(seen >> w & 1), "permute(): duplicate dims are not allowed.");
    seen |= 1ULL << w;
    sizes.push_back(self.sym_sizes()[w]);
    strides.push_back(self.sym_strides()[w]);
  }
  return make_alias_sym(self, sizes, strides, self.impl()->sym_storage_offset());
}

Tensor transpose_int(const Tensor& self, int64_t dim0, int64_t dim1) {
  dim0 = wrap_dim(dim0, self.dim());
  dim1 = wrap_dim(dim1, self.dim());
  SymIntVec sizes(self.sym_sizes()), strides(self.sym_strides());
  if (dim0 != dim1) {
    std::swap(sizes[dim0], sizes[dim1]);
    std::swap(strides[dim0], strides[dim1]);
  }
  return make_alias_sym(self, sizes, strides, self.impl()->sym_storage_offset());
}

Tensor swapaxes(const Tensor& self, int64_t axis0, int64_t axis1) {
  return self.transpose(axis0, axis1);
}
Tensor& swapaxes_(Tensor& self, int64_t axis0, int64_t axis1) {
  return self.transpose_(axis0, axis1);
}
Tensor swapdims(const Tensor& self, int64_t dim0, int64_t dim1) {
  return self.transpose(dim0, dim1);
}
Tensor& swapdims_(Tensor& self, int64_t dim0, int64_t dim1) { return self.transpose_(dim0, dim1); }

Tensor t(const Tensor& self) {
  TAEDA_CHECK(self.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ",
              self.dim(), "D");
  return transpose_int(self, 0, self.dim() < 2 ? 0 : 1);
}

namespace {

Tensor matrix_transposed(const Tensor& self, const char* name) {
  if (self.dim() == 0) {
    warn(str("Tensor.", name, " is deprecated on 0-D tensors. This function is the identity in ",
             "these cases."));
    return self.view(SymIntList());
  }
  TAEDA_CHECK(self.dim() >= 2, "tensor.", name,
              " is only supported on matrices or batches of matrices. Got ", self.dim(),
              "-D tensor.");
  return self.transpose(-2, -1);
}

}  // namespace

Tensor numpy_T(const Tensor& self) {
  if (self.dim() != 2 && self.dim() != 0) {
    [[maybe_unused]] static const bool is_said = [] {
      warn(
          "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
          "deprecated and it will throw an error in a future release. Consider `x.mT` to transpose "
          "batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the "
          "dimensions of a tensor.");
      return true;
    }();
  }
  IntVec order;
  for (int64_t d = self.dim(); d-- > 0;) order.push_back(d);
  return self.permute(order);
}

Tensor matrix_H(const Tensor& self) {
  TAEDA_CHECK(self.dim() == 2 || self.dim() == 0,
              "tensor.H is only supported on matrices (2-D tensors). Got ", self.dim(),
              "-D tensor. For batches of matrices, consider using tensor.mH");
  return self.dim() == 0 ? self.conj() : self.transpose(0, 1).conj();
}

Tensor mT(const Tensor& self) { return matrix_transposed(self, "mT"); }
Tensor mH(const Tensor& self) { return matrix_transposed(self, "mH").conj(); }
Tensor adjoint(const Tensor& self) { return matrix_transposed(self, "adjoint()").conj(); }

Tensor movedim_intlist(const Tensor& self, IntList source, IntList destination) {
  TAEDA_CHECK(source.size() == destination.size(),
              "movedim: Invalid source or destination dims: source (", source,
              " dims) should contain the same number of dims as destination (", destination,
              " dims)");
  const int64_t ndim = self.dim();
  uint64_t taken = 0, placed = 0;
  IntVec order(ndim, -1);
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t from = wrap_dim(source[i], ndim);
    TAEDA_CHECK(!(taken >> from & 1), "movedim: repeated dim in `source` (", source, ")");
    taken |= 1ULL << from;
  }
  for (size_t i = 0; i < source.size(); ++i) {
    const int64_t to = wrap_dim(destination[i], ndim);
    TAEDA_CHECK(!(placed >> to & 1), "movedim: repeated dim in `destination` (", destination, ")");
    placed |= 1ULL << to;
    if (ndim) order[to] = wrap_dim(source[i], ndim);
  }
  if (ndim == 0) return taeda::alias(self);
  int64_t rest = 0;
  for (int64_t& d : order) {
    if (d >= 0) continue;
    while (taken >> rest & 1) ++rest;
    d = rest++;
  }
  return self.permute(order);
}
Tensor movedim_int(const Tensor& self, int64_t source, int64_t destination) {
  return taeda::movedim(self, IntList({source}), IntList({destination}));
}
Tensor moveaxis_intlist(const Tensor& self, IntList source, IntList destination) {
  return taeda::movedim(self, source, destination);
}
Tensor moveaxis_int(const Tensor& self, int64_t source, int64_t destination) {
  return taeda::movedim(self, source, destination);
}

}  // namespace taeda::impl
