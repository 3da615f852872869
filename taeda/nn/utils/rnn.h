// Sequences of different lengths: padded to one tensor, or packed without padding.
#pragma once

#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "taeda/core/tensor.h"
#include "taeda/core/tensor_options.h"

namespace taeda::nn::utils::rnn {

TAEDA_API Tensor invert_permutation(const Tensor& permutation);

// Sequences step by step: all first elements, all second ones, and so on. `batch_sizes` says how
// many sequences have a step; `sorted_indices` is the order by length that the data is in,
// undefined where it is that of the caller, and `unsorted_indices` its inverse.
class TAEDA_API PackedSequence {
 public:
  explicit PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices = {},
                          Tensor unsorted_indices = {});
  const Tensor& data() const { return data_; }
  const Tensor& batch_sizes() const { return batch_sizes_; }
  const Tensor& sorted_indices() const { return sorted_indices_; }
  const Tensor& unsorted_indices() const { return unsorted_indices_; }

  // The data converted; indices move along, batch sizes stay.
  PackedSequence to(const TensorOptions& options) const;
  PackedSequence cpu() const;
  PackedSequence cuda() const;
  bool is_cuda() const;

 private:
  Tensor data_, batch_sizes_, sorted_indices_, unsorted_indices_;
};

// `enforce_sorted` asks for falling lengths; otherwise the sequences are sorted here.
TAEDA_API PackedSequence pack_padded_sequence(Tensor input, Tensor lengths,
                                              bool batch_first = false, bool enforce_sorted = true);
// The padded sequences and their lengths.
TAEDA_API std::tuple<Tensor, Tensor> pad_packed_sequence(
    const PackedSequence& sequence, bool batch_first = false, double padding_value = 0.0,
    std::optional<int64_t> total_length = std::nullopt);
TAEDA_API Tensor pad_sequence(TensorList sequences, bool batch_first = false,
                              double padding_value = 0, std::string_view padding_side = "right");
TAEDA_API PackedSequence pack_sequence(TensorList sequences, bool enforce_sorted = true);

}  // namespace taeda::nn::utils::rnn
