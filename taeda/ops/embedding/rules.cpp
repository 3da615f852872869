// Shape rules of embedding and one_hot.
#include "taeda/ops/embedding/declarations.h"
#include "taeda/ops/embedding/functions.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

void check_indices(const char* op, const Tensor& indices) {
  TAEDA_CHECK(indices.dtype() == DType::Int64 || indices.dtype() == DType::Int32,
              "Expected tensor for argument #1 'indices' to have one of the following scalar "
              "types: Long, Int; but got torch.",
              indices.dtype(), "Tensor instead (while checking arguments for ", op, ")");
}

}  // namespace

OutSpec embedding_spec(const Tensor& weight, const Tensor& indices, SymInt, bool, bool) {
  TAEDA_CHECK(weight.dim() == 2, "'weight' must be 2-D");
  const Tensor* const inputs[] = {&weight, &indices};
  check_same_device("embedding", inputs);
  check_indices("embedding", indices);
  SymIntVec sizes(indices.sym_sizes());
  sizes.push_back(weight.sym_sizes()[1]);
  return OutSpec(SymIntList(sizes), weight.dtype(), weight.device());
}

OutSpec embedding_dense_backward_spec(const Tensor& grad_output, const Tensor& indices,
                                      SymInt num_weights, SymInt, bool) {
  check_indices("embedding_backward", indices);
  TAEDA_CHECK(grad_output.dim() == indices.dim() + 1, "embedding_dense_backward: the gradient has ",
              grad_output.dim(), " dimensions, expected one more than the indices' ",
              indices.dim());
  return OutSpec(SymIntList({num_weights, grad_output.sym_sizes().back()}), grad_output.dtype(),
                 grad_output.device());
}

Tensor& embedding_renorm__meta(Tensor& self, const Tensor& indices, double, double) {
  TAEDA_CHECK(self.dim() == 2, "'self' must be 2-D");
  check_indices("embedding_renorm_", indices);
  return self;
}

Tensor embedding_renorm(const Tensor& self, const Tensor& indices, double max_norm,
                        double norm_type) {
  Tensor out = self.clone();
  return taeda::embedding_renorm_(out, indices, max_norm, norm_type);
}

Tensor _renormed_embedding(Tensor& weight, const Tensor& indices, double max_norm, double norm_type,
                           SymInt padding_idx, bool scale_grad_by_freq, bool sparse) {
  const Tensor index = indices.contiguous();
  Tensor rows = weight.detach();  // scaled outside the graph
  taeda::embedding_renorm_(rows, index, max_norm, norm_type);
  return taeda::embedding(weight, index, padding_idx, scale_grad_by_freq, sparse);
}

Tensor one_hot_meta(const Tensor& self, int64_t num_classes) {
  TAEDA_CHECK(self.dtype() == DType::Int64,
              "one_hot is only applicable to index tensor of type LongTensor.");
  TAEDA_CHECK_NOT_IMPLEMENTED(
      num_classes >= 0,
      "one_hot of a meta tensor: the number of classes depends on values; give num_classes");
  SymIntVec sizes(self.sym_sizes());
  sizes.push_back(SymInt(num_classes));
  return OutSpec(SymIntList(sizes), DType::Int64, self.device()).allocate();
}

}  // namespace taeda::impl
