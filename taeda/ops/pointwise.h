// The family of pointwise operators: one rule for shapes and dtypes, bodies elsewhere.
#pragma once

#include <array>

#include "taeda/ops/shape.h"
#include "taeda/ops/spec.h"

namespace taeda {

namespace cpu {
struct PointwiseKernel;
}

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

// One pointwise operator, constant-initialized by the generator.
struct PointwiseOp {
  const char* name;
  DTypeRule rule;
  uint8_t accept;
  uint8_t num_inputs;
  const cpu::PointwiseKernel* cpu;
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

namespace cpu {
// Computes `out` (any strides, any dtype that can hold the result) from inputs that broadcast to
// it.
TAEDA_API void run_pointwise(const PointwiseOp& op, DType common, const Tensor& out,
                             Span<const Tensor*> inputs, Span<Scalar> scalars);
// The same where `out` and all inputs are contiguous and have one shape and the dtype `common`.
TAEDA_API void run_uniform(const PointwiseOp& op, DType common, const Tensor& out,
                           Span<const Tensor*> inputs, Span<Scalar> scalars);
// Small plain tensors of one dtype and shape in one step: allocates the result and computes it.
// Undefined, with nothing done, where the inputs are anything else.
TAEDA_API Tensor run_alike(const PointwiseOp& op, Span<const Tensor*> inputs, Span<Scalar> scalars);
}  // namespace cpu

// False when the device has neither tiles here nor is meta: the caller hands over to the device's
// kernel.
inline bool run_pointwise(const PointwiseOp& op, const PointwiseSpec& spec, const Tensor& out,
                          Span<const Tensor*> inputs, Span<Scalar> scalars) {
  if (__builtin_expect(out.is_cpu(), 1)) {
    const bool is_uniform =
        spec.is_uniform() && out.impl()->is_plain() && out.dtype() == spec.common();
    if (is_uniform)
      cpu::run_uniform(op, spec.common(), out, inputs, scalars);
    else
      cpu::run_pointwise(op, spec.common(), out, inputs, scalars);
    return true;
  }
  return out.is_meta();
}

}  // namespace taeda
