// Rows of pointwise calls laid out beside each other and cut into shares for threads.
#include "taeda/backends/cpu/pointwise/list_call.h"

#include <algorithm>
#include <cstring>

#include "taeda/backends/cpu/pointwise/convert.h"
#include "taeda/backends/cpu/pointwise/shares.h"

namespace taeda::cpu {
namespace {

constexpr int64_t kConstantBytes = 8192;  // of a value that stands in all places

// Whether a number counts in the dtype as it is, and does not raise it.
bool fits(const Scalar& number, DType dtype) {
  switch (number.kind()) {
    case Scalar::Kind::Bool:
    case Scalar::Kind::Int:
    case Scalar::Kind::UInt: return true;
    case Scalar::Kind::Float: return is_floating(dtype) || is_complex(dtype);
    default: return is_complex(dtype);
  }
}

// A buffer full of one value.
void fill(char* buffer, const char* value, int64_t item_size, int64_t count) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(buffer + i * item_size, value, item_size);
}

}  // namespace

ListCall::ListCall(const PointwiseKernel& kernel, KeySet keys, size_t rows)
    : kernel_(kernel),
      is_allowed_(keys == (KeySet(Key::Dense) | KeySet(DeviceType::CPU))),
      rows_(rows) {}

bool ListCall::lay_out_value(const Operand& operand, size_t i, DType dtype, char* value) const {
  Scalar number;
  if (operand.tensor) {
    const TensorImpl* t = operand.tensor->impl();
    if (!t || !t->is_plain() || operand.tensor->dim() != 0 || t->dtype() != dtype) return false;
    number = read_scalar(*operand.tensor);
  } else {
    number = operand.numbers[operand.has_one_per_row ? i : 0];
  }
  // Operators that refuse truth values say so themselves.
  if (number.is_bool() || !fits(number, dtype)) return false;
  const Numbers one(compute_type(dtype), Span<Scalar>(&number, 1));
  std::memcpy(value, one.bytes, static_cast<size_t>(item_size(dtype)));
  return true;
}

bool ListCall::lay_out_row(size_t i, Row& row) {
  const Operand* lists = std::find_if(operands_.data(), operands_.data() + operands_.size(),
                                      [](const Operand& o) { return o.list; });
  const TensorImpl* first = lists->list[i].impl();
  if (!first || !first->is_plain()) return false;
  const DType dtype = first->dtype();
  const ComputeType compute = compute_type(dtype);
  const bool is_direct = compute_dtype(compute) == dtype && keeps_dtype(*kernel_.op, dtype);
  if (!is_direct || (kernel_.operands.divisor != 0 && is_integral(dtype, true))) return false;
  row.tile = tile_of(kernel_, compute);
  row.numel = first->numel();
  row.item_size = item_size(dtype);
  for (size_t k = 0; k < operands_.size(); ++k) {
    const Operand& operand = operands_[k];
    row.at[k + 1] = nullptr;
    if (!operand.list) {
      if (!lay_out_value(operand, i, dtype, row.values[k + 1])) return false;
      continue;
    }
    const TensorImpl* t = operand.list[i].impl();
    if (!t || !t->is_plain_like(*first)) return false;
    row.at[k + 1] = row.numel == 0 ? row.values[0] : static_cast<char*>(t->data());
  }
  if (!uniforms_.empty()) {
    Scalar given[8];
    for (size_t k = 0; k < uniforms_.size(); ++k) {
      given[k] = uniforms_[k].per_row ? uniforms_[k].per_row[i] : uniforms_[k].number;
      if (!fits(given[k], dtype)) return false;
    }
    numbers_.emplace_back(compute, Span<Scalar>(given, uniforms_.size()));
  }
  return row.tile != nullptr;
}

bool ListCall::lay_out() {
  if (!is_allowed_ || !kernel_.is_uniform) return false;
  numbers_.reserve(uniforms_.empty() ? 0 : rows_.size());
  for (size_t i = 0; i < rows_.size(); ++i)
    if (!lay_out_row(i, rows_[i])) return false;
  return true;
}

// Whether a row writes (to its first operand) where another row reads or writes.
bool ListCall::has_overlaps() const {
  if (rows_.size() == 1) return false;
  struct Range {
    const char *first, *last;
  };
  std::vector<Range> written;
  written.reserve(rows_.size());
  for (const Row& row : rows_)
    written.push_back({row.at[0], row.at[0] + row.numel * row.item_size});
  std::sort(written.begin(), written.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  for (size_t i = 1; i < written.size(); ++i)
    if (written[i].first < written[i - 1].last) return true;
  for (const Row& row : rows_)
    for (size_t k = 1; k <= operands_.size(); ++k) {
      const char* first = row.at[k];
      if (!first || first == row.at[0]) continue;
      const char* last = first + row.numel * row.item_size;
      const auto next = std::upper_bound(written.begin(), written.end(), first,
                                         [](const char* p, const Range& r) { return p < r.last; });
      if (next != written.end() && next->first < last) return true;
    }
  return false;
}

void ListCall::run_piece(size_t i, int64_t first, int64_t count) const {
  const Row& row = rows_[i];
  const void* numbers = numbers_.empty() ? nullptr : numbers_[i].bytes;
  const size_t used = operands_.size() + 1;
  alignas(64) char buffers[2][kConstantBytes];
  char* ptrs[kMaxOperands];
  bool has_constants = false;
  int64_t step = count;
  for (size_t k = 0; k < used; ++k) has_constants |= row.at[k] == nullptr;
  if (has_constants) step = std::min(count, kConstantBytes / row.item_size);
  int next = 0;
  for (size_t k = 0; k < used; ++k) {
    if (row.at[k]) continue;
    ptrs[k] = buffers[next++];
    fill(ptrs[k], row.values[k], row.item_size, step);
  }
  for (int64_t done = 0; done < count; done += step) {
    for (size_t k = 0; k < used; ++k)
      if (row.at[k]) ptrs[k] = row.at[k] + (first + done) * row.item_size;
    row.tile(ptrs, std::min(step, count - done), numbers);
  }
}

void ListCall::run() const {
  // Where each row begins in the sequence of all elements.
  std::vector<int64_t> starts(rows_.size() + 1, 0);
  for (size_t i = 0; i < rows_.size(); ++i) starts[i + 1] = starts[i] + rows_[i].numel;
  for_pieces(starts, [&](size_t i, int64_t first, int64_t count) { run_piece(i, first, count); });
}

std::vector<Tensor> ListCall::results(FunctionRef<Tensor(size_t)> row) {
  std::vector<Tensor> made;
  made.reserve(rows_.size());
  if (!lay_out()) {
    for (size_t i = 0; i < rows_.size(); ++i) made.push_back(row(i));
    return made;
  }
  const auto lists =
      std::find_if(operands_.begin(), operands_.end(), [](const Operand& o) { return o.list; });
  for (size_t i = 0; i < rows_.size(); ++i) {
    made.push_back(make_tensor_like(lists->list[i]));
    rows_[i].at[0] = static_cast<char*>(made.back().storage()->data());
    if (!rows_[i].at[0]) rows_[i].at[0] = rows_[i].values[0];
  }
  run();
  return made;
}

void ListCall::write(FunctionRef<void(size_t)> row) {
  bool is_at_once = lay_out();
  if (is_at_once) {
    for (Row& r : rows_) r.at[0] = r.at[1];
    is_at_once = !has_overlaps();
  }
  if (is_at_once) return run();
  for (size_t i = 0; i < rows_.size(); ++i) row(i);
}

}  // namespace taeda::cpu
