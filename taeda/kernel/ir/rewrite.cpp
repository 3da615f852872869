// Rewrites values bottom-up with a memo.
#include "taeda/kernel/ir/rewrite.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "taeda/base/error.h"
#include "taeda/base/str.h"

namespace taeda::kernel {

namespace {

class Rewriter {
 public:
  Rewriter(Kernel& kernel, IndexMap map) : kernel_(kernel), graph_(kernel.values), map_(map) {}

  void replace(NodeId from, NodeId to) { made_[from] = to; }
  void steps(std::vector<Step>& steps) {
    for (Step& step : steps) std::visit([&](auto& one) { visit(one); }, step);
  }

 private:
  void visit(Store& store) {
    store.value = value(store.value);
    if (store.mask >= 0) store.mask = value(store.mask);
    store.at = index(store.at);
  }
  void visit(Reduce& reduce) {
    for (NodeId& id : reduce.values) id = value(id);
  }
  void visit(Scan& scan) {
    for (NodeId& id : scan.values) id = value(id);
  }
  void visit(Check& check) { check.symbol = index(check.symbol); }
  void visit(Barrier&) {}
  void visit(Loop& loop) {
    for (Axis& axis : loop.axes) axis.extent = index(axis.extent);
    steps(loop.steps);
  }

  NodeId value(NodeId root) {
    for (NodeId id : graph_.reachable({root}))
      if (!made_.count(id)) made_[id] = rewritten(id);
    return made_.at(root);
  }

  NodeId rewritten(NodeId id) {
    const Node node = graph_.node(id);  // the graph grows
    auto arg = [&](int i) { return node.args[i] >= 0 ? made_.at(node.args[i]) : -1; };
    switch (node.op) {
      case Op::Input:
      case Op::Uniform:
      case Op::Constant:
      case Op::State: return id;
      case Op::Cast: return graph_.cast(arg(0), node.type);
      case Op::Round: return graph_.round(arg(0), static_cast<DType>(node.index));
      case Op::Load: return graph_.load(node.index, node.type, index(node.at), arg(0), arg(1));
      case Op::Index: return graph_.index(index(node.at), node.type);
      case Op::Random:
        return graph_.random(static_cast<Draw>(node.index), index(node.at), arg(0), arg(1),
                             node.args[2] >= 0 ? arg(2) : -1);
      default: return graph_.apply(node.op, arg(0), arg(1), arg(2));
    }
  }

  // An indirect symbol whose value or range changes becomes another symbol.
  const Expr* index(const Expr* at) {
    symbolic::Replacements renamed;
    for (const Expr* symbol : symbolic::symbols_of(at)) {
      const Indirect* found = graph_.find_indirect(symbol);
      if (!found) continue;
      const Indirect one = *found;
      const NodeId value = this->value(one.value);
      const Expr* extent = map_(one.extent);
      if (value == one.value && extent == one.extent) continue;
      auto& other = renamed_[symbol];
      if (!other)
        other = graph_.indirect(*kernel_.pool, fresh_axis(kernel_, symbol->name)->name, value,
                                extent, one.wraps);
      renamed[symbol] = other;
    }
    const Expr* result = map_(at);
    return renamed.empty() ? result : symbolic::substitute(*kernel_.pool, result, renamed);
  }

  Kernel& kernel_;
  ExprGraph& graph_;
  IndexMap map_;
  std::unordered_map<NodeId, NodeId> made_;
  std::unordered_map<const Expr*, const Expr*> renamed_;
};

void collect(const Kernel& kernel, const std::vector<Step>& steps, std::vector<const Expr*>& all) {
  std::vector<NodeId> roots;
  for (const Step& step : steps) {
    if (const auto* loop = std::get_if<Loop>(&step)) {
      for (const Axis& axis : loop->axes) all.push_back(axis.extent);
      collect(kernel, loop->steps, all);
    }
    if (const auto* store = std::get_if<Store>(&step)) all.push_back(store->at);
    for (NodeId root : roots_of(kernel, step)) roots.push_back(root);
  }
  for (NodeId id : kernel.values.reachable(roots))
    if (const Expr* at = kernel.values.node(id).at) all.push_back(at);
}

void collect_names(const std::vector<Step>& steps, std::set<std::string>& names) {
  for (const Step& step : steps) {
    const auto* loop = std::get_if<Loop>(&step);
    if (!loop) continue;
    for (const Axis& axis : loop->axes) names.insert(axis.var->name);
    collect_names(loop->steps, names);
  }
}

}  // namespace

void rewrite_indices(Kernel& kernel, std::vector<Step>& steps, IndexMap map) {
  Rewriter(kernel, map).steps(steps);
}

void replace_value(Kernel& kernel, std::vector<Step>& steps, NodeId from, NodeId to) {
  auto same = [](const Expr* at) { return at; };
  Rewriter rewriter(kernel, same);
  rewriter.replace(from, to);
  rewriter.steps(steps);
}

std::vector<const Expr*> indices_of(const Kernel& kernel, const std::vector<Step>& steps) {
  std::vector<const Expr*> all;
  collect(kernel, steps, all);
  return all;
}

std::vector<NodeId> roots_under(const Kernel& kernel, const std::vector<Step>& steps) {
  std::vector<NodeId> roots;
  for (const Step& step : steps) {
    const auto* loop = std::get_if<Loop>(&step);
    for (NodeId root : loop ? roots_under(kernel, loop->steps) : roots_of(kernel, step))
      roots.push_back(root);
  }
  return roots;
}

const Expr* fresh_axis(Kernel& kernel, const std::string& name) {
  std::set<std::string> names;
  for (const Expr* param : kernel.params) names.insert(param->name);
  for (const Indirect& one : kernel.values.indirects()) names.insert(one.symbol->name);
  collect_names(kernel.steps, names);
  std::string fresh = name;
  for (int i = 2; names.count(fresh); ++i) fresh = str(name, i);
  return kernel.axis(fresh);
}

int add_buffer(Kernel& kernel, const std::string& name, DType dtype, const Expr* numel,
               Space space) {
  std::set<std::string> names;
  for (const Buffer& buffer : kernel.buffers) names.insert(buffer.name);
  std::string fresh = name;
  for (int i = 2; names.count(fresh); ++i) fresh = str(name, i);
  return kernel.add_buffer({fresh, dtype, numel, space, 0, -1});
}

DType dtype_of(Type type) {
  switch (type) {
    case Type::F32: return DType::Float;
    case Type::F64: return DType::Double;
    case Type::I64: return DType::Int64;
    case Type::U64: return DType::UInt64;
    case Type::I32: return DType::Int32;
    case Type::C64: return DType::ComplexFloat;
    case Type::C128: return DType::ComplexDouble;
    default: return DType::Bool;
  }
}

bool is_of_params(const Kernel& kernel, const Expr* e) {
  const auto symbols = symbolic::symbols_of(e);
  return std::all_of(symbols.begin(), symbols.end(), [&](const Expr* symbol) {
    return std::count(kernel.params.begin(), kernel.params.end(), symbol) != 0;
  });
}

void check_params(const Kernel& kernel, const Expr* e) {
  for (const Expr* symbol : symbolic::symbols_of(e))
    TAEDA_CHECK_VALUE(is_of_params(kernel, symbol), "[kernel] the size ", symbolic::text_of(e),
                      " moves with ", symbol->name);
}

}  // namespace taeda::kernel
