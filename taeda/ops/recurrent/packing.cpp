// Sequences of different lengths: packed step by step, and padded again.
#include "taeda/ops/recurrent/packing.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/padding/functions.h"
#include "taeda/ops/recurrent/declarations.h"
#include "taeda/ops/shape.h"

namespace taeda::recurrent {

std::vector<int64_t> lengths_of(const Tensor& lengths) {
  TAEDA_CHECK(lengths.dim() == 1 && lengths.dtype() == DType::Int64,
              "'lengths' argument should be a 1D CPU int64 tensor, but got ", lengths.dim(), "D ",
              lengths.device(), " ", lengths.dtype(), " tensor");
  std::vector<int64_t> values;
  if (lengths.sym_size(0) == SymInt(0)) return values;
  // By item, which refuses numbers that are not there: of fake tensors, and inside transforms. How
  // many there are is asked behind the first, so that a trace which ends here knows no length.
  const auto at = [&](int64_t i) { return lengths.select(0, i).item().to_int(); };
  values.push_back(at(0));
  const int64_t count = lengths.sym_size(0).expect_int();
  for (int64_t i = 1; i < count; ++i) values.push_back(at(i));
  return values;
}

}  // namespace taeda::recurrent

namespace taeda::impl {
namespace {

Tensor tensor_of(const std::vector<int64_t>& values) {
  // PyTorch names the CPU: PackedSequence keeps its batch sizes there, whatever the default device
  // is.
  Tensor made = taeda::empty({static_cast<int64_t>(values.size())}, DType::Int64, {}, Device());
  std::copy(values.begin(), values.end(), static_cast<int64_t*>(made.data()));
  return made;
}

// Neighbouring steps that as many sequences have.
struct Run {
  int64_t steps, batch;
};

std::vector<Run> runs_of(const std::vector<int64_t>& batch_sizes) {
  std::vector<Run> runs;
  for (const int64_t size : batch_sizes) {
    TAEDA_CHECK(runs.empty() || size <= runs.back().batch, "batch_sizes must not increase: got ",
                size, " after ", runs.back().batch);
    if (!runs.empty() && runs.back().batch == size)
      ++runs.back().steps;
    else
      runs.push_back({1, size});
  }
  return runs;
}

// The sequence of `data` in (steps, batch, ...), filled up with a number.
Tensor padded(const Tensor& data, const std::vector<int64_t>& batch_sizes, int64_t steps,
              int64_t batch, const Scalar& value) {
  SymIntVec sizes{SymInt(0), SymInt(0)};
  for (int64_t d = 1; d < data.dim(); ++d) sizes.push_back(data.sym_size(d));
  const auto block = [&](int64_t rows, int64_t columns) {
    sizes[0] = SymInt(rows);
    sizes[1] = SymInt(columns);
    return taeda::full(SymIntList(sizes), value, data.dtype(), {}, data.device());
  };
  std::vector<Tensor> rows;
  int64_t offset = 0;
  for (const Run& run : runs_of(batch_sizes)) {
    sizes[0] = SymInt(run.steps);
    sizes[1] = SymInt(run.batch);
    const Tensor part = data.narrow(0, offset, run.steps * run.batch).reshape(SymIntList(sizes));
    offset += run.steps * run.batch;
    const Tensor both[] = {part, block(run.steps, batch - run.batch)};
    rows.push_back(run.batch == batch ? part : taeda::cat(both, 1));
  }
  const int64_t made = static_cast<int64_t>(batch_sizes.size());
  if (made < steps) rows.push_back(block(steps - made, batch));
  return taeda::cat(rows, 0);
}

}  // namespace

std::tuple<Tensor, Tensor> _pack_padded_sequence(const Tensor& input, const Tensor& lengths,
                                                 bool batch_first) {
  TAEDA_CHECK(input.sym_numel() > SymInt(0), "Cannot pack empty tensors.");
  const Tensor x = batch_first ? input.transpose(0, 1) : input;
  const std::vector<int64_t> counts = recurrent::lengths_of(lengths);
  const int64_t batch = x.sym_size(1).expect_int();
  TAEDA_CHECK(static_cast<int64_t>(counts.size()) == batch && batch > 0,
              "Expected `len(lengths)` to be equal to batch_size, but got ", counts.size(),
              " (batch_size=", batch, ")");
  TAEDA_CHECK(counts.back() > 0,
              "Length of all samples has to be greater than 0, but found an element in 'lengths' "
              "that is <= 0");
  for (int64_t i = 1; i < batch; ++i)
    TAEDA_CHECK(counts[i] <= counts[i - 1],
                "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
                "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence "
                "to sidestep this requirement if you do not need ONNX exportability.");
  std::vector<Tensor> parts;
  std::vector<int64_t> batch_sizes;
  // From the shortest sequence on: all steps that the remaining ones have together.
  for (int64_t left = batch; left > 0; --left) {
    const int64_t from = static_cast<int64_t>(batch_sizes.size()), to = counts[left - 1];
    if (to == from) continue;
    parts.push_back(x.narrow(0, from, to - from).narrow(1, 0, left).flatten(0, 1));
    batch_sizes.insert(batch_sizes.end(), to - from, left);
  }
  return {taeda::cat(parts, 0), tensor_of(batch_sizes)};
}

Tensor _pack_padded_sequence_backward(const Tensor& grad, SymIntList input_size,
                                      const Tensor& batch_sizes, bool batch_first) {
  TAEDA_CHECK(input_size.size() >= 2,
              "[_pack_padded_sequence_backward] expected sizes of at least two dimensions, got ",
              input_size);
  const int64_t steps = input_size[batch_first ? 1 : 0].expect_int(),
                batch = input_size[batch_first ? 0 : 1].expect_int();
  const Tensor made = padded(grad, recurrent::lengths_of(batch_sizes), steps, batch, Scalar(0));
  return batch_first ? made.transpose(0, 1) : made;
}

std::tuple<Tensor, Tensor> _pad_packed_sequence(const Tensor& data, const Tensor& batch_sizes,
                                                bool batch_first, const Scalar& padding_value,
                                                int64_t total_length) {
  const std::vector<int64_t> sizes = recurrent::lengths_of(batch_sizes);
  TAEDA_CHECK(!sizes.empty(), "batch_sizes can not be empty");
  const int64_t longest = static_cast<int64_t>(sizes.size());
  TAEDA_CHECK(total_length <= 0 || total_length >= longest,
              "Expected total_length to be at least the length of the longest sequence in input, "
              "but got total_length=",
              total_length, " and max sequence length being ", longest);
  const Tensor made =
      padded(data, sizes, total_length > 0 ? total_length : longest, sizes[0], padding_value);
  std::vector<int64_t> lengths(static_cast<size_t>(sizes[0]), 0);
  for (const int64_t size : sizes)
    for (int64_t i = 0; i < size; ++i) ++lengths[i];
  return {batch_first ? made.transpose(0, 1) : made, tensor_of(lengths)};
}

Tensor pad_sequence(TensorList sequences, bool batch_first, double padding_value,
                    std::string_view padding_side) {
  TAEDA_CHECK(!sequences.empty(), "received an empty list of sequences");
  TAEDA_CHECK(padding_side == "left" || padding_side == "right",
              "Expected padding_side to be one of left or right, but got ", padding_side, ".");
  const Tensor& first = sequences[0];
  SymInt longest = first.sym_size(0);
  for (const Tensor& sequence : sequences) longest = sym_max(longest, sequence.sym_size(0));
  std::vector<Tensor> padded;
  for (const Tensor& sequence : sequences) {
    SymIntVec sizes(first.sym_sizes());
    sizes[0] = sequence.sym_size(0);
    broadcast_shapes(sizes, sequence.sym_sizes());
    SymIntVec pad(static_cast<size_t>(first.dim()) * 2, SymInt(0));
    pad[pad.size() - (padding_side == "left" ? 2 : 1)] = longest - sizes[0];
    padded.push_back(taeda::constant_pad_nd(sequence.expand(sizes).to(first.dtype()), pad,
                                            Scalar(padding_value)));
  }
  return taeda::stack(padded, batch_first ? 0 : 1);
}

}  // namespace taeda::impl
