// Checks of index tensors on devices.
#include "taeda/backends/lowered/indexed.h"

#include "taeda/ops/functions.h"

namespace taeda::lowered {

Tensor with_dim(const Tensor& t) {
  return t.dim() ? t : make_alias(t, {1}, {1}, t.storage_offset());
}

void checked_first(KernelBuilder& k, const std::vector<int>& axes,
                   const std::vector<const Expr*>& symbols) {
  k.loop(axes, [&] {
    for (const Expr* symbol : symbols) k.check(symbol);
  });
  k.barrier();
}

void accumulate(KernelBuilder& k, int operand, Sym value, const Coordinates& at,
                kernel::StoreMode mode) {
  using kernel::StoreMode;
  if (k.dtype(operand) != DType::Bool || mode == StoreMode::Write)
    return k.store(operand, value, at, mode);
  const SymMask is_true = k.as_mask(value);
  const bool is_or = mode == StoreMode::AtomicAdd || mode == StoreMode::AtomicMax;
  k.store_if(is_or ? is_true : !is_true, operand, value, at);
}

void refuse_place(int64_t index, int64_t dim, int64_t size) {
  fail(ErrorKind::Runtime, "index ", index, " is out of bounds for dimension ", dim, " with size ",
       size);
}

void refuse_index(int64_t index, int64_t dim, int64_t size) {
  fail(ErrorKind::Index, "index ", index, " is out of bounds for dimension ", dim, " with size ",
       size);
}

void check_indices(const Tensor& index, int64_t low, int64_t high, RaiseIndex raise) {
  if (index.numel() == 0) return;
  // A kernel that reads every index and does nothing else: the first bad one stays in the error
  // word.
  const Tensor at = with_dim(index);
  Launch launch("check_index", index.device());
  const std::vector<int> axes = launch.axes(at.sizes());
  const int i = launch.operand(at, at.strides());
  // From `low` on: shifted so that the range starts at 0.
  const int extent = launch.param(high - low), offset = launch.number(Scalar(low), Type::I64);
  launch.compute_in(Type::I64);
  launch.on_bad_index([raise = std::move(raise), low](int, int64_t bad) { raise(bad + low); });
  launch.run([&](KernelBuilder& k) {
    const Sym value = k.cast(k.load(i), Type::I64) - launch.uniform(k, offset);
    const Expr* symbol = k.indirect(value, launch.param(k, extent), false);
    k.loop(axes, [&] { k.check(symbol); });
  });
}

void check_bounds(const Tensor& index, int64_t dim, int64_t size) {
  check_indices(index, 0, size, [=](int64_t bad) { refuse_place(bad, dim, size); });
}

}  // namespace taeda::lowered
