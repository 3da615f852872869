// Quotients and remainders of indices, where the extents of axes tell them.
#include <algorithm>
#include <optional>

#include "taeda/kernel/ir/rewrite.h"
#include "taeda/kernel/schedule/schedule.h"

namespace taeda::kernel {

namespace {

using symbolic::ExprOp;

// Axes that one loop has at most after splits.
constexpr size_t kMostAxes = 8;
// Blocks that are shorter than this are no loops for vectors.
constexpr int64_t kLeastRun = 32;

bool moves_with(const Expr* e, const Expr* symbol) {
  const auto symbols = symbolic::symbols_of(e);
  return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
}

// The integer quotients and remainders in an expression, inner ones first.
void collect_quotients(const Expr* e, std::vector<const Expr*>& found) {
  for (const Expr* arg : e->args) collect_quotients(arg, found);
  const bool is_quotient = e->op == ExprOp::FloorDiv || e->op == ExprOp::Mod;
  if (is_quotient && e->kind == SymKind::Int &&
      std::find(found.begin(), found.end(), e) == found.end())
    found.push_back(e);
}

// a / b without a rest; null where there may be one.
const Expr* exact_quotient(ExprPool& pool, const Expr* a, const Expr* b) {
  if (b->is_constant(0)) return nullptr;
  const Expr* quotient = pool.floor_div(a, b);
  return pool.mul(quotient, b) == a ? quotient : nullptr;
}

// What is known inside of a loop: each axis lies between 0 and its extent.
class Domain {
 public:
  explicit Domain(ExprPool& pool) : pool_(pool) {}

  // Axes of a loop and of those in it, outer ones first. Loops beside each other may share one.
  void add(const Loop& loop) {
    for (const Axis& axis : loop.axes) {
      const auto same = [&](const Axis& other) { return other.var == axis.var; };
      const auto known = std::find_if(axes_.begin(), axes_.end(), same);
      if (known == axes_.end())
        axes_.push_back(axis);
      else if (known->extent != axis.extent)
        known->extent = nullptr;
    }
    for (const Step& step : loop.steps)
      if (const auto* inner = std::get_if<Loop>(&step)) add(*inner);
  }

  const Expr* simplified(const Expr* at) const {
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      std::vector<const Expr*> quotients;
      collect_quotients(at, quotients);
      for (const Expr* one : quotients) {
        const Expr* next = one->op == ExprOp::FloorDiv ? quotient(one->args[0], one->args[1])
                                                       : remainder(one->args[0], one->args[1]);
        const Expr* changed = symbolic::substitute(pool_, at, {{one, next}});
        if (changed == at) continue;
        at = changed;
        is_changed = true;
        break;
      }
    }
    return at;
  }

 private:
  // a = multiple * b + rest.
  struct Parts {
    const Expr *multiple, *rest;
  };

  // The terms of axes, and the term of none, that b or its factor divides.
  Parts parts_of(const Expr* a, const Expr* b) const {
    Parts parts{pool_.integer(0), pool_.integer(0)};
    const Expr* plain = a;
    const auto take = [&](const Expr* stride, const Expr* times) {
      const Expr* whole = exact_quotient(pool_, stride, b);
      const Expr*& to = whole ? parts.multiple : parts.rest;
      to = pool_.add(to, pool_.mul(whole ? whole : stride, times));
    };
    for (const Axis& axis : axes_) {
      if (!moves_with(a, axis.var)) continue;
      const Expr* stride = stride_of(pool_, a, axis.var);
      // Both terms of a product of axes stay.
      if (!stride || std::any_of(axes_.begin(), axes_.end(),
                                 [&](const Axis& other) { return moves_with(stride, other.var); }))
        continue;
      take(stride, axis.var);
      plain = pool_.subtract(plain, pool_.mul(stride, axis.var));
    }
    take(plain, pool_.integer(1));
    return parts;
  }

  bool is_below(const Expr* a, const Expr* b) const {
    return is_nonnegative(a, axes_.size()) &&
           is_nonnegative(pool_.subtract(pool_.subtract(b, pool_.integer(1)), a), axes_.size());
  }

  // Whether e >= 0 wherever the loop is, axes from `end` on being put in.
  bool is_nonnegative(const Expr* e, size_t end) const {
    for (size_t i = end; i-- > 0;) {
      const auto& [var, extent, role, binding] = axes_[i];
      if (!moves_with(e, var)) continue;
      const Expr* stride = stride_of(pool_, e, var);
      if (!stride) return false;
      if (stride->range.lo >= 0) {
        e = symbolic::substitute(pool_, e, {{var, pool_.integer(0)}});
        continue;
      }
      if (stride->range.hi > 0 || !extent) return false;
      const auto holds_to = [&](const Expr* bound) {
        const Expr* most = pool_.subtract(bound, pool_.integer(1));
        return is_nonnegative(symbolic::substitute(pool_, e, {{var, most}}), i);
      };
      // The extent is as short as each of them.
      if (extent->op == ExprOp::Min)
        return std::any_of(extent->args.begin(), extent->args.end(), holds_to);
      return holds_to(extent);
    }
    return e->range.lo >= 0;
  }

