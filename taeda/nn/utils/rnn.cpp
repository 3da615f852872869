// Sequences of different lengths.
#include "taeda/nn/utils/rnn.h"

#include <algorithm>

#include "taeda/ops/factory/tensor_data.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/padding/functions.h"
#include "taeda/ops/recurrent/functions.h"

namespace taeda::nn::utils::rnn {

Tensor invert_permutation(const Tensor& permutation) {
  if (!permutation.defined()) return {};
  const Tensor places = taeda::arange(0, permutation.numel(), permutation.dtype(), std::nullopt,
                                      permutation.device());
  return taeda::empty_like(permutation).scatter_(0, permutation, places);
}

PackedSequence::PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices,
                               Tensor unsorted_indices)
    : data_(std::move(data)),
      batch_sizes_(std::move(batch_sizes)),
      sorted_indices_(std::move(sorted_indices)),
      unsorted_indices_(std::move(unsorted_indices)) {
  if (!unsorted_indices_.defined()) unsorted_indices_ = invert_permutation(sorted_indices_);
  TAEDA_CHECK(batch_sizes_.device().type() == DeviceType::CPU,
              "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
              "created manually. They should be instantiated by functions like pack_sequence and "
              "pack_padded_sequences in nn::utils::rnn.");
}

PackedSequence PackedSequence::to(const TensorOptions& options) const {
  const Tensor moved = data_.to(options.device_opt().value_or(data_.device()),
                                options.dtype_opt().value_or(data_.dtype()));
  if (moved.is_same(data_)) return *this;
  const auto along = [&](const Tensor& indices) {
    return indices.defined() ? indices.to(moved.device(), indices.dtype()) : Tensor();
  };
  return PackedSequence(moved, batch_sizes_, along(sorted_indices_), along(unsorted_indices_));
}

PackedSequence PackedSequence::cpu() const { return to(TensorOptions(Device(DeviceType::CPU))); }
PackedSequence PackedSequence::cuda() const { return to(TensorOptions(Device(DeviceType::CUDA))); }
bool PackedSequence::is_cuda() const { return data_.device().type() == DeviceType::CUDA; }

PackedSequence pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first,
                                    bool enforce_sorted) {
  lengths = lengths.to(DType::Int64);
  Tensor order;
  if (!enforce_sorted) {
    std::tie(lengths, order) = taeda::sort(lengths, -1, /*descending=*/true);
    order = order.to(input.device(), order.dtype());
    input = input.index_select(batch_first ? 0 : 1, order);
  }
  auto [data, batch_sizes] = taeda::_pack_padded_sequence(input, lengths, batch_first);
  return PackedSequence(std::move(data), std::move(batch_sizes), std::move(order));
}

std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first,
                                               double padding_value,
                                               std::optional<int64_t> total_length) {
  const int64_t longest = sequence.batch_sizes().size(0);
  TAEDA_CHECK(total_length.value_or(longest) >= longest,
              "Expected total_length to be at least the length of the longest sequence in input, "
              "but got total_length=",
              total_length.value_or(longest), " and max sequence length being ", longest);
  auto [padded, lengths] =
      taeda::_pad_packed_sequence(sequence.data(), sequence.batch_sizes(), batch_first,
                                  padding_value, total_length.value_or(longest));
  const Tensor& order = sequence.unsorted_indices();
  if (!order.defined()) return {padded, lengths};
  const Tensor on_cpu = order.to(Device(DeviceType::CPU), order.dtype());
  return {padded.index_select(batch_first ? 0 : 1, order), lengths.index_select(0, on_cpu)};
}

Tensor pad_sequence(TensorList sequences, bool batch_first, double padding_value,
                    std::string_view padding_side) {
  return taeda::pad_sequence(sequences, batch_first, padding_value, padding_side);
}

PackedSequence pack_sequence(TensorList sequences, bool enforce_sorted) {
  std::vector<int64_t> lengths;
  for (const Tensor& sequence : sequences) lengths.push_back(sequence.size(0));
  return pack_padded_sequence(taeda::pad_sequence(sequences), taeda::tensor(lengths),
                              /*batch_first=*/false, enforce_sorted);
}

}  // namespace taeda::nn::utils::rnn
