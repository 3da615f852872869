// Hash-consing, typing and bit-exact simplification of expression nodes.
#include "taeda/kernel/expr.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "taeda/base/error.h"

namespace taeda::kernel {

namespace {

struct OpInfo {
  const char* name;
  int arity;
  char result;
  const char* form;
};

constexpr OpInfo kOps[] = {{"input", 0, 's', nullptr},
                           {"uniform", 0, 's', nullptr},
                           {"constant", 0, 's', nullptr},
                           {"cast", 1, 's', nullptr},
                           {"load", 0, 's', nullptr},
                           {"index", 0, 's', nullptr},
                           {"round_to", 1, 's', nullptr},
                           {"random", 2, 's', nullptr},
                           {"state", 0, 's', nullptr},
#define TAEDA_EXPR_INFO(id, name, arity, result, form) {name, arity, result, form},
                           TAEDA_EXPR_OPS(TAEDA_EXPR_INFO)
#undef TAEDA_EXPR_INFO
#define TAEDA_EXPR_INFO(id, name, arity, kinds, text) {#name, arity, 's', "td_" #name},
                               TAEDA_CALLED_FUNCTIONS(TAEDA_EXPR_INFO)
#undef TAEDA_EXPR_INFO
};

const OpInfo& info(Op op) { return kOps[static_cast<int>(op)]; }

Type complex_type(Type type) {
  if (type == Type::F32) return Type::C64;
  TAEDA_CHECK_TYPE(type == Type::F64, "[kernel] make_complex of ", type_name(type),
                   ": expected f32 or f64");
  return Type::C128;
}

}  // namespace

const char* type_name(Type type) {
  constexpr const char* kNames[] = {"f32", "f64", "i64", "u64", "c64", "c128", "mask", "i32"};
  return kNames[static_cast<int>(type)];
}

int type_size(Type type) {
  constexpr int kSizes[] = {4, 8, 8, 8, 8, 16, 1, 4};
  return kSizes[static_cast<int>(type)];
}

bool is_complex(Type type) { return type == Type::C64 || type == Type::C128; }
bool is_integer(Type type) { return type == Type::I32 || type == Type::I64 || type == Type::U64; }

Type real_type(Type type) {
  if (type == Type::C64) return Type::F32;
  return type == Type::C128 ? Type::F64 : type;
}

Type compute_type(DType dtype) {
  switch (dtype) {
    case DType::Double: return Type::F64;
    case DType::ComplexFloat: return Type::C64;
    case DType::ComplexDouble: return Type::C128;
    case DType::UInt64: return Type::U64;
    case DType::Bool: return Type::Mask;
    default: return is_floating(dtype) ? Type::F32 : Type::I64;
  }
}

bool holds(DType dtype, Type type) {
  return type == compute_type(dtype) || (dtype == DType::Int32 && type == Type::I32);
}

const char* op_name(Op op) { return info(op).name; }
const char* op_form(Op op) { return info(op).form; }
int op_arity(Op op) { return info(op).arity; }

bool Node::operator==(const Node& other) const {
  return op == other.op && type == other.type && index == other.index && at == other.at &&
         std::memcmp(args, other.args, sizeof(args)) == 0 &&
         std::memcmp(bits, other.bits, sizeof(bits)) == 0;
}

size_t ExprGraph::NodeHash::operator()(const Node& node) const {
  uint64_t hash = static_cast<uint64_t>(node.op) * 31 + static_cast<uint64_t>(node.type);
  auto mix = [&](uint64_t word) { hash = (hash ^ word) * 0x9e3779b97f4a7c15u + (hash >> 29); };
  for (NodeId arg : node.args) mix(static_cast<uint64_t>(arg));
  mix(static_cast<uint64_t>(node.index));
  for (uint64_t word : node.bits) mix(word);
  if (node.at) mix(node.at->hash);
  return hash;
}

NodeId ExprGraph::intern(const Node& node) {
  auto [place, is_new] = index_.try_emplace(node, static_cast<NodeId>(nodes_.size()));
  if (is_new) nodes_.push_back(node);
  return place->second;
}

NodeId ExprGraph::input(int index, Type type) {
  return intern({.op = Op::Input, .type = type, .index = index});
}

NodeId ExprGraph::uniform(int index, Type type) {
  return intern({.op = Op::Uniform, .type = type, .index = index});
}

NodeId ExprGraph::constant(double value, Type type) {
  Node node{.op = Op::Constant, .type = type};
  switch (real_type(type)) {
    case Type::F32: node.bits[0] = std::bit_cast<uint32_t>(static_cast<float>(value)); break;
    case Type::F64: node.bits[0] = std::bit_cast<uint64_t>(value); break;
    case Type::I32: node.bits[0] = static_cast<uint64_t>(static_cast<int32_t>(value)); break;
    case Type::I64: node.bits[0] = static_cast<uint64_t>(static_cast<int64_t>(value)); break;
    case Type::U64: node.bits[0] = static_cast<uint64_t>(value); break;
    default: node.bits[0] = value != 0; break;
  }
  return intern(node);
}

NodeId ExprGraph::constant_int(int64_t value, Type type) {
  if (!is_integer(type)) return constant(static_cast<double>(value), type);
  if (type == Type::I32) value = static_cast<int32_t>(value);
  return intern({.op = Op::Constant, .type = type, .bits = {static_cast<uint64_t>(value), 0}});
}

NodeId ExprGraph::constant_complex(double real, double imag, Type type) {
  Node node = nodes_[constant(real, type)];
  node.bits[1] = nodes_[constant(imag, type)].bits[0];
  return intern(node);
}

double ExprGraph::constant_value(NodeId id) const {
  const Node& node = nodes_[id];
  TAEDA_INTERNAL_CHECK(node.op == Op::Constant, "node is not a constant");
  switch (real_type(node.type)) {
    case Type::F32: return std::bit_cast<float>(static_cast<uint32_t>(node.bits[0]));
    case Type::F64: return std::bit_cast<double>(node.bits[0]);
    case Type::I32:
    case Type::I64: return static_cast<double>(static_cast<int64_t>(node.bits[0]));
    default: return static_cast<double>(node.bits[0]);
  }
}

NodeId ExprGraph::retype_constant(NodeId id, Type type) {
  const Node node = nodes_[id];
  if (is_integer(node.type) && is_integer(type)) {
    return constant_int(static_cast<int64_t>(node.bits[0]), type);
  }
  return constant(constant_value(id), type);
}

NodeId ExprGraph::fold_cast(NodeId a, Type type) {
  // Beyond it neighbouring integers are one double.
  constexpr double kExact = 0x1p53 - 1;
  const Type from = nodes_[a].type;
  if (is_complex(from) || is_complex(type) || from == Type::I32) return -1;
  const double value = constant_value(a);
  if (!(value >= -kExact && value <= kExact)) return -1;
  if (type == Type::Mask) return constant(value != 0 ? 1.0 : 0.0, type);
  if (!is_integer(type)) return constant(value, type);
  if (type != Type::I64) return -1;
  return constant_int(static_cast<int64_t>(value), type);
}

NodeId ExprGraph::cast(NodeId a, Type type) {
  if (nodes_[a].type == type) return a;
  if (nodes_[a].op == Op::Constant)
    if (const NodeId folded = fold_cast(a, type); folded >= 0) return folded;
  // There and back, through a type that holds all values.
  if (nodes_[a].op == Op::Cast) {
    const NodeId inner = nodes_[a].args[0];
    const Type from = nodes_[inner].type, through = nodes_[a].type;
    if (from == type && ((from == Type::F32 && through == Type::F64) ||
                         (from == Type::Mask && !is_complex(through))))
      return inner;
  }
  // A choice of a constant is made among the shorter values.
  const Node& node = nodes_[a];
  const auto is_constant = [&](int i) { return nodes_[node.args[i]].op == Op::Constant; };
  if (node.op == Op::Where && type_size(type) < type_size(node.type) && !is_complex(node.type) &&
      !is_complex(type) && type != Type::Mask && (is_constant(1) || is_constant(2))) {
    const NodeId condition = node.args[0], b = node.args[1], c = node.args[2];
    const NodeId first = cast(b, type);
    return apply(Op::Where, condition, first, cast(c, type));
  }
  return intern({.op = Op::Cast, .type = type, .args = {a, -1, -1}});
}

NodeId ExprGraph::load(int buffer, Type type, const symbolic::Expr* at, NodeId mask, NodeId other) {
  if (mask >= 0) {
    TAEDA_CHECK_TYPE(nodes_[mask].type == Type::Mask, "[kernel] a load is masked by ",
                     type_name(nodes_[mask].type), ": expected a mask");
    if (nodes_[other].op == Op::Constant) other = retype_constant(other, type);
    TAEDA_CHECK_TYPE(nodes_[other].type == type, "[kernel] a masked load of ", type_name(type),
                     " gives ", type_name(nodes_[other].type), " where it is masked");
    if (nodes_[mask].op == Op::Constant) {
      if (constant_value(mask) == 0) return other;
      mask = -1;
    }
  }
  return intern({.op = Op::Load,
                 .type = type,
                 .args = {mask, mask >= 0 ? other : -1, -1},
                 .index = buffer,
                 .at = at});
}

NodeId ExprGraph::index(const symbolic::Expr* at, Type type) {
  if (at->is_constant()) return constant_int(at->value.integer, type);
  return intern({.op = Op::Index, .type = type, .at = at});
}

NodeId ExprGraph::round(NodeId a, DType dtype) {
  const Node& from = nodes_[a];
  TAEDA_CHECK_TYPE(compute_type(dtype) == from.type, "[kernel] round_to ", dtype_name(dtype),
                   " of ", type_name(from.type));
  // What is as wide as its compute type has nothing to round.
  if (item_size(dtype) == type_size(from.type)) return a;
  if (from.op == Op::Round && from.index == static_cast<int>(dtype)) return a;
  return intern(
      {.op = Op::Round, .type = from.type, .args = {a, -1, -1}, .index = static_cast<int>(dtype)});
}

const char* draw_name(Draw draw) {
  constexpr const char* kNames[kNumDraws] = {"word",     "integer",   "uniform3",  "uniform4",
                                             "uniform8", "uniform11", "uniform24", "uniform53",
                                             "normal",   "normal64"};
  return kNames[static_cast<int>(draw)];
}

Type draw_type(Draw draw) {
  switch (draw) {
    case Draw::Word: return Type::I64;
    case Draw::Integer: return Type::U64;
    case Draw::Uniform53:
    case Draw::Normal64: return Type::F64;
    default: return Type::F32;
  }
}

int uniform_bits(Draw draw) {
  switch (draw) {
    case Draw::Uniform3: return 3;
    case Draw::Uniform4: return 4;
    case Draw::Uniform8: return 8;
    case Draw::Uniform11: return 11;
    case Draw::Uniform53: return 53;
    default: return 24;
  }
}

NodeId ExprGraph::random(Draw draw, const symbolic::Expr* element, NodeId seed, NodeId offset,
                         NodeId limit) {
  TAEDA_CHECK_TYPE((draw == Draw::Integer) == (limit >= 0),
                   "[kernel] random integers, and only they, have a limit");
  for (NodeId part : {seed, offset, limit})
    TAEDA_CHECK_TYPE(part < 0 || nodes_[part].type == Type::U64,
                     "[kernel] seed, offset and limit of random are u64: got ",
                     type_name(nodes_[part].type));
  return intern({.op = Op::Random,
                 .type = draw_type(draw),
                 .args = {seed, offset, limit},
                 .index = static_cast<int>(draw),
                 .at = element});
}

NodeId ExprGraph::state(int number, Type type) {
  return intern({.op = Op::State, .type = type, .index = number});
}

const symbolic::Expr* ExprGraph::indirect(symbolic::ExprPool& pool, const std::string& name,
                                          NodeId value, const symbolic::Expr* extent, bool wraps) {
  TAEDA_CHECK_TYPE(nodes_[value].type == Type::I64, "[kernel] an index is i64: got ",
                   type_name(nodes_[value].type), "; cast it");
  const symbolic::Expr* symbol = pool.symbol(name, SymKind::Int, {0, symbolic::IntRange::kMax}, {});
  TAEDA_CHECK_VALUE(!find_indirect(symbol), "[kernel] ", name, " stands for two values");
  indirects_.push_back({symbol, value, extent, wraps});
  return symbol;
}

const Indirect* ExprGraph::find_indirect(const symbolic::Expr* symbol) const {
  for (const Indirect& one : indirects_)
    if (one.symbol == symbol) return &one;
  return nullptr;
}

SmallVector<NodeId, 4> ExprGraph::dependencies(NodeId id) const {
  const Node& node = nodes_[id];
  SmallVector<NodeId, 4> all;
  for (NodeId arg : node.args)
    if (arg >= 0) all.push_back(arg);
  if (node.at && !indirects_.empty())
    for (const symbolic::Expr* symbol : symbolic::symbols_of(node.at))
      if (const Indirect* one = find_indirect(symbol)) all.push_back(one->value);
  return all;
}

NodeId ExprGraph::apply(Op op, NodeId a, NodeId b, NodeId c) {
  NodeId args[3] = {a, b, c};
  int first = op == Op::Where ? 1 : 0;
  int arity = info(op).arity;
  if (op == Op::Where) {
    TAEDA_CHECK_TYPE(nodes_[a].type == Type::Mask, "[kernel] where needs a mask: got ",
                     type_name(nodes_[a].type));
  }
  Type type = nodes_[args[first]].type;
  for (int i = first; i < arity; ++i) {
    if (nodes_[args[i]].op != Op::Constant) {
      type = nodes_[args[i]].type;
      break;
    }
  }
  for (int i = first; i < arity; ++i) {
    if (nodes_[args[i]].op == Op::Constant && nodes_[args[i]].type != type) {
      args[i] = retype_constant(args[i], type);
    }
    TAEDA_CHECK_TYPE(nodes_[args[i]].type == type, "[kernel] ", info(op).name,
                     " of different types: got ", type_name(type), " and ",
                     type_name(nodes_[args[i]].type), "; cast one of them");
  }
  if (NodeId simple = simplify(op, args[0], args[1], args[2]); simple >= 0) return simple;
  Node node{.op = op, .type = type, .args = {args[0], args[1], args[2]}};
  switch (info(op).result) {
    case 'm': node.type = Type::Mask; break;
    case 'r': node.type = real_type(type); break;
    case 'c': node.type = complex_type(type); break;
    default: break;
  }
  return intern(node);
}

// Only rules that keep every bit for every value: x + 0.0 is not x (for x = -0.0), x + -0.0 is.
NodeId ExprGraph::simplify(Op op, NodeId a, NodeId b, NodeId c) {
  auto is_constant = [&](NodeId id, double value) {
    if (id < 0 || nodes_[id].op != Op::Constant || is_complex(nodes_[id].type)) return false;
    double v = constant_value(id);
    return v == value && std::signbit(v) == std::signbit(value);
  };
  Type type = nodes_[a].type;
  bool integer = is_integer(type);
  switch (op) {
    case Op::Add:
      if (is_constant(b, integer ? 0.0 : -0.0)) return a;
      if (is_constant(a, integer ? 0.0 : -0.0)) return b;
      break;
    case Op::Sub:
      if (is_constant(b, 0.0)) return a;
      break;
    case Op::Mul:
      if (is_constant(b, 1.0)) return a;
      if (is_constant(a, 1.0)) return b;
      break;
    case Op::Div:
    case Op::Pow:
      if (is_constant(b, 1.0)) return a;
      break;
    case Op::Not:
      if (type == Type::Mask && (is_constant(a, 0.0) || is_constant(a, 1.0)))
        return constant(1.0 - constant_value(a), Type::Mask);
      [[fallthrough]];
    case Op::Neg:
    case Op::BitNot:
      if (nodes_[a].op == op) return nodes_[a].args[0];
      break;
    case Op::Where:
      if (b == c || is_constant(a, 1.0)) return b;
      if (is_constant(a, 0.0)) return c;
      break;
    case Op::And:
    case Op::Or:
      if (type != Type::Mask) break;
      if (is_constant(a, op == Op::And ? 1.0 : 0.0)) return b;
      if (is_constant(b, op == Op::And ? 1.0 : 0.0)) return a;
      if (is_constant(a, op == Op::And ? 0.0 : 1.0)) return a;
      if (is_constant(b, op == Op::And ? 0.0 : 1.0)) return b;
      break;
    case Op::IsNan:
    case Op::IsInf:
      if (integer) return constant(0.0, Type::Mask);
      break;
    case Op::IsFinite:
      if (integer) return constant(1.0, Type::Mask);
      break;
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Nearest:
      if (integer) return a;
      break;
    case Op::Real:
    case Op::Conj:
      if (!is_complex(type)) return a;
      break;
    case Op::Imag:
      if (!is_complex(type)) return constant(0.0, type);
      break;
    default: break;
  }
  return fold(op, a, b);
}

// Arithmetic on two constants, rounded in their own type as the kernel would.
NodeId ExprGraph::fold(Op op, NodeId a, NodeId b) {
  if (nodes_[a].op != Op::Constant || (b >= 0 && nodes_[b].op != Op::Constant)) return -1;
  Type type = nodes_[a].type;
  if (type != Type::F32 && type != Type::F64) return -1;
  double x = constant_value(a);
  double y = b >= 0 ? constant_value(b) : 0.0;
  double result;
  // A double operation on two floats rounds to float as the float operation does.
  switch (op) {
    case Op::Add: result = x + y; break;
    case Op::Sub: result = x - y; break;
    case Op::Mul: result = x * y; break;
    case Op::Div: result = x / y; break;
    case Op::Neg: result = -x; break;
    default: return -1;
  }
  return std::isnan(result) ? -1 : constant(result, type);
}

std::vector<NodeId> ExprGraph::reachable(const std::vector<NodeId>& roots) const {
  struct Visit {
    NodeId id;
    SmallVector<NodeId, 4> needs;
    size_t next = 0;
  };
  std::vector<bool> seen(nodes_.size(), false);
  std::vector<NodeId> order;
  std::vector<Visit> stack;
  auto enter = [&](NodeId id) {
    if (seen[id]) return;
    seen[id] = true;
    stack.push_back({id, dependencies(id)});
  };
  for (NodeId root : roots) {
    enter(root);
    while (!stack.empty()) {
      Visit& visit = stack.back();
      if (visit.next < visit.needs.size()) {
        enter(visit.needs[visit.next++]);
      } else {
        order.push_back(visit.id);
        stack.pop_back();
      }
    }
  }
  return order;
}

std::string ExprGraph::dump(const std::vector<NodeId>& roots) const {
  std::string text;
  std::unordered_map<NodeId, int> number;
  for (NodeId id : reachable(roots)) {
    const Node& node = nodes_[id];
    int line = static_cast<int>(number.size());
    number[id] = line;
    text += str("%", line, " = ", op_name(node.op));
    if (node.op == Op::Input || node.op == Op::Uniform) text += str(" ", node.index);
    if (node.op == Op::Constant) {
      char value[64];
      std::snprintf(value, sizeof(value), " %.17g", constant_value(id));
      text += value;
    }
    for (NodeId arg : node.args) {
      if (arg >= 0) text += str(" %", number[arg]);
    }
    text += str(" : ", type_name(node.type), "\n");
  }
  text += "return";
  for (NodeId root : roots) text += str(" %", number[root]);
  return text + "\n";
}

}  // namespace taeda::kernel
