// Shape rules of embedding_bag and its gradients.
#include "taeda/ops/embedding/declarations.h"
#include "taeda/ops/embedding/functions.h"

#include "taeda/ops/embedding/bag_mode.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/scalar_type.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

void check_index_type(const Tensor& t) {
  TAEDA_CHECK(
      t.dtype() == DType::Int64 || t.dtype() == DType::Int32,
      "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
      "Long, Int; but got torch.",
      t.dtype(), "Tensor instead (while checking arguments for embedding_bag)");
}

DType index_type(const Tensor& indices, const Tensor& offsets) {
  const bool is_wide = indices.dtype() == DType::Int64 || offsets.dtype() == DType::Int64;
  return is_wide ? DType::Int64 : DType::Int32;
}

void check_bags(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                bool include_last_offset) {
  TAEDA_CHECK(indices.dim() == 1 || indices.dim() == 2,
              "input has to be a 1D or 2D Tensor, but got Tensor of dimension ", indices.dim());
  TAEDA_CHECK(offsets.dim() == 1, "offsets has to be a 1D Tensor, but got Tensor of dimension ",
              offsets.dim());
  TAEDA_CHECK(weight.dim() == 2, "weight has to be a 2D Tensor, but got Tensor of dimension ",
              weight.dim());
  // PyTorch calls both of them indices.
  check_index_type(indices);
  check_index_type(offsets);
  TAEDA_CHECK(is_floating(weight.dtype()) && !is_float8(weight.dtype()),
              "Expected tensor for argument #1 'weight' to have one of the following scalar types: "
              "Half, BFloat16, Float, Double; but got torch.",
              weight.dtype(), "Tensor instead (while checking arguments for embedding_bag)");
  TAEDA_CHECK(!include_last_offset || offsets.sym_size(0) >= SymInt(1),
              "include_last_offset: number of offset should be at least 1");
}

void check_sample_weights(const Tensor& weight, const Tensor& indices, const Tensor& samples,
                          int64_t mode) {
  if (!samples.defined()) return;
  TAEDA_CHECK(mode == kSumBag, "embedding_bag: per_sample_weights only supported with mode='sum'");
  TAEDA_CHECK(samples.dtype() == weight.dtype(),
              "Expected tensor for argument #1 'weight' to have "
              "the same type as tensor for argument #1 'per_sample_weights'; but type torch.",
              weight.dtype(), "Tensor does not equal torch.", samples.dtype(),
              "Tensor (while checking arguments for embedding_bag)");
  TAEDA_CHECK(samples.dim() == 1 && samples.sym_numel() == indices.sym_numel(),
              "embedding_bag: got per_sample_weights of ", samples.sym_sizes(), ", expected ",
              indices.sym_numel(), " numbers");
}

std::array<OutSpec, 4> bag_specs(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                                 int64_t mode, const Tensor& samples, bool include_last_offset) {
  check_bags(weight, indices, offsets, include_last_offset);
  TAEDA_CHECK(mode == kSumBag || mode == kMeanBag || mode == kMaxBag,
              "`mode` must be sum, mean, or max.");
  check_sample_weights(weight, indices, samples, mode);
  const SymInt bags = offsets.sym_size(0) - SymInt(include_last_offset ? 1 : 0);
  const SymInt width = weight.sym_size(1);
  const DType type = index_type(indices, offsets);
  const SymIntVec rows({bags, width}), one({bags});
  return {OutSpec(SymIntList(rows), weight.dtype(), weight.device()),
          OutSpec(SymIntList({indices.sym_numel()}), type, weight.device()),
          OutSpec(SymIntList(one), type, weight.device()),
          OutSpec(SymIntList(mode == kMaxBag ? rows : one), type, weight.device())};
}

// Each index has a bag.
void check_bag_parts(const Tensor& grad, const Tensor& indices, const Tensor& offset2bag) {
  check_index_type(indices);
  check_index_type(offset2bag);
  TAEDA_CHECK(indices.sym_numel() == offset2bag.sym_numel(), "embedding_bag: got offset2bag of ",
              offset2bag.sym_sizes(), " for indices of ", indices.sym_sizes(), " and gradients of ",
              grad.sym_sizes());
}

// The row without a part in any bag, counted from the first; -1: none.
int64_t padding_row(const Tensor& weight, std::optional<int64_t> padding_idx) {
  if (!padding_idx) return -1;
  const SymInt rows = weight.sym_size(0), given(*padding_idx);
  TAEDA_CHECK(given >= SymInt(0) - rows && given < rows,
              "padding_idx must be within the number of embeddings, -", rows, " through ",
              rows - SymInt(1), ", but got ", *padding_idx);
  return *padding_idx < 0 ? *padding_idx + rows.expect_int() : *padding_idx;
}

}  // namespace