  // Steps of an axis in a that divide b: (g*x + y) // (g*c) is x // c for 0 <= y < g.
  std::optional<std::pair<Parts, const Expr*>> coarser(const Expr* a, const Expr* b) const {
    for (const Axis& axis : axes_) {
      if (!moves_with(a, axis.var)) continue;
      const Expr* step = stride_of(pool_, a, axis.var);
      if (!step || step->range.lo < 0 || step->is_constant(1) || step == b) continue;
      if (!exact_quotient(pool_, b, step)) continue;
      const Parts parts = parts_of(a, step);
      if (!parts.multiple->is_constant(0) && is_below(parts.rest, step))
        return std::pair(parts, step);
    }
    return std::nullopt;
  }

  const Expr* quotient(const Expr* a, const Expr* b) const {
    const Parts parts = parts_of(a, b);
    if (is_below(parts.rest, b)) return parts.multiple;
    if (!parts.multiple->is_constant(0)) return pool_.add(parts.multiple, quotient(parts.rest, b));
    if (const auto by = coarser(a, b))
      return pool_.floor_div(by->first.multiple, exact_quotient(pool_, b, by->second));
    return pool_.floor_div(a, b);
  }

  const Expr* remainder(const Expr* a, const Expr* b) const {
    const Parts parts = parts_of(a, b);
    if (is_below(parts.rest, b)) return parts.rest;
    if (!parts.multiple->is_constant(0)) return remainder(parts.rest, b);
    if (const auto by = coarser(a, b)) {
      const Expr* left = pool_.modulo(by->first.multiple, exact_quotient(pool_, b, by->second));
      return pool_.add(pool_.mul(by->second, left), by->first.rest);
    }
    return pool_.modulo(a, b);
  }

  ExprPool& pool_;
  std::vector<Axis> axes_;
};

bool has_quotients(const Kernel& kernel, const Loop& loop) {
  std::vector<const Expr*> found;
  for (const Expr* at : indices_of(kernel, loop.steps)) collect_quotients(at, found);
  return !found.empty();
}

void simplify_indices(Kernel& kernel, Loop& loop) {
  Domain domain(*kernel.pool);
  domain.add(loop);
  auto map = [&](const Expr* at) { return domain.simplified(at); };
  rewrite_indices(kernel, loop.steps, map);
}

// Whether stores are dense along an axis: short blocks of it are no vectors.
bool is_stored_along(const Kernel& kernel, const Loop& loop, const Expr* var) {
  return std::any_of(loop.steps.begin(), loop.steps.end(), [&](const Step& step) {
    const auto* store = std::get_if<Store>(&step);
    const Expr* stride = store ? stride_of(*kernel.pool, store->at, var) : nullptr;
    return stride && stride->is_constant(1);
  });
}

// A divisor of quotients of the axis that divides its extent; null where there is none.
const Expr* divisor_of(const Kernel& kernel, const Loop& loop, const Axis& axis) {
  std::vector<const Expr*> quotients;
  for (const Expr* at : indices_of(kernel, loop.steps)) collect_quotients(at, quotients);
  for (const Expr* one : quotients) {
    const Expr* by = one->args[1];
    if (one->args[0] != axis.var || !is_of_params(kernel, by) || by == axis.extent) continue;
    const Expr* count = exact_quotient(*kernel.pool, axis.extent, by);
    if (!count || count->is_constant(1)) continue;
    const bool is_short = by->is_constant() && by->value.integer < kLeastRun;
    if (!is_short || !is_stored_along(kernel, loop, axis.var)) return by;
  }
  return nullptr;
}

// loop i < a*b  to  loop i_outer < a, i_inner < b
void split_evenly(Kernel& kernel, Loop& loop, size_t at, const Expr* size) {
  ExprPool& pool = *kernel.pool;
  const Axis axis = loop.axes[at];
  const Expr* outer = fresh_axis(kernel, axis.var->name + "_outer");
  const Expr* inner = fresh_axis(kernel, axis.var->name + "_inner");
  const Expr* whole = pool.add(pool.mul(size, outer), inner);
  auto map = [&](const Expr* e) { return substitute(pool, e, {{axis.var, whole}}); };
  rewrite_indices(kernel, loop.steps, map);
  loop.axes[at] = {outer, pool.floor_div(axis.extent, size), axis.role, Binding::Serial};
  loop.axes.insert(loop.axes.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                   {inner, size, axis.role, Binding::Serial});
}

bool only_writes(const Loop& loop) {
  return std::all_of(loop.steps.begin(), loop.steps.end(), [](const Step& step) {
    const auto* store = std::get_if<Store>(&step);
    return store && store->mode == StoreMode::Write;
  });
}

// One split, where an axis has one.
bool split_once(Kernel& kernel, Loop& loop) {
  if (loop.axes.size() >= kMostAxes) return false;
  for (const Axis& axis : loop.axes)
    if (!is_of_params(kernel, axis.extent)) return false;
  for (size_t i = 0; i < loop.axes.size(); ++i)
    if (const Expr* size = divisor_of(kernel, loop, loop.axes[i])) {
      split_evenly(kernel, loop, i, size);
      return true;
    }
  return false;
}

}  // namespace

void simplify_quotients(Kernel& kernel) {
  for (Step& step : kernel.steps) {
    auto* loop = std::get_if<Loop>(&step);
    if (!loop || !has_quotients(kernel, *loop)) continue;
    simplify_indices(kernel, *loop);
    while (only_writes(*loop) && split_once(kernel, *loop)) simplify_indices(kernel, *loop);
  }
}

}  // namespace taeda::kernel
