// One launch of a kernel that is made from the IR at first use.
//
//   Launch launch("relu", out.device());
//   const int i = launch.axis(out.numel());
//   const int y = launch.operand(out, {1}), x = launch.operand(self, {1});
//   launch.run([&](KernelBuilder& k) {
//     k.loop({i}, [&] { k.store(y, maximum(k.load(x), Sym(0))); });
//   });
//
// What a kernel depends on is its key: the name, facts, dtypes, which extents are 1, which strides
// are 0 or 1, alignment, and which operands are one. Everything else (the other sizes and strides,
// numbers, addresses) is an argument, so one kernel serves all sizes. Kernels are kept per device,
// and on disk where the device gives binaries.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "taeda/backends/deferred_checks.h"
#include "taeda/base/function_ref.h"
#include "taeda/core/tensor.h"
#include "taeda/kernel/builder/kernel_builder.h"

namespace taeda::lowered {

using kernel::Coordinates;
using kernel::KernelBuilder;
using kernel::Sym;
using kernel::SymMask;
using kernel::Type;

class Launch {
 public:
  Launch(std::string_view name, Device device);

  // Axes come first, then operands, so that each operand has a stride (in elements) per axis.
  int axis(int64_t extent);
  std::vector<int> axes(IntList extents);
  // A tensor on the launch's device. One that lies where an operand before it lies is that operand.
  // Bit d of `indexed`: along axis d the kernel goes to places of its own.
  int operand(const Tensor& t, IntList strides, uint64_t indexed = 0);
  // A number of the call.
  int number(const Scalar& value, Type type);
  // An integer that indices and sizes use; run's callback finds it under the same number.
  int param(int64_t value);
  // Whatever else decides about the kernel.
  void fact(int64_t value);
  void fact(std::string_view text);
  // The type of constants in the kernel that stand alone.
  void compute_in(Type type) {
    type_ = type;
    fact(static_cast<int64_t>(type));
  }
  // A launch that reduces few long rows: devices with many threads take each row in parts.
  void reduces(int64_t rows, int64_t length) { rows_ = rows, length_ = length; }
  // Raises the error of an index out of range: the number of its check, from 0, and the index. May
  // be called long after the launch, so it holds what it needs.
  void on_bad_index(devices::RaiseCheck raise) { raise_ = std::move(raise); }

  Sym uniform(KernelBuilder& k, int number) const;
  const kernel::Expr* param(KernelBuilder& k, int number) const;

  // Makes the kernel with `build` if nobody has, and launches it.
  void run(FunctionRef<void(KernelBuilder&)> build);

 private:
  struct Operand {
    DType dtype;
    void* data;
    IntVec strides;
  };
  kernel::Kernel build_kernel(FunctionRef<void(KernelBuilder&)> build) const;
  std::vector<int64_t> param_values() const;

  Device device_;
  std::string name_, key_;
  IntVec extents_;
  std::vector<Operand> operands_;
  std::vector<int64_t> own_params_;  // those of param()
  std::vector<Type> number_types_;
  std::vector<std::array<char, 16>> numbers_;
  Type type_ = Type::F32;
  int64_t rows_ = 0, length_ = 0;  // of a reduction; 0: none
  devices::RaiseCheck raise_;
  mutable std::vector<const kernel::Expr*> own_symbols_;
};

}  // namespace taeda::lowered
