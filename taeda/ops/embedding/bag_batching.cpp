// Batching rules of embedding_bag: the bags of all examples are bags of one call.
#include "taeda/ops/embedding/bag_mode.h"
#include "taeda/ops/embedding/batching.h"
#include "taeda/ops/embedding/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::batch {
namespace {

using Bags = std::tuple<Tensor, Tensor, Tensor, Tensor>;
using BatchedBags = std::tuple<Batched, Batched, Batched, Batched>;

// (batch, numbers) of indices or offsets.
Tensor number_lines(const Batched& b) {
  const SymInt& size = batch_context().size;
  return b.front_expanded(size).reshape({size, SymInt(-1)});
}
// A multiple of `step` per example, beside as many dimensions as `like` has.
Tensor starts_like(const Tensor& like, const SymInt& step) {
  Tensor start = taeda::arange(Scalar(like.sym_size(0)), like.dtype(), {}, like.device());
  for (int64_t d = 1; d < like.dim(); ++d) start = start.unsqueeze(-1);
  return start.mul(Scalar(step));
}
Tensor joined_numbers(const Tensor& lines, const SymInt& step) {
  return lines.add(starts_like(lines, step)).flatten(0, 1);
}
// The bags of all examples' indices, of which some may have none.
Tensor joined_bags_of(const Batched& offset2bag, const SymInt& bags) {
  const Tensor lines = number_lines(offset2bag), none = lines.eq(Scalar(kNoBag)).flatten(0, 1);
  return joined_numbers(lines, bags).masked_fill(none, Scalar(kNoBag));
}
Tensor joined_rows_of(const Batched& b) {
  return b.front_expanded(batch_context().size).flatten(0, 1);
}

// The tables of all examples one after the other. The padding row of each is one row behind all.
struct JoinedTables {
  Tensor indices;
  SymInt rows;  // of all tables
  int64_t padding_idx;

  JoinedTables(const Batched& given, const SymInt& rows_each, int64_t padding)
      : rows(rows_each * batch_context().size), padding_idx(-1) {
    const Tensor lines = number_lines(given);
    indices = joined_numbers(lines, rows_each);
    if (padding < 0) return;
    padding_idx = rows.expect_int();
    indices = indices.masked_fill(lines.eq(Scalar(padding)).flatten(0, 1), Scalar(rows));
  }
  bool has_padding() const { return padding_idx >= 0; }
  Tensor table(const Tensor& weight) const {
    const Tensor all = weight.flatten(0, 1);
    if (!has_padding()) return all;
    return taeda::cat({all, all.new_zeros({SymInt(1), all.sym_size(1)})}, 0);
  }
};

struct BagArguments {
  Tensor table, indices, offsets, samples;
  int64_t padding_idx;
  SymInt rows, bags;  // of an example; no rows where all share one table
  SymInt kept;        // bags of an example that count, all or all but the last
};

BagArguments joined_bags(const Batched& weight, const Batched& indices, const Batched& offsets,
                         const Batched& samples, bool include_last_offset, int64_t padding_idx) {
  const Tensor starts = number_lines(offsets);
  // The last bag of an example ends where the first one of the next example starts. Where the last
  // offset is an end, that bag has the indices behind it, and does not count.
  const SymInt bags = starts.sym_size(1), kept = bags - SymInt(include_last_offset ? 1 : 0);
  const Tensor lines = number_lines(indices);
  const Tensor at = joined_numbers(starts, lines.sym_size(1));
  const Tensor weights = samples.defined() ? joined_rows_of(samples) : Tensor();
  if (!weight.is_batched())
    return {weight.value, lines.flatten(0, 1), at, weights, padding_idx, SymInt(0), bags, kept};
  const Tensor tables = weight.front();
  const JoinedTables joined(indices, tables.sym_size(1), padding_idx);
  return {joined.table(tables), joined.indices,     at,   weights,
          joined.padding_idx,   tables.sym_size(1), bags, kept};
}

// The results of each example: bags and rows counted from its own.
BatchedBags split_bags(const Bags& results, const BagArguments& a, int64_t mode) {
  const SymInt& size = batch_context().size;
  const auto split = [&](const Tensor& t) { return t.unflatten(0, {size, SymInt(-1)}); };
  const auto kept = [&](const Tensor& t) { return split(t).narrow(1, 0, a.kept); };
  const auto& [out, offset2bag, bag_size, maxima] = results;
  const Tensor bags = split(offset2bag), most = kept(maxima);
  const Tensor bag = bags.sub(starts_like(bags, a.bags));
  const Tensor named = bag.masked_fill(bag.ge(Scalar(a.kept)), Scalar(kNoBag));
  // Empty bags have no maximum; their row is the first.
  const Tensor row =
      mode == kMaxBag ? most.sub(starts_like(most, a.rows)).clamp_min(Scalar(0)) : most;
  return {Batched(kept(out), 0), Batched(named, 0), Batched(kept(bag_size), 0), Batched(row, 0)};
}

}  // namespace

