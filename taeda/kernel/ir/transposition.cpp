// Finds loops that transpose.
#include "taeda/kernel/ir/transposition.h"

#include <algorithm>

namespace taeda::kernel {

namespace {

bool uses(const Expr* e, const Expr* var) {
  const auto symbols = symbolic::symbols_of(e);
  return std::find(symbols.begin(), symbols.end(), var) != symbols.end();
}

// A stride that moves with neither axis; null elsewhere.
const Expr* plain_stride(ExprPool& pool, const Expr* at, const Axis& axis, const Axis& other) {
  const Expr* stride = stride_of(pool, at, axis.var);
  return stride && !uses(stride, other.var) ? stride : nullptr;
}

// The single store of a loop over kept axes, whose value is a load from another buffer.
const Store* single_copy(const Kernel& kernel, const Loop& loop) {
  if (loop.steps.size() != 1 || loop.axes.size() < 2) return nullptr;
  const auto* store = std::get_if<Store>(&loop.steps[0]);
  if (!store || store->mask >= 0 || store->mode != StoreMode::Write) return nullptr;
  for (const Axis& axis : loop.axes)
    if (axis.role != Role::Kept) return nullptr;
  const Node& load = kernel.values.node(store->value);
  if (load.op != Op::Load || load.args[0] >= 0) return nullptr;
  const Buffer &from = kernel.buffers[load.index], &to = kernel.buffers[store->buffer];
  const bool may_overlap =
      load.index == store->buffer || (from.alias_class >= 0 && from.alias_class == to.alias_class);
  return may_overlap || from.dtype != to.dtype ? nullptr : store;
}

}  // namespace

std::optional<Transposition> find_transposition(const Kernel& kernel, const Loop& loop) {
  const Store* store = single_copy(kernel, loop);
  if (!store) return std::nullopt;
  const Node& load = kernel.values.node(store->value);
  for (const Expr* at : {load.at, store->at})
    for (const Expr* symbol : symbolic::symbols_of(at))
      if (kernel.values.find_indirect(symbol)) return std::nullopt;
  const size_t last = loop.axes.size() - 1;
  if (uses(loop.axes[last].extent, loop.axes[last - 1].var)) return std::nullopt;
  ExprPool& pool = *kernel.pool;
  const int item = static_cast<int>(item_size(kernel.buffers[store->buffer].dtype));
  if (item > 8) return std::nullopt;
  for (size_t b : {last, last - 1}) {
    const size_t a = 2 * last - 1 - b;
    const Expr* dense = plain_stride(pool, load.at, loop.axes[b], loop.axes[a]);
    const Expr* across = plain_stride(pool, store->at, loop.axes[a], loop.axes[b]);
    const Expr* from_stride = plain_stride(pool, load.at, loop.axes[a], loop.axes[b]);
    const Expr* to_stride = plain_stride(pool, store->at, loop.axes[b], loop.axes[a]);
    if (dense && across && from_stride && to_stride && dense->is_constant(1) &&
        across->is_constant(1))
      return Transposition{load.index, store->buffer, load.at, store->at, from_stride, to_stride, a,
                           b,          item};
  }
  return std::nullopt;
}

}  // namespace taeda::kernel
