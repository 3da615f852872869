// Looks at all accesses under an axis.
#include "taeda/kernel/interpret/line_block.h"

#include <algorithm>

namespace taeda::kernel {

bool uses_symbol(const Expr* e, const Expr* symbol) {
  const auto symbols = symbolic::symbols_of(e);
  return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
}

namespace {

class BlockFinder {
 public:
  BlockFinder(const Kernel& kernel, const Expr* line) : kernel_(kernel), line_(line) {}

  bool find(const Loop& loop, size_t line) {
    for (size_t i = line + 1; i < loop.axes.size(); ++i) {
      if (uses_symbol(loop.axes[i].extent, line_)) return false;
      inner_.push_back(loop.axes[i].var);
    }
    if (loop.axes[line].role != Role::Kept ||
        !std::all_of(loop.steps.begin(), loop.steps.end(),
                     [&](const Step& step) { return add(step); }) ||
        !add_loads())
      return false;
    // What lines write at the same place is theirs alone, and inner loops have it.
    for (int buffer : written_)
      if (shared_.count(buffer) && (moving_.count(buffer) || !is_local(buffer))) return false;
    std::erase_if(shared_, [&](int buffer) { return !written_.count(buffer); });
    return std::none_of(shared_.begin(), shared_.end(),
                        [&](int buffer) { return at_points_.count(buffer) != 0; });
  }
  std::set<int> private_locals() { return shared_; }

 private:
  bool is_local(int buffer) const { return kernel_.buffers[buffer].space == Space::Local; }

  bool add_loads() {
    for (NodeId id : kernel_.values.reachable(point_roots_))
      if (kernel_.values.node(id).op == Op::Load) at_points_.insert(kernel_.values.node(id).index);
    roots_.insert(roots_.end(), point_roots_.begin(), point_roots_.end());
    for (NodeId id : kernel_.values.reachable(roots_)) {
      const Node& node = kernel_.values.node(id);
      if (node.at && !add_access(node.op == Op::Load ? node.index : -1, node.at)) return false;
    }
    return true;
  }

  bool add(const Step& step) {
    for (NodeId root : roots_of(kernel_, step))
      (inner_.empty() ? point_roots_ : roots_).push_back(root);
    if (const auto* store = std::get_if<Store>(&step)) {
      written_.insert(store->buffer);
      if (inner_.empty()) at_points_.insert(store->buffer);
      return store->mode == StoreMode::Write && add_access(store->buffer, store->at);
    }
    if (const auto* reduce = std::get_if<Reduce>(&step)) return reduce->part != Part::Combining;
    const auto* loop = std::get_if<Loop>(&step);
    if (!loop || loop->axes.size() != 1 || loop->axes[0].role == Role::Scanned ||
        uses_symbol(loop->axes[0].extent, line_))
      return false;
    inner_.push_back(loop->axes[0].var);
    const bool is_fine = std::all_of(
        loop->steps.begin(), loop->steps.end(),
        [&](const Step& inside) { return !std::holds_alternative<Loop>(inside) && add(inside); });
    known_.push_back(inner_.back());
    inner_.pop_back();
    return is_fine;
  }

  // The index moves by the same step everywhere inside of the line.
  bool add_access(int buffer, const Expr* at) {
    for (const Expr* symbol : symbolic::symbols_of(at))
      if (kernel_.values.find_indirect(symbol)) return false;
    const Expr* stride = stride_of(*kernel_.pool, at, line_);
    if (!stride) return false;
    for (const auto* vars : {&inner_, &known_})
      for (const Expr* var : *vars)
        if (uses_symbol(stride, var)) return false;
    if (buffer >= 0) (stride->is_constant(0) ? shared_ : moving_).insert(buffer);
    return true;
  }

  const Kernel& kernel_;
  const Expr* line_;
  std::vector<const Expr*> inner_, known_;   // axes around the present step, and those seen
  std::vector<NodeId> roots_, point_roots_;  // point: outside of inner loops
  // Buffers; shared: at the same place in all lines.
  std::set<int> written_, shared_, moving_, at_points_;
};

}  // namespace

std::optional<std::set<int>> find_private_locals(const Kernel& kernel, const Loop& loop,
                                                 size_t line) {
  BlockFinder finder(kernel, loop.axes[line].var);
  if (!finder.find(loop, line)) return std::nullopt;
  return finder.private_locals();
}

}  // namespace taeda::kernel
