// Rounding, wrapping and copying of values.
#include "taeda/kernel/values.h"

#include <map>

namespace taeda::kernel {

namespace {

bool is_real(Type type) { return real_type(type) == Type::F32 || real_type(type) == Type::F64; }

}  // namespace

Sym narrowed(ExprGraph& graph, Sym value, DType dtype) {
  const Type type = graph.node(value.id).type;
  if (type == Type::F32 && compute_type(dtype) == Type::F32)
    return Sym::from_id(graph.round(value.id, dtype));
  if (type != Type::I64 || item_size(dtype) == 8) return value;
  if (dtype == DType::Bool)
    return Sym::from_id(graph.cast(graph.cast(value.id, Type::Mask), Type::I64));
  const int bits = 64 - 8 * static_cast<int>(item_size(dtype));
  if (is_unsigned(dtype)) {
    const NodeId mask = graph.constant_int((int64_t{1} << (64 - bits)) - 1, type);
    return Sym::from_id(graph.apply(Op::And, value.id, mask));
  }
  const NodeId shift = graph.constant_int(bits, type);
  return Sym::from_id(graph.apply(Op::Shr, graph.apply(Op::Shl, value.id, shift), shift));
}

Sym as_stored(ExprGraph& graph, Sym value, DType dtype) {
  NodeId cast = value.id;
  const bool is_narrow = item_size(dtype) < 4 || dtype == DType::Int32;
  if (compute_type(dtype) == Type::I64 && is_narrow && is_real(graph.node(cast).type))
    cast = graph.cast(cast, Type::I32);
  return narrowed(graph, Sym::from_id(graph.cast(cast, compute_type(dtype))), dtype);
}

NodeId inlined(ExprGraph& graph, const ExprGraph& from, NodeId root,
               FunctionRef<NodeId(const Node&)> leaf) {
  std::map<NodeId, NodeId> here;
  for (NodeId id : from.reachable({root})) {
    const Node& node = from.node(id);
    if (node.op == Op::Input || node.op == Op::Uniform) {
      here[id] = leaf(node);
      continue;
    }
    Node copy = node;
    for (NodeId& arg : copy.args)
      if (arg >= 0) arg = here.at(arg);
    here[id] = graph.copy(copy);
  }
  return here.at(root);
}

}  // namespace taeda::kernel
