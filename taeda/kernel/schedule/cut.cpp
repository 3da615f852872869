// One loop as several, cut where comparisons with its index change.
#include <algorithm>
#include <optional>
#include <utility>

#include "taeda/kernel/ir/rewrite.h"
#include "taeda/kernel/schedule/schedule.h"

namespace taeda::kernel {

namespace {

// Loops that one becomes at most: each is code of its own.
constexpr size_t kMaxLoops = 8;

// A comparison that holds from an index of an axis on, or up to it.
struct Turn {
  NodeId comparison;
  const Expr* at;
  bool holds_from;
};

// A comparison of an axis modulo `step` with a number.
struct Parity {
  NodeId comparison;
  int64_t step;
  const Expr *residue, *wanted;
  bool holds_there;  // where they are equal
};
// Steps that become loops of their own.
constexpr int64_t kMostSteps = 4;

class LoopCutter {
 public:
  explicit LoopCutter(Kernel& kernel) : kernel_(kernel), pool_(*kernel.pool) {}

  void run() {
    std::vector<Step> done;
    for (Step& step : kernel_.steps) {
      auto* loop = std::get_if<Loop>(&step);
      if (!loop || !only_stores(*loop)) {
        done.push_back(std::move(step));
        continue;
      }
      bool is_first = true;
      for (Loop& part : cut(std::move(*loop))) {
        // Parts write to one buffer.
        if (!std::exchange(is_first, false)) done.emplace_back(Barrier{});
        done.emplace_back(std::move(part));
      }
    }
    kernel_.steps = std::move(done);
  }

 private:
  static bool only_stores(const Loop& loop) {
    return std::all_of(loop.steps.begin(), loop.steps.end(), [](const Step& step) {
      const auto* store = std::get_if<Store>(&step);
      return store && store->mode == StoreMode::Write;
    });
  }

  // Parts are cut again along other axes.
  std::vector<Loop> cut(Loop whole) {
    std::vector<Loop> parts;
    parts.push_back(std::move(whole));
    for (size_t i = 0; i < parts.size();) {
      std::vector<Loop> pieces = cut_once(parts[i], kMaxLoops - parts.size() + 1);
      if (pieces.empty()) {
        ++i;
        continue;
      }
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
      parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(i),
                   std::make_move_iterator(pieces.begin()), std::make_move_iterator(pieces.end()));
    }
    return parts;
  }

  // Nothing where the loop stays as it is.
  std::vector<Loop> cut_once(const Loop& loop, size_t most) {
    std::vector<NodeId> roots;
    for (const Step& step : loop.steps)
      for (NodeId root : roots_of(kernel_, step)) roots.push_back(root);
    const std::vector<NodeId> values = kernel_.values.reachable(roots);
    if (!reads_under_masks(values)) return {};
    for (size_t axis = loop.axes.size(); axis-- > 0;) {
      if (!is_of_params(kernel_, loop.axes[axis].extent)) continue;
      const std::vector<Turn> turns = find_turns(values, loop.axes[axis].var);
      if (turns.empty()) continue;
      const std::optional<std::vector<const Expr*>> bounds =
          sorted_bounds(turns, loop.axes[axis].extent);
      if (bounds && bounds->size() < most) return pieces_of(loop, axis, turns, *bounds);
    }
    for (size_t axis = loop.axes.size(); axis-- > 0;) {
      if (!is_of_params(kernel_, loop.axes[axis].extent)) continue;
      const std::vector<Parity> parities = find_parities(values, loop.axes[axis].var);
      if (parities.empty() || static_cast<size_t>(parities[0].step) > most) continue;
      return residues_of(loop, axis, parities);
    }
    return {};
  }

  // Comparisons of the axis modulo a small number with a number, all of the first one's step.
  std::vector<Parity> find_parities(const std::vector<NodeId>& values, const Expr* var) const {
    std::vector<Parity> found;
    for (NodeId id : values) {
      const Node& node = kernel_.values.node(id);
      if (node.op != Op::Eq && node.op != Op::Ne) continue;
      const Expr *a = index_of(node.args[0]), *b = index_of(node.args[1]);
      if (!a || !b) continue;
      if (a->is_constant()) std::swap(a, b);
      if (a->op != symbolic::ExprOp::Mod || !b->is_constant()) continue;
      const Expr* step = a->args[1];
      if (!step->is_constant() || step->value.integer < 2 || step->value.integer > kMostSteps)
        continue;
      const Expr* first = pool_.subtract(a->args[0], var);
      if (!first->is_constant()) continue;
      if (found.empty() || found[0].step == step->value.integer)
        found.push_back({id, step->value.integer, a, b, node.op == Op::Eq});
    }
    return found;
  }

  // loop i < n  to  loop i < (n + 1)//2 at 2*i, loop i < n//2 at 2*i + 1
  std::vector<Loop> residues_of(const Loop& loop, size_t at, const std::vector<Parity>& parities) {
    const Axis axis = loop.axes[at];
    const int64_t step = parities[0].step;
    std::vector<Loop> pieces;
    for (int64_t rest = 0; rest < step; ++rest) {
      Loop piece = loop;
      const Expr* place = pool_.add(pool_.mul(pool_.integer(step), axis.var), pool_.integer(rest));
      const symbolic::Replacements moved = {{axis.var, place}};
      for (const Parity& parity : parities) {
        const bool is_same = symbolic::substitute(pool_, parity.residue, moved) == parity.wanted;
        const NodeId truth =
            kernel_.values.constant(is_same == parity.holds_there ? 1.0 : 0.0, Type::Mask);
        replace_value(kernel_, piece.steps, parity.comparison, truth);
      }
      auto map = [&](const Expr* e) { return symbolic::substitute(pool_, e, moved); };
      rewrite_indices(kernel_, piece.steps, map);
      piece.axes[at].extent =
          pool_.ceil_div(pool_.subtract(axis.extent, pool_.integer(rest)), pool_.integer(step));
      if (!piece.axes[at].extent->is_constant(0)) pieces.push_back(std::move(piece));
    }
    return pieces;
  }