std::array<OutSpec, 4> _embedding_bag_spec(const Tensor& weight, const Tensor& indices,
                                           const Tensor& offsets, bool, int64_t mode, bool,
                                           const Tensor& per_sample_weights,
                                           bool include_last_offset, int64_t) {
  return bag_specs(weight, indices, offsets, mode, per_sample_weights, include_last_offset);
}

std::array<OutSpec, 4> _embedding_bag_forward_only_spec(const Tensor& weight, const Tensor& indices,
                                                        const Tensor& offsets, bool, int64_t mode,
                                                        bool, const Tensor& per_sample_weights,
                                                        bool include_last_offset, int64_t) {
  return bag_specs(weight, indices, offsets, mode, per_sample_weights, include_last_offset);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(
    const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale_grad_by_freq,
    int64_t mode, bool sparse, const Tensor& per_sample_weights, bool include_last_offset) {
  return taeda::_embedding_bag(weight, indices.contiguous(), offsets.contiguous(),
                               scale_grad_by_freq, mode, sparse, per_sample_weights,
                               include_last_offset, -1);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag_padding_idx(
    const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale_grad_by_freq,
    int64_t mode, bool sparse, const Tensor& per_sample_weights, bool include_last_offset,
    std::optional<int64_t> padding_idx) {
  return taeda::_embedding_bag(weight, indices.contiguous(), offsets.contiguous(),
                               scale_grad_by_freq, mode, sparse, per_sample_weights,
                               include_last_offset, padding_row(weight, padding_idx));
}

Tensor _embedding_bag_backward(const Tensor& grad, const Tensor& indices, const Tensor&,
                               const Tensor& offset2bag, const Tensor& bag_size,
                               const Tensor& maximum_indices, SymInt num_weights,
                               bool scale_grad_by_freq, int64_t mode, bool sparse,
                               const Tensor& per_sample_weights, int64_t padding_idx) {
  TAEDA_CHECK_NOT_IMPLEMENTED(
      !sparse,
      "embedding_bag: sparse gradients need sparse tensors, which are not there yet; use "
      "sparse=False");
  return taeda::_embedding_bag_dense_backward(grad, indices, offset2bag, bag_size, maximum_indices,
                                              num_weights, scale_grad_by_freq, mode,
                                              per_sample_weights, padding_idx);
}

OutSpec _embedding_bag_dense_backward_spec(const Tensor& grad, const Tensor& indices,
                                           const Tensor& offset2bag, const Tensor& bag_size,
                                           const Tensor& maximum_indices, SymInt num_weights, bool,
                                           int64_t mode, const Tensor& samples, int64_t) {
  TAEDA_CHECK(grad.dim() == 2, "_embedding_bag_dense_backward: expected a gradient per bag, got ",
              grad.sym_sizes());
  check_bag_parts(grad, indices, offset2bag);
  const bool is_max = mode == kMaxBag;
  TAEDA_CHECK(bag_size.sym_numel() >= grad.sym_size(0) &&
                  (!is_max || maximum_indices.sym_numel() == grad.sym_numel()),
              "_embedding_bag_dense_backward: got ", bag_size.sym_sizes(), " sizes and ",
              maximum_indices.sym_sizes(), " maxima for gradients of ", grad.sym_sizes());
  TAEDA_CHECK(!samples.defined() || samples.sym_numel() == indices.sym_numel(),
              "_embedding_bag_dense_backward: got per_sample_weights of ",
              samples.defined() ? samples.sym_sizes() : SymIntList(), " for indices of ",
              indices.sym_sizes());
  return OutSpec(SymIntList({num_weights, grad.sym_size(1)}), grad.dtype(), grad.device());
}

OutSpec _embedding_bag_per_sample_weights_backward_spec(const Tensor& grad, const Tensor& weight,
                                                        const Tensor& indices, const Tensor&,
                                                        const Tensor& offset2bag, int64_t mode,
                                                        int64_t) {
  TAEDA_CHECK(mode == kSumBag,
              "embedding_bag_backward: per_sample_weights only supported for mode='sum'");
  TAEDA_CHECK(grad.dim() == 2 && weight.dim() == 2 && grad.sym_size(1) == weight.sym_size(1),
              "_embedding_bag_per_sample_weights_backward: got gradients of ", grad.sym_sizes(),
              " for a table of ", weight.sym_sizes());
  check_scalar_type(grad.dtype(), weight);
  check_bag_parts(grad, indices, offset2bag);
  return OutSpec(SymIntList({indices.sym_numel()}), grad.dtype(), grad.device());
}

}  // namespace taeda::impl
