// Operators over lists of tensors: row i of a call takes item i of every list.
#pragma once

#include <vector>

#include "taeda/base/error.h"
#include "taeda/base/function_ref.h"
#include "taeda/core/tensor.h"

namespace taeda {

namespace lists_detail {
inline void check_length(size_t rows, TensorList list) {
  TAEDA_CHECK(!list.empty(), "Tensor list must have at least one tensor.");
  TAEDA_CHECK(list.size() == rows, "Tensor lists must have the same number of tensors, got ", rows,
              " and ", list.size());
}
inline void check_length(size_t rows, Span<Scalar> numbers) {
  TAEDA_CHECK(numbers.size() == rows,
              "Tensor list must have same number of elements as scalar list.");
}
}  // namespace lists_detail

// Refuses an empty list, and lists of other lengths than the first one's.
template <class... Lists>
void check_lists(TensorList first, const Lists&... others) {
  TAEDA_CHECK(!first.empty(), "Tensor list must have at least one tensor.");
  (lists_detail::check_length(first.size(), others), ...);
}

template <class Row>
std::vector<Tensor> rows_of(size_t rows, Row&& row) {
  std::vector<Tensor> results;
  results.reserve(rows);
  for (size_t i = 0; i < rows; ++i) results.push_back(row(i));
  return results;
}
template <class Row>
void run_rows(size_t rows, Row&& row) {
  for (size_t i = 0; i < rows; ++i) row(i);
}

// A row's result into the tensor that it is computed of, as an operator in place writes it.
TAEDA_API void write_row(Tensor& target, FunctionRef<Tensor(const Tensor&)> row);

}  // namespace taeda
