// Building kernels and reading their parts.
#include "taeda/kernel/ir/kernel.h"

#include "taeda/base/error.h"

namespace taeda::kernel {

namespace {

const Expr* natural(ExprPool& pool, const std::string& name) {
  return pool.symbol(name, SymKind::Int, {0, symbolic::IntRange::kMax}, {});
}

}  // namespace

const Expr* Kernel::add_param(const std::string& name) {
  params.push_back(natural(*pool, name));
  return params.back();
}

int Kernel::add_buffer(Buffer buffer) {
  buffers.push_back(std::move(buffer));
  return static_cast<int>(buffers.size()) - 1;
}

const Expr* Kernel::axis(const std::string& name) { return natural(*pool, name); }

NodeId Kernel::load(int buffer, const Expr* at, NodeId mask, NodeId other) {
  return values.load(buffer, compute_type(buffers.at(buffer).dtype), at, mask, other);
}

const char* role_name(Role role) {
  constexpr const char* kNames[] = {"kept", "reduced", "scanned"};
  return kNames[static_cast<int>(role)];
}

const char* binding_name(Binding binding) {
  constexpr const char* kNames[] = {"serial", "parallel", "vector", "block", "thread", "unroll"};
  return kNames[static_cast<int>(binding)];
}

const char* space_name(Space space) {
  constexpr const char* kNames[] = {"global", "shared", "local"};
  return kNames[static_cast<int>(space)];
}

const char* store_mode_name(StoreMode mode) {
  constexpr const char* kNames[] = {"store",      "add",        "atomic_add",
                                    "atomic_mul", "atomic_max", "atomic_min"};
  return kNames[static_cast<int>(mode)];
}

std::vector<NodeId> roots_of(const Kernel& kernel, const Step& step) {
  std::vector<NodeId> roots;
  auto add_index = [&](const Expr* at) {
    for (const Expr* symbol : symbolic::symbols_of(at))
      if (const Indirect* one = kernel.values.find_indirect(symbol)) roots.push_back(one->value);
  };
  if (const auto* store = std::get_if<Store>(&step)) {
    roots.push_back(store->value);
    if (store->mask >= 0) roots.push_back(store->mask);
    add_index(store->at);
  } else if (const auto* reduce = std::get_if<Reduce>(&step)) {
    roots = reduce->values;
  } else if (const auto* scan = std::get_if<Scan>(&step)) {
    roots = scan->values;
  } else if (const auto* check = std::get_if<Check>(&step)) {
    add_index(check->symbol);
  }
  return roots;
}

std::vector<Type> state_types(const Reduce& reduce) {
  return reduce.part == Part::Partial ? reduce.body->state_types : reduce.body->result_types;
}

size_t num_launched(const Loop& loop) {
  const bool has_two = loop.axes.size() > 1 && loop.axes[1].binding == Binding::Parallel;
  return has_two ? 2 : 1;
}

const Expr* launch_extent(const Kernel& kernel, const Loop& loop) {
  const Expr* first = loop.axes[0].extent;
  return num_launched(loop) == 1 ? first : kernel.pool->mul(first, loop.axes[1].extent);
}

const Expr* stride_of(ExprPool& pool, const Expr* at, const Expr* var) {
  const Expr* next = symbolic::substitute(pool, at, {{var, pool.add(var, pool.integer(1))}});
  const Expr* step = pool.subtract(next, at);
  for (const Expr* symbol : symbolic::symbols_of(step))
    if (symbol == var) return nullptr;
  return step;
}

}  // namespace taeda::kernel
