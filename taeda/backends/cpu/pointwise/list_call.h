// A pointwise operator over lists of tensors: all rows in one parallel region, over chunks.
//
// Few tensors of any size and many small ones are both fast: threads take shares of all elements,
// whatever tensor they lie in. Rows run at once where every tensor is plain (contiguous, of one
// dtype that the tiles compute in) and no row writes what another one reads; else one by one,
// through the operator.
#pragma once

#include <vector>

#include "taeda/backends/cpu/pointwise/numbers.h"
#include "taeda/backends/cpu/pointwise/pointwise.h"
#include "taeda/base/function_ref.h"

namespace taeda::cpu {

class ListCall {
 public:
  // `keys` are those that the call was dispatched by: any but the CPU's own forbid running at once.
  ListCall(const PointwiseKernel& kernel, KeySet keys, size_t rows);

  // The next operand of the body: an item per row, or one value for all rows. What is given must
  // outlive the call.
  void operand(TensorList list) { operands_.push_back({.list = list.data()}); }
  void operand(const Tensor& value) { operands_.push_back({.tensor = &value}); }
  void operand(const Scalar& number) { operands_.push_back({.numbers = &number}); }
  void operand(Span<Scalar> numbers) {
    operands_.push_back({.numbers = numbers.data(), .has_one_per_row = true});
  }
  // The next number of the body.
  void uniform(Scalar number) { uniforms_.push_back({number, nullptr}); }
  void uniform(Span<Scalar> numbers) { uniforms_.push_back({Scalar(), numbers.data()}); }

  // New tensors; `row` computes one by the operator.
  std::vector<Tensor> results(FunctionRef<Tensor(size_t)> row);
  // Into the first operand; `row` does one by the operator.
  void write(FunctionRef<void(size_t)> row);

 private:
  static constexpr int kMaxOperands = 4;  // the result and three inputs
  struct Operand {
    const Tensor* list = nullptr;
    const Tensor* tensor = nullptr;
    const Scalar* numbers = nullptr;
    bool has_one_per_row = false;
  };
  struct Uniform {
    Scalar number;
    const Scalar* per_row;
  };
  // A row as the tiles take it; a null pointer stands for one value in all places.
  struct Row {
    TileFn tile;
    int64_t numel;
    int64_t item_size;
    char* at[kMaxOperands];
    alignas(16) char values[kMaxOperands][16];
  };

  bool lay_out();
  bool lay_out_row(size_t i, Row& row);
  bool lay_out_value(const Operand& operand, size_t i, DType dtype, char* value) const;
  bool has_overlaps() const;
  void run() const;
  void run_piece(size_t i, int64_t first, int64_t count) const;

  const PointwiseKernel& kernel_;
  bool is_allowed_;
  std::vector<Operand> operands_;
  std::vector<Uniform> uniforms_;
  std::vector<Row> rows_;
  std::vector<Numbers> numbers_;
};

}  // namespace taeda::cpu
