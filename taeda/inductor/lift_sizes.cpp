// Rewrites a kernel's indices over parameters of its own.
#include "taeda/inductor/lift_sizes.h"

#include <algorithm>
#include <unordered_map>

#include "taeda/base/str.h"
#include "taeda/kernel/ir/rewrite.h"

namespace taeda::inductor {

using symbolic::Expr;
using symbolic::ExprOp;

namespace {

class Lifter {
 public:
  explicit Lifter(kernel::Kernel& kernel) : kernel_(kernel), pool_(*kernel.pool) {}

  const Expr* operator()(const Expr* e) {
    if (e->is_constant()) return e;
    const auto found = made_.find(e);
    if (found != made_.end()) return found->second;
    const Expr* made = lifted(e);
    made_[e] = made;
    return made;
  }

  // Nothing is assumed of its value: the pool is shared, and another kernel's has the same name.
  const Expr* param(const Expr* e) {
    params.push_back(pool_.symbol(str("p", params.size()), SymKind::Int, symbolic::IntRange(), {}));
    expressions.push_back(e);
    return params.back();
  }

  std::vector<const Expr*> params, expressions;

 private:
  const Expr* lifted(const Expr* e) {
    if (e->kind == SymKind::Int && kernel::is_of_params(kernel_, e)) return param(e);
    if (e->is_symbol()) return e;
    const bool is_joined = e->op == ExprOp::Add || e->op == ExprOp::Mul;
    const Expr* sizes = nullptr;  // the operands of sizes alone, as one
    std::vector<const Expr*> args;
    for (const Expr* arg : e->args)
      if (is_joined && kernel::is_of_params(kernel_, arg))
        sizes = sizes ? pool_.make(e->op, sizes, arg) : arg;
      else
        args.push_back((*this)(arg));
    if (sizes) args.push_back((*this)(sizes));
    return pool_.make(e->op, Span<const Expr*>(args.data(), args.size()));
  }

  kernel::Kernel& kernel_;
  symbolic::ExprPool& pool_;
  std::unordered_map<const Expr*, const Expr*> made_;
};

// Loops of one axis that store and nothing else.
bool is_flat(const kernel::Kernel& kernel) {
  const bool has_loops =
      std::all_of(kernel.steps.begin(), kernel.steps.end(), [](const kernel::Step& step) {
        const auto* loop = std::get_if<kernel::Loop>(&step);
        return loop && loop->axes.size() == 1 && loop->axes[0].role == kernel::Role::Kept &&
               std::all_of(loop->steps.begin(), loop->steps.end(), [](const kernel::Step& inner) {
                 return std::holds_alternative<kernel::Store>(inner);
               });
      });
  return has_loops && std::all_of(kernel.buffers.begin(), kernel.buffers.end(), [](auto& buffer) {
           return buffer.space == kernel::Space::Global;
         });
}

bool is_many(const Expr* size) { return size->is_constant() && size->value.integer > 1; }

// The sizes of a flat kernel that are constants. Names of axes tell their constant extents.
void lift_constants(kernel::Kernel& kernel, Lifter& lift) {
  for (kernel::Step& step : kernel.steps) {
    auto& loop = std::get<kernel::Loop>(step);
    kernel::Axis& axis = loop.axes[0];
    if (!is_many(axis.extent)) continue;
    const Expr* var = kernel::fresh_axis(kernel, "i");
    kernel::rewrite_indices(kernel, loop.steps, [&](const Expr* at) {
      return symbolic::substitute(*kernel.pool, at, {{axis.var, var}});
    });
    axis.var = var;
    axis.extent = lift.param(axis.extent);
  }
  for (kernel::Buffer& buffer : kernel.buffers)
    if (is_many(buffer.numel)) buffer.numel = lift.param(buffer.numel);
}

}  // namespace

std::vector<const Expr*> lift_sizes(kernel::Kernel& kernel) {
  Lifter lift(kernel);
  for (size_t i = 0; i < kernel.values.indirects().size(); ++i)
    kernel.values.set_extent(i, lift(kernel.values.indirects()[i].extent));
  kernel::rewrite_indices(kernel, kernel.steps, [&](const Expr* at) { return lift(at); });
  for (kernel::Buffer& buffer : kernel.buffers) buffer.numel = lift(buffer.numel);
  if (is_flat(kernel)) lift_constants(kernel, lift);
  kernel.params = std::move(lift.params);
  return std::move(lift.expressions);
}

}  // namespace taeda::inductor