BatchedBags _embedding_bag(const Batched& weight, const Batched& indices, const Batched& offsets,
                           bool scale_grad_by_freq, int64_t mode, bool sparse,
                           const Batched& per_sample_weights, bool include_last_offset,
                           int64_t padding_idx) {
  const BagArguments a =
      joined_bags(weight, indices, offsets, per_sample_weights, include_last_offset, padding_idx);
  return split_bags(taeda::_embedding_bag(a.table, a.indices, a.offsets, scale_grad_by_freq, mode,
                                          sparse, a.samples, false, a.padding_idx),
                    a, mode);
}

BatchedBags _embedding_bag_forward_only(const Batched& weight, const Batched& indices,
                                        const Batched& offsets, bool scale_grad_by_freq,
                                        int64_t mode, bool sparse,
                                        const Batched& per_sample_weights, bool include_last_offset,
                                        int64_t padding_idx) {
  return _embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse,
                        per_sample_weights, include_last_offset, padding_idx);
}

Batched _embedding_bag_dense_backward(const Batched& grad, const Batched& indices,
                                      const Batched& offset2bag, const Batched& bag_size,
                                      const Batched& maximum_indices, SymInt num_weights,
                                      bool scale_grad_by_freq, int64_t mode,
                                      const Batched& per_sample_weights, int64_t padding_idx) {
  const SymInt& size = batch_context().size;
  const JoinedTables joined(indices, num_weights, padding_idx);
  const Tensor grads = grad.front_expanded(size), most = maximum_indices.front_expanded(size);
  const Tensor bags = joined_bags_of(offset2bag, grads.sym_size(1));
  const Tensor maxima =
      mode == kMaxBag ? most.add(starts_like(most, num_weights)).flatten(0, 1) : most.flatten(0, 1);
  const Tensor samples =
      per_sample_weights.defined() ? joined_rows_of(per_sample_weights) : Tensor();
  const SymInt rows = joined.rows + SymInt(joined.has_padding() ? 1 : 0);
  const Tensor out = taeda::_embedding_bag_dense_backward(
      grads.flatten(0, 1), joined.indices, bags, joined_rows_of(bag_size), maxima, rows,
      scale_grad_by_freq, mode, samples, joined.padding_idx);
  return {out.narrow(0, 0, joined.rows).unflatten(0, {size, num_weights}), 0};
}

Batched _embedding_bag_per_sample_weights_backward(const Batched& grad, const Batched& weight,
                                                   const Batched& indices, const Batched& offsets,
                                                   const Batched& offset2bag, int64_t mode,
                                                   int64_t padding_idx) {
  const Tensor grads = grad.front_expanded(batch_context().size);
  const BagArguments a =
      joined_bags(weight, indices, offsets, Batched(), /*include_last_offset=*/false, padding_idx);
  const Tensor bags = joined_bags_of(offset2bag, grads.sym_size(1));
  const Tensor out = taeda::_embedding_bag_per_sample_weights_backward(
      grads.flatten(0, 1), a.table, a.indices, a.offsets, bags, mode, a.padding_idx);
  return {out.unflatten(0, {batch_context().size, SymInt(-1)}), 0};
}

}  // namespace taeda::batch
