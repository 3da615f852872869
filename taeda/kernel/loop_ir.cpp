// Verifier and text form of the loop IR.
#include "taeda/kernel/loop_ir.h"

#include <limits>
#include <set>

#include "taeda/base/error.h"
#include "taeda/base/str.h"

namespace taeda::kernel {

namespace {

std::string dim_text(const Dim& dim) {
  return dim.param >= 0 ? str("p", dim.param) : str(dim.value);
}

std::string access_text(const LoopKernel& kernel, const Access& access) {
  std::string text = kernel.buffers[access.buffer].name + "[";
  bool empty = true;
  auto term = [&](const std::string& part) {
    if (!empty) text += " + ";
    text += part;
    empty = false;
  };
  if (!access.offset.is(0)) term(dim_text(access.offset));
  for (size_t i = 0; i < access.strides.size(); ++i) {
    const Dim& stride = access.strides[i];
    if (stride.is(0)) continue;
    term(stride.is(1) ? kernel.axes[i].name : kernel.axes[i].name + " * " + dim_text(stride));
  }
  if (empty) text += "0";
  return text + "]";
}

void verify_dim(const LoopKernel& kernel, const Dim& dim, const char* what) {
  TAEDA_CHECK_VALUE(dim.param < kernel.num_params, "[kernel] ", what, " of ", kernel.name,
                    " uses parameter ", dim.param, ", but there are ", kernel.num_params);
}

void verify_access(const LoopKernel& kernel, const Access& access) {
  TAEDA_CHECK_VALUE(access.buffer >= 0 && access.buffer < static_cast<int>(kernel.buffers.size()),
                    "[kernel] ", kernel.name, " accesses buffer ", access.buffer, " of ",
                    kernel.buffers.size());
  TAEDA_CHECK_VALUE(access.strides.size() == kernel.axes.size(), "[kernel] an access of ",
                    kernel.name, " has ", access.strides.size(), " strides for ",
                    kernel.axes.size(), " axes");
  for (const Dim& stride : access.strides) verify_dim(kernel, stride, "a stride");
  verify_dim(kernel, access.offset, "an offset");
}

}  // namespace

const char* reduce_name(ReduceOp op) {
  constexpr const char* kNames[] = {"sum", "prod", "max", "min"};
  return kNames[static_cast<int>(op)];
}

NodeId reduce_identity(ExprGraph& graph, ReduceOp op, Type type) {
  using Limits = std::numeric_limits<int64_t>;
  const double inf = std::numeric_limits<double>::infinity();
  switch (op) {
    case ReduceOp::Sum: return graph.constant(0.0, type);
    case ReduceOp::Prod: return graph.constant(1.0, type);
    case ReduceOp::Max:
      if (type == Type::I64) return graph.constant_int(Limits::min(), type);
      return type == Type::U64 ? graph.constant_int(0, type) : graph.constant(-inf, type);
    default:
      if (type == Type::I64) return graph.constant_int(Limits::max(), type);
      return type == Type::U64 ? graph.constant_int(-1, type) : graph.constant(inf, type);
  }
}

void verify(const LoopKernel& kernel, const ExprGraph& graph) {
  TAEDA_CHECK_VALUE(!kernel.axes.empty() && kernel.num_kept() >= 1, "[kernel] ", kernel.name,
                    " needs at least one kept axis");
  TAEDA_CHECK_VALUE(kernel.reductions.empty() == (kernel.num_reduced == 0), "[kernel] ",
                    kernel.name, " has ", kernel.reductions.size(), " reductions over ",
                    kernel.num_reduced, " reduced axes");
  TAEDA_CHECK_VALUE(!kernel.stores.empty(), "[kernel] ", kernel.name, " stores nothing");
  for (const Axis& axis : kernel.axes) verify_dim(kernel, axis.extent, "an extent");
  std::vector<NodeId> element_roots, stored_roots;
  std::set<int> loaded, reduced;
  for (const Load& load : kernel.loads) {
    verify_access(kernel, load.access);
    TAEDA_CHECK_VALUE(loaded.insert(load.input).second, "[kernel] input ", load.input,
                      " is loaded twice");
  }
  for (const Reduction& reduction : kernel.reductions) {
    element_roots.push_back(reduction.value);
    TAEDA_CHECK_VALUE(!loaded.count(reduction.input) && reduced.insert(reduction.input).second,
                      "[kernel] input ", reduction.input, " has two sources");
    Type type = graph.node(reduction.value).type;
    TAEDA_CHECK_TYPE(!is_complex(type) && type != Type::Mask, "[kernel] cannot reduce ",
                     type_name(type));
    if (reduction.init >= 0) {
      TAEDA_CHECK_TYPE(
          graph.node(reduction.init).op == Op::Constant && graph.node(reduction.init).type == type,
          "[kernel] a reduction starts at a constant of its own type");
    }
  }
  for (const Store& store : kernel.stores) {
    stored_roots.push_back(store.root);
    verify_access(kernel, store.access);
    for (int i = kernel.num_kept(); i < static_cast<int>(kernel.axes.size()); ++i) {
      TAEDA_CHECK_VALUE(store.access.strides[i].is(0), "[kernel] ", kernel.name,
                        " stores along the reduced axis ", kernel.axes[i].name);
    }
    Type stored = graph.node(store.root).type, held = kernel.buffers[store.access.buffer].type;
    TAEDA_CHECK_TYPE(stored == held, "[kernel] ", kernel.name, " stores ", type_name(stored),
                     " into a buffer of ", type_name(held));
  }
  auto check_inputs = [&](const std::vector<NodeId>& roots, bool after_reduction) {
    for (NodeId id : graph.reachable(roots)) {
      const Node& node = graph.node(id);
      if (node.op != Op::Input) continue;
      bool known = loaded.count(node.index) || (after_reduction && reduced.count(node.index));
      TAEDA_CHECK_VALUE(known, "[kernel] ", kernel.name, " reads input ", node.index,
                        ", which nothing fills");
      for (const Load& load : kernel.loads) {
        if (load.input != node.index) continue;
        Type held = kernel.buffers[load.access.buffer].type;
        TAEDA_CHECK_TYPE(held == node.type, "[kernel] input ", node.index, " is ",
                         type_name(node.type), ", its buffer ", type_name(held));
        if (!after_reduction) continue;
        for (int i = kernel.num_kept(); i < static_cast<int>(kernel.axes.size()); ++i) {
          TAEDA_CHECK_VALUE(load.access.strides[i].is(0), "[kernel] a stored root of ", kernel.name,
                            " reads input ", node.index, " along the reduced axis ",
                            kernel.axes[i].name);
        }
      }
    }
  };
  check_inputs(element_roots, false);
  check_inputs(stored_roots, true);
}

std::string dump(const LoopKernel& kernel, const ExprGraph& graph) {
  std::vector<NodeId> roots;
  for (const Reduction& reduction : kernel.reductions) roots.push_back(reduction.value);
  for (const Store& store : kernel.stores) roots.push_back(store.root);
  std::vector<NodeId> order = graph.reachable(roots);
  auto number = [&](NodeId id) {
    int line = 0;
    while (order[line] != id) ++line;
    return str("%", line);
  };
  std::string text = str("kernel ", kernel.name, "(params ", kernel.num_params, ")\n");
  for (size_t i = 0; i < kernel.axes.size(); ++i) {
    bool reduced = static_cast<int>(i) >= kernel.num_kept();
    text += str("axis ", kernel.axes[i].name, " : ", dim_text(kernel.axes[i].extent),
                reduced ? " reduce" : "", "\n");
  }
  for (const Load& load : kernel.loads) {
    text += str("load input ", load.input, " = ", access_text(kernel, load.access), " : ",
                type_name(kernel.buffers[load.access.buffer].type), "\n");
  }
  for (const Reduction& reduction : kernel.reductions) {
    text += str("reduce input ", reduction.input, " = ", reduce_name(reduction.op), " ",
                number(reduction.value), "\n");
  }
  for (const Store& store : kernel.stores) {
    text += str("store ", access_text(kernel, store.access), " = ", number(store.root), " : ",
                type_name(kernel.buffers[store.access.buffer].type), "\n");
  }
  return text + graph.dump(roots);
}

}  // namespace taeda::kernel
