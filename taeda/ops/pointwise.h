// The family of pointwise operators: one rule for shapes and dtypes, bodies elsewhere.
#pragma once

#include <array>

#include "taeda/ops/shape.h"
#include "taeda/ops/spec.h"

namespace taeda {

// How the result's dtype follows from the inputs' common one.
enum class DTypeRule : uint8_t {
  Promote,    // the common dtype
  Float,      // integers become the default float
  Compare,    // computed in the common dtype, bool comes out
  Bool,       // each input is taken as a truth value or tested; bool comes out
  Real,       // complex gives its real type
  MaskFirst,  // the first input is a mask, the others are promoted
  Self,       // the first input's dtype; the others are converted
};
enum : uint8_t { kAcceptBool = 1, kAcceptInt = 2, kAcceptFloat = 4, kAcceptComplex = 8 };
// Beside them: a number counts as it is, though the halves beside it cannot hold it.
inline constexpr uint8_t kExactNumbers = 16;
// One value is written in place, which PyTorch lets an expanded tensor take with a warning.
inline constexpr uint8_t kFillsRepeats = 32;
// Of inputs that differ in layout the result follows the last before the others.
inline constexpr uint8_t kLayoutOfLast = 64;

// One pointwise operator, constant-initialized by the generator.
struct PointwiseOp {
  const char* name;
  DTypeRule rule;
  uint8_t accept;
  uint8_t num_inputs;
};

inline constexpr auto kClasses = [] {
  std::array<uint8_t, kNumDTypes + 1> table{};
  for (int i = 0; i <= kNumDTypes; ++i) {
    const auto t = static_cast<DType>(i);
    table[i] = is_complex(t)      ? kAcceptComplex
               : is_floating(t)   ? kAcceptFloat
               : t == DType::Bool ? kAcceptBool
                                  : kAcceptInt;
  }
  return table;
}();
// Of two classes the larger one wins a promotion.
constexpr uint8_t class_of(DType t) { return kClasses[static_cast<int>(t)]; }
// Whether inputs of one dtype are computed in it and give it.
inline bool keeps_dtype(const PointwiseOp& op, DType t) {
  const uint8_t c = class_of(t);
  const bool is_kept =
      op.rule == DTypeRule::Promote || (op.rule == DTypeRule::Float && c == kAcceptFloat);
  return is_kept && (op.accept & c) && !is_float8(t);
}

// Shape, dtypes and device of one call. Lives on the stack during the call and points at its
// inputs.
class TAEDA_API PointwiseSpec {
 public:
  PointwiseSpec(const PointwiseOp& op, Span<const Tensor*> inputs);
  DType common() const { return common_; }
  // All inputs are contiguous and of the result's shape and dtype.
  bool is_uniform() const { return is_uniform_; }
  Tensor allocate() const;
  // Memory first, before there is a spec: PyTorch reports overlaps before shapes and dtypes.
  static void check_written(const PointwiseOp& op, const Tensor& self, Span<const Tensor*> inputs);
  void check_inplace(const Tensor& self) const;
  void prepare_out(Tensor& out, Span<const Tensor*> inputs) const;

 private:
  bool infer_uniform(Span<const Tensor*> inputs);
  DType common_dtype(Span<const Tensor*> inputs) const;
  void infer_dtypes(Span<const Tensor*> inputs);
  void infer_shape(Span<const Tensor*> inputs);
  SymIntList sizes() const { return like_ ? like_->sym_sizes() : SymIntList(shape_->sizes); }

  const PointwiseOp& op_;
  const Tensor* like_ = nullptr;  // a contiguous input with the result's shape, the common case
  DType common_, result_;
  Device device_;
  bool is_uniform_ = false;
  struct Shape {
    SymIntVec sizes, strides;
  };
  std::optional<Shape> shape_;  // where there is no `like_`
};

}  // namespace taeda
