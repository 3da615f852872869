// Rewrites a kernel's indices over parameters of its own.
#include "taeda/inductor/lift_sizes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "taeda/base/function_ref.h"
#include "taeda/base/str.h"
#include "taeda/kernel/ir/rewrite.h"

namespace taeda::inductor {

using symbolic::Expr;
using symbolic::ExprOp;

namespace {

// The least constant that becomes a parameter of any loops. Compilers make use of smaller ones.
constexpr int64_t kLeastLifted = 17;

// Compilers write rows of as many elements out, if the number is known: four to six times as fast.
constexpr int64_t kShortRow = 32;

class Lifter {
 public:
  explicit Lifter(kernel::Kernel& kernel) : kernel_(kernel), pool_(*kernel.pool) {}

  // Constants from kLeastLifted up become parameters, too, and axes get other variables.
  void lift_constants(symbolic::Replacements axes) {
    lifts_constants_ = true;
    made_ = std::move(axes);
  }

  const Expr* operator()(const Expr* e) {
    if (e->is_constant() && !is_lifted(e)) return e;
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
  bool is_lifted(const Expr* constant) const {
    return lifts_constants_ && constant->kind == SymKind::Int &&
           constant->value.integer >= kLeastLifted;
  }

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
  bool lifts_constants_ = false;
  symbolic::Replacements made_;
};

bool has_global_buffers(const kernel::Kernel& kernel) {
  return std::all_of(kernel.buffers.begin(), kernel.buffers.end(),
                     [](const auto& buffer) { return buffer.space == kernel::Space::Global; });
}

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
  return has_loops && has_global_buffers(kernel);
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

// Divisions by constants are multiplications; by what only the launch tells they are divisions.
bool is_sum(const Expr* e) {
  const bool is_plain = e->is_constant() || e->is_symbol() || e->op == ExprOp::Add ||
                        e->op == ExprOp::Mul || e->op == ExprOp::Min || e->op == ExprOp::Max;
  return is_plain && std::all_of(e->args.begin(), e->args.end(), is_sum);
}

bool is_short_row(const kernel::Axis& axis) {
  return axis.role == kernel::Role::Reduced && axis.extent->is_constant() &&
         axis.extent->value.integer >= kLeastLifted && axis.extent->value.integer <= kShortRow;
}

// Whether the code of the loops is the same for all extents.
bool is_for_all_extents(const std::vector<kernel::Step>& steps) {
  return std::all_of(steps.begin(), steps.end(), [](const kernel::Step& step) {
    const auto* loop = std::get_if<kernel::Loop>(&step);
    return !loop || (is_for_all_extents(loop->steps) &&
                     std::none_of(loop->axes.begin(), loop->axes.end(), [](const auto& axis) {
                       return axis.binding == kernel::Binding::Unroll || is_short_row(axis);
                     }));
  });
}

bool can_lift_constants(const kernel::Kernel& kernel) {
  if (!has_global_buffers(kernel) || !is_for_all_extents(kernel.steps)) return false;
  const std::vector<const Expr*> indices = kernel::indices_of(kernel, kernel.steps);
  return std::all_of(indices.begin(), indices.end(), is_sum);
}

void for_each_axis(std::vector<kernel::Step>& steps, FunctionRef<void(const Expr*& axis)> visit) {
  for (kernel::Step& step : steps) {
    if (auto* reduce = std::get_if<kernel::Reduce>(&step))
      for (const Expr*& axis : reduce->axes) visit(axis);
    if (auto* scan = std::get_if<kernel::Scan>(&step)) visit(scan->axis);
    auto* loop = std::get_if<kernel::Loop>(&step);
    if (!loop) continue;
    for (kernel::Axis& axis : loop->axes) visit(axis.var);
    for_each_axis(loop->steps, visit);
  }
}

// The number of elements that a real constant may be, as type and integers hold it exactly; 0 for
// all others.
int64_t count_of(const kernel::ExprGraph& graph, kernel::NodeId id) {
  const kernel::Node& node = graph.node(id);
  if (node.op != kernel::Op::Constant) return 0;
  if (node.type != kernel::Type::F32 && node.type != kernel::Type::F64) return 0;
  const double most = node.type == kernel::Type::F32 ? 0x1p24 : 0x1p53;
  const double value = graph.constant_value(id);
  const bool is_count = value >= kLeastLifted && value <= most && value == std::floor(value);
  return is_count ? static_cast<int64_t>(value) : 0;
}

// Layers that differ in sizes divide by other numbers of elements, too.
void lift_counts(kernel::Kernel& kernel, Lifter& lift) {
  kernel::ExprGraph& graph = kernel.values;
  std::map<int64_t, kernel::NodeId> params;
  for (kernel::NodeId id : graph.reachable(kernel::roots_under(kernel, kernel.steps))) {
    const int64_t count = count_of(graph, id);
    if (count == 0) continue;
    const auto [param, is_new] = params.try_emplace(count, -1);
    if (is_new) param->second = graph.index(lift.param(kernel.pool->integer(count)));
    const kernel::NodeId value = graph.cast(param->second, graph.node(id).type);
    kernel::replace_value(kernel, kernel.steps, id, value);
  }
}

// Other variables for all axes, by their order.
symbolic::Replacements numbered_axes(kernel::Kernel& kernel) {
  symbolic::Replacements names;
  for_each_axis(kernel.steps, [&](const Expr*& axis) {
    if (!names.count(axis)) names[axis] = kernel::fresh_axis(kernel, str("x", names.size()));
  });
  return names;
}

}  // namespace

std::vector<const Expr*> lift_sizes(kernel::Kernel& kernel) {
  Lifter lift(kernel);
  symbolic::Replacements axes;
  std::vector<std::pair<kernel::Axis*, const Expr*>> launched;
  const bool has_one_form = is_flat(kernel);
  if (!has_one_form && can_lift_constants(kernel)) {
    axes = numbered_axes(kernel);
    lift.lift_constants(axes);
    // A launch gives the first extent of a loop as a range: no code reads it as a parameter.
    for (kernel::Step& step : kernel.steps)
      if (auto* loop = std::get_if<kernel::Loop>(&step); loop && is_many(loop->axes[0].extent))
        launched.emplace_back(&loop->axes[0],
                              std::exchange(loop->axes[0].extent, kernel.pool->integer(1)));
  }
  for (size_t i = 0; i < kernel.values.indirects().size(); ++i)
    kernel.values.set_extent(i, lift(kernel.values.indirects()[i].extent));
  kernel::rewrite_indices(kernel, kernel.steps, [&](const Expr* at) { return lift(at); });
  for (kernel::Buffer& buffer : kernel.buffers) buffer.numel = lift(buffer.numel);
  if (has_one_form) lift_constants(kernel, lift);
  lift_counts(kernel, lift);
  for (const auto& [axis, extent] : launched) axis->extent = lift.param(extent);
  if (!axes.empty()) for_each_axis(kernel.steps, [&](const Expr*& axis) { axis = axes.at(axis); });
  kernel.params = std::move(lift.params);
  return std::move(lift.expressions);
}

}  // namespace taeda::inductor
