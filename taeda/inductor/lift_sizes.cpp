// Rewrites a kernel's indices over parameters of its own.
#include "taeda/inductor/lift_sizes.h"

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

  // Nothing is assumed of its value: the pool is shared, and another kernel's has the same name.
  const Expr* param(const Expr* e) {
    params.push_back(pool_.symbol(str("p", params.size()), SymKind::Int, symbolic::IntRange(), {}));
    expressions.push_back(e);
    return params.back();
  }

  kernel::Kernel& kernel_;
  symbolic::ExprPool& pool_;
  std::unordered_map<const Expr*, const Expr*> made_;
};

}  // namespace

std::vector<const Expr*> lift_sizes(kernel::Kernel& kernel) {
  Lifter lift(kernel);
  for (size_t i = 0; i < kernel.values.indirects().size(); ++i)
    kernel.values.set_extent(i, lift(kernel.values.indirects()[i].extent));
  kernel::rewrite_indices(kernel, kernel.steps, [&](const Expr* at) { return lift(at); });
  for (kernel::Buffer& buffer : kernel.buffers) buffer.numel = lift(buffer.numel);
  kernel.params = std::move(lift.params);
  return std::move(lift.expressions);
}

}  // namespace taeda::inductor