  bool reads_under_masks(const std::vector<NodeId>& values) const {
    return std::any_of(values.begin(), values.end(), [&](NodeId id) {
      const Node& node = kernel_.values.node(id);
      return node.op == Op::Load && node.args[0] >= 0;
    });
  }

  const Expr* index_of(NodeId id) const {
    const Node& node = kernel_.values.node(id);
    if (node.type != Type::I64) return nullptr;
    if (node.op == Op::Index) return node.at;
    if (node.op != Op::Constant) return nullptr;
    return pool_.integer(static_cast<int64_t>(node.bits[0]));
  }

  std::vector<Turn> find_turns(const std::vector<NodeId>& values, const Expr* var) const {
    std::vector<Turn> turns;
    for (NodeId id : values) {
      const Node& node = kernel_.values.node(id);
      const bool is_below = node.op == Op::Lt || node.op == Op::Le;
      if (!is_below && node.op != Op::Gt && node.op != Op::Ge) continue;
      const Expr *a = index_of(node.args[0]), *b = index_of(node.args[1]);
      if (!a || !b) continue;
      // a > b is b < a, and a <= b is a < b + 1.
      const bool is_strict = node.op == Op::Lt || node.op == Op::Gt;
      const Expr* rest = is_below ? pool_.subtract(b, a) : pool_.subtract(a, b);
      if (!is_strict) rest = pool_.add(rest, pool_.integer(1));
      // It holds where rest >= 1.
      const Expr* stride = stride_of(pool_, rest, var);
      if (!stride || !(stride->is_constant(1) || stride->is_constant(-1))) continue;
      const Expr* first = symbolic::substitute(pool_, rest, {{var, pool_.integer(0)}});
      if (!is_of_params(kernel_, first)) continue;
      if (stride->is_constant(1))
        turns.push_back({id, pool_.subtract(pool_.integer(1), first), true});
      else
        turns.push_back({id, first, false});
    }
    return turns;
  }

  // Whether a <= b for all sizes.
  bool is_known_order(const Expr* a, const Expr* b) const {
    const Expr* more = pool_.subtract(b, a);
    return more->is_constant() ? more->value.integer >= 0 : more->range.lo >= 0;
  }

  // Where the turns are, from the first to the last; nothing where that depends on sizes.
  std::optional<std::vector<const Expr*>> sorted_bounds(const std::vector<Turn>& turns,
                                                        const Expr* extent) const {
    std::vector<const Expr*> sorted;
    for (const Turn& turn : turns) {
      if (is_outside(turn.at, extent)) continue;
      auto place = sorted.begin();
      while (place != sorted.end() && *place != turn.at && !is_known_order(turn.at, *place)) {
        if (!is_known_order(*place, turn.at)) return std::nullopt;
        ++place;
      }
      if (place == sorted.end() || *place != turn.at) sorted.insert(place, turn.at);
    }
    return sorted;
  }
  bool is_outside(const Expr* at, const Expr* extent) const {
    return is_known_order(at, pool_.integer(0)) || is_known_order(extent, at);
  }

  std::vector<Loop> pieces_of(const Loop& loop, size_t at, const std::vector<Turn>& turns,
                              const std::vector<const Expr*>& bounds) {
    const Axis axis = loop.axes[at];
    std::vector<const Expr*> ends;  // of the pieces
    for (const Expr* bound : bounds) {
      if (!is_known_order(pool_.integer(0), bound))
        bound = pool_.make(symbolic::ExprOp::Max, bound, pool_.integer(0));
      if (!is_known_order(bound, axis.extent))
        bound = pool_.make(symbolic::ExprOp::Min, bound, axis.extent);
      ends.push_back(bound);
    }
    ends.push_back(axis.extent);
    std::vector<Loop> pieces;
    const Expr* start = pool_.integer(0);
    for (size_t i = 0; i < ends.size(); ++i) {
      Loop piece = loop;
      for (const Turn& turn : turns) {
        const auto place = std::find(bounds.begin(), bounds.end(), turn.at);
        const bool is_past = place == bounds.end()
                                 ? is_known_order(turn.at, pool_.integer(0))
                                 : static_cast<size_t>(place - bounds.begin()) < i;
        const NodeId truth =
            kernel_.values.constant(is_past == turn.holds_from ? 1.0 : 0.0, Type::Mask);
        replace_value(kernel_, piece.steps, turn.comparison, truth);
      }
      const symbolic::Replacements moved = {{axis.var, pool_.add(axis.var, start)}};
      auto map = [&](const Expr* e) { return symbolic::substitute(pool_, e, moved); };
      rewrite_indices(kernel_, piece.steps, map);
      for (size_t k = at + 1; k < piece.axes.size(); ++k)
        piece.axes[k].extent = map(piece.axes[k].extent);
      piece.axes[at].extent = pool_.subtract(ends[i], start);
      if (!piece.axes[at].extent->is_constant(0)) pieces.push_back(std::move(piece));
      start = ends[i];
    }
    return pieces;
  }

  Kernel& kernel_;
  ExprPool& pool_;
};

}  // namespace

void cut_at_masks(Kernel& kernel) { LoopCutter(kernel).run(); }

}  // namespace taeda::kernel
