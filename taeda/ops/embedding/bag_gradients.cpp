// Derivatives of embedding_bag as functions of other operators, which have derivatives themselves.
#include "taeda/ops/embedding/bag_mode.h"
#include "taeda/ops/embedding/functions.h"
#include "taeda/ops/embedding/gradients.h"
#include "taeda/ops/functions.h"

namespace taeda::gradients {
namespace {

Tensor summed_into(const Tensor& rows, const Tensor& index, const SymInt& count) {
  const SymInt width = rows.sym_size(1);
  return taeda::zeros({count, width}, rows.dtype(), {}, rows.device()).index_add(0, index, rows);
}

Tensor long_index(const Tensor& t) { return t.reshape({SymInt(-1)}).to(DType::Int64); }

// Where each index's bag stands; any where it has none, see bag_mode.h.
Tensor bag_index(const Tensor& offset2bag) {
  return long_index(offset2bag).clamp_min(Scalar(kNoBag + 1));
}

// Numbers per index, 0 for padding and for indices without a bag.
Tensor counted(const Tensor& numbers, const Tensor& indices, const Tensor& offset2bag,
               int64_t padding_idx) {
  const Tensor in_bag = numbers.masked_fill(long_index(offset2bag).eq(Scalar(kNoBag)), Scalar(0));
  return padding_idx < 0 ? in_bag : in_bag.masked_fill(indices.eq(Scalar(padding_idx)), Scalar(0));
}

// The factor that each index's row has in its bag, or its gradient in the table: 0 for padding.
Tensor shares(const Tensor& like, const Tensor& indices, const Tensor& offset2bag,
              const Tensor& bag_size, int64_t mode, int64_t padding_idx) {
  Tensor share = taeda::ones({indices.sym_numel()}, like.dtype(), {}, like.device());
  if (mode == kMeanBag) {
    const Tensor sizes = bag_size.clamp_min(Scalar(1)).to(like.dtype());
    share = share.div(sizes.index_select(0, bag_index(offset2bag)));
  }
  return counted(share, indices, offset2bag, padding_idx);
}

Tensor by_frequency(const Tensor& share, const Tensor& indices, const SymInt& rows) {
  const Tensor index = long_index(indices);
  const Tensor none = taeda::zeros({rows}, share.dtype(), {}, share.device());
  const Tensor counts = none.index_add(0, index, taeda::ones_like(share));
  return share.div(counts.index_select(0, index));
}

// Elements of `table` at the rows of each bag's maxima; zeros for empty bags.
Tensor at_maxima(const Tensor& table, const Tensor& maximum_indices, const Tensor& bag_size) {
  const Tensor picked = table.gather(0, maximum_indices.to(DType::Int64));
  return picked.masked_fill(bag_size.eq(Scalar(0)).unsqueeze(1), Scalar(0));
}

}  // namespace

Tensor embedding_bag_bags_of(const Tensor& numbers, const Tensor& table, const Tensor& indices,
                             const Tensor& offset2bag, const SymInt& bags, int64_t padding_idx) {
  const Tensor by = counted(numbers, indices, offset2bag, padding_idx).unsqueeze(1);
  const Tensor rows = table.index_select(0, long_index(indices)).mul(by);
  return summed_into(rows, bag_index(offset2bag), bags);
}

Tensor embedding_bag_rows_of(const Tensor& numbers, const Tensor& per_bag, const Tensor& indices,
                             const Tensor& offset2bag, const SymInt& rows, int64_t padding_idx) {
  const Tensor by = counted(numbers, indices, offset2bag, padding_idx).unsqueeze(1);
  const Tensor parts = per_bag.index_select(0, bag_index(offset2bag)).mul(by);
  return summed_into(parts, long_index(indices), rows);
}

Tensor embedding_bag_weight_backward(const Tensor& grad, const Tensor& indices,
                                     const Tensor& offsets, const Tensor& offset2bag,
                                     const Tensor& bag_size, const Tensor& maximum_indices,
                                     const SymInt& num_weights, bool scale_grad_by_freq,
                                     int64_t mode, bool sparse, const Tensor& per_sample_weights,
                                     int64_t padding_idx) {
  if (!grad.defined()) return grad;
  return taeda::_embedding_bag_backward(grad, indices, offsets, offset2bag, bag_size,
                                        maximum_indices, num_weights, scale_grad_by_freq, mode,
                                        sparse, per_sample_weights, padding_idx);
}

Tensor embedding_bag_sample_backward(const Tensor& grad, const Tensor& weight,
                                     const Tensor& indices, const Tensor& offsets,
                                     const Tensor& offset2bag, int64_t mode, int64_t padding_idx) {
  if (!grad.defined()) return grad;
  return taeda::_embedding_bag_per_sample_weights_backward(grad, weight, indices, offsets,
                                                           offset2bag, mode, padding_idx);
}

Tensor embedding_bag_forward(const Tensor& weight, const Tensor& weight_tangent,
                             const Tensor& indices, const Tensor& per_sample_weights,
                             const Tensor& sample_tangent, const Tensor& offset2bag,
                             const Tensor& bag_size, const Tensor& maximum_indices, int64_t mode,
                             int64_t padding_idx) {
  if (mode == kMaxBag) return at_maxima(weight_tangent, maximum_indices, bag_size);
  const SymInt bags = bag_size.sym_size(0);
  Tensor share = shares(weight, indices, offset2bag, bag_size, mode, padding_idx);
  if (per_sample_weights.defined()) share = share.mul(per_sample_weights);
  const Tensor out = embedding_bag_bags_of(share, weight_tangent, indices, offset2bag, bags, -1);
  if (!per_sample_weights.defined()) return out;
  return out.add(
      embedding_bag_bags_of(sample_tangent, weight, indices, offset2bag, bags, padding_idx));
}

Tensor embedding_bag_dense_double_backward(const Tensor& grad_table, const Tensor& indices,
                                           const Tensor& offset2bag, const Tensor& bag_size,
                                           const Tensor& maximum_indices, bool scale_grad_by_freq,
                                           int64_t mode, const Tensor& per_sample_weights,
                                           int64_t padding_idx) {
  if (mode == kMaxBag) return at_maxima(grad_table, maximum_indices, bag_size);
  Tensor share = shares(grad_table, indices, offset2bag, bag_size, mode, padding_idx);
  if (scale_grad_by_freq) share = by_frequency(share, indices, grad_table.sym_size(0));
  if (per_sample_weights.defined()) share = share.mul(per_sample_weights);
  return embedding_bag_bags_of(share, grad_table, indices, offset2bag, bag_size.sym_size(0), -1);
}

Tensor embedding_bag_sample_double_backward(const Tensor& grad_table, const Tensor& grad,
                                            const Tensor& indices, const Tensor& offset2bag,
                                            bool scale_grad_by_freq, int64_t padding_idx) {
  Tensor share = shares(grad, indices, offset2bag, Tensor(), kSumBag, padding_idx);
  if (scale_grad_by_freq) share = by_frequency(share, indices, grad_table.sym_size(0));
  const Tensor rows = grad_table.index_select(0, long_index(indices));
  const Tensor bags = grad.index_select(0, bag_index(offset2bag));
  return rows.mul(bags).sum(IntList({1})).mul(share);
}

Tensor embedding_bag_dense_forward(const Tensor& grad, const Tensor& grad_tangent,
                                   const Tensor& indices, const Tensor& offset2bag,
                                   const Tensor& bag_size, const Tensor& maximum_indices,
                                   const SymInt& num_weights, bool scale_grad_by_freq, int64_t mode,
                                   const Tensor& per_sample_weights, const Tensor& sample_tangent,
                                   int64_t padding_idx) {
  const auto backward = [&](const Tensor& by_bag, const Tensor& samples) {
    return taeda::_embedding_bag_dense_backward(by_bag, indices, offset2bag, bag_size,
                                                maximum_indices, num_weights, scale_grad_by_freq,
                                                mode, samples, padding_idx);
  };
  const Tensor out = backward(grad_tangent, per_sample_weights);
  return per_sample_weights.defined() ? out.add(backward(grad, sample_tangent)) : out;
}

}  // namespace taeda::gradients
