// Spelling of values and nodes, the same text for vectors, scalars and CUDA.
#include "taeda/kernel/print_expression.h"

#include <cstring>

#include "taeda/base/error.h"
#include "taeda/base/str.h"

namespace taeda::kernel {

namespace {

std::string hex(uint64_t bits) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[bits & 15]);
    bits >>= 4;
  } while (bits != 0);
  return "0x" + digits + "u";
}

std::string scalar_constant(const Node& node) {
  auto real = [&](uint64_t bits) {
    return str("td_from_bits((", real_type(node.type) == Type::F32 ? "int" : "td_long", ")",
               hex(bits), ")");
  };
  switch (node.type) {
    case Type::F32:
    case Type::F64: return real(node.bits[0]);
    case Type::I32: return "(int)" + hex(static_cast<uint32_t>(node.bits[0]));
    case Type::I64: return "(td_long)" + hex(node.bits[0]);
    case Type::U64: return "(td_ulong)" + hex(node.bits[0]);
    case Type::Mask: return node.bits[0] ? "true" : "false";
    default:
      return str(value_type(node.type, Lanes::One), "{", real(node.bits[0]), ", ",
                 real(node.bits[1]), "}");
  }
}

std::string cast_text(Type from, const Node& node, Lanes lanes, const std::string& arg) {
  std::string type = value_type(node.type, lanes);
  if (node.type == Type::Mask) {
    return is_complex(from) ? str(arg, " != ", value_type(from, lanes), "{}") : arg + " != 0";
  }
  if (from == Type::Mask) {
    std::string one =
        broadcast(str("(", element_type(real_type(node.type)), ")1"), real_type(node.type), lanes);
    std::string zero =
        broadcast(str("(", element_type(real_type(node.type)), ")0"), real_type(node.type), lanes);
    std::string real = str("(", arg, " ? ", one, " : ", zero, ")");
    return is_complex(node.type) ? str(type, "{", real, ", 0}") : real;
  }
  if (is_complex(node.type)) {
    std::string real = element_type(real_type(node.type));
    return is_complex(from) ? str(type, "{(", real, ")", arg, ".re, (", real, ")", arg, ".im}")
                            : str(type, "{(", real, ")", arg, ", 0}");
  }
  const std::string real = is_complex(from) ? arg + ".re" : arg;
  if (is_integer(node.type) && !is_integer(from)) return str("td_integer<", type, ">(", real, ")");
  if (is_complex(from)) return str("(", type, ")", real);
  if (lanes == Lanes::One) return str("(", type, ")", arg);
  return str("__builtin_convertvector(", arg, ", ", type, ")");
}

}  // namespace

Lanes widest_lanes(const ExprGraph& graph, const std::vector<NodeId>& roots) {
  bool has_narrow = false, has_wide = false;
  for (NodeId id : graph.reachable(roots)) {
    Type type = graph.node(id).type;
    if (is_complex(type)) return Lanes::One;
    has_narrow |= type == Type::F32 || type == Type::I32;
    has_wide |= type_size(type) == 8;
  }
  if (has_narrow && has_wide) return Lanes::Mixed;
  return has_wide ? Lanes::Wide64 : Lanes::Wide32;
}

Lanes common_lanes(Lanes a, Lanes b) {
  if (a == b) return a;
  return a == Lanes::One || b == Lanes::One ? Lanes::One : Lanes::Mixed;
}

bool is_two(Type type, Lanes lanes) { return lanes == Lanes::Mixed && type_size(type) == 8; }

const char* lane_count(Lanes lanes) {
  if (lanes == Lanes::One) return "1";
  return lanes == Lanes::Wide64 ? "(TAEDA_VEC_BYTES / 8)" : "(TAEDA_VEC_BYTES / 4)";
}

std::string stored_name(DType dtype) { return str("td_", dtype_name(dtype)); }

std::string value_type(Type type, Lanes lanes) {
  constexpr const char* kOne[] = {"float",  "double",  "td_long", "td_ulong",
                                  "td_c64", "td_c128", "bool",    "int"};
  constexpr const char* kWide[] = {"td_f32", "td_f64", "td_i64", "td_u64", "", "", "", "td_i32"};
  if (lanes == Lanes::One) return kOne[static_cast<int>(type)];
  if (is_two(type, lanes)) return str("td_two<", kWide[static_cast<int>(type)], ">");
  if (type == Type::Mask) return lanes == Lanes::Wide64 ? "td_b64" : "td_b32";
  return kWide[static_cast<int>(type)];
}

std::string element_type(Type type) {
  return type == Type::Mask ? "unsigned char" : value_type(type, Lanes::One);
}

std::string broadcast(const std::string& value, Type type, Lanes lanes) {
  if (lanes == Lanes::One) return value;
  std::string wide = value_type(type, lanes);
  if (is_two(type, lanes)) return str(wide, "::of(", broadcast(value, type, Lanes::Wide64), ")");
  if (type == Type::Mask) return str("(", value, " ? !", wide, "{} : ", wide, "{})");
  if (is_integer(type)) return str("(", wide, "{} + ", value, ")");
  return str("td_broadcast<", wide, ">::of(", value, ")");
}

namespace {

// 4-byte values or masks as 8-byte ones, or back.
std::string resize_text(Type from, const Node& node, const std::string& arg) {
  if (from == Type::Mask)
    return str("td_halves([](auto half) { return ", cast_text(from, node, Lanes::Wide64, "half"),
               "; }, td_widen<td_b64>(", arg, "))");
  if (node.type == Type::Mask)
    return str("td_shorten<td_b32>(td_halves([](auto half) { return half != 0; }, ", arg, "))");
  const bool is_shorter = is_two(from, Lanes::Mixed);
  // The integer of a number is that of a wider one, which it is as well.
  if (is_integer(node.type) && from == Type::F32)
    return str("td_halves([](auto half) { return ",
               cast_text(Type::F64, node, Lanes::Wide64, "half"), "; }, td_widen<td_f64>(", arg,
               "))");
  return str(is_shorter ? "td_shorten<" : "td_widen<",
             value_type(node.type, is_shorter ? Lanes::Wide32 : Lanes::Wide64), ">(", arg, ")");
}

// An operation of which an operand or the result is two registers: on each half.
std::string halves_text(const ExprGraph& graph, const Node& node, FunctionRef<std::string(int)> arg,
                        const std::string& apart) {
  std::string parameters, arguments;
  for (int i = 0; i < 3 && node.args[i] >= 0; ++i) {
    parameters += str(i ? ", " : "", "auto half", i);
    const bool is_mask = graph.node(node.args[i]).type == Type::Mask;
    arguments += is_mask ? str(", td_widen<td_b64>(", arg(i), ")") : ", " + arg(i);
  }
  const std::string text =
      str("td_halves([](", parameters, ") { return ",
          operation_text(
              graph, node, Lanes::Wide64, [](int i) { return str("half", i); }, apart),
          "; }", arguments, ")");
  return node.type == Type::Mask ? str("td_shorten<td_b32>(", text, ")") : text;
}

bool has_two(const ExprGraph& graph, const Node& node, Lanes lanes) {
  bool has = is_two(node.type, lanes);
  for (NodeId arg : node.args) has |= arg >= 0 && is_two(graph.node(arg).type, lanes);
  return has;
}

}  // namespace

bool is_long(Op op) { return (op >= Op::DivTrunc && op <= Op::Atan2) || op >= Op::Exp; }

std::string operation_text(const ExprGraph& graph, const Node& node, Lanes lanes,
                           FunctionRef<std::string(int)> arg, const std::string& apart) {
  if (node.op != Op::Constant && has_two(graph, node, lanes)) {
    const Type from = graph.node(node.args[0]).type;
    const bool is_resized = node.op == Op::Cast && is_two(from, lanes) != is_two(node.type, lanes);
    return is_resized ? resize_text(from, node, arg(0)) : halves_text(graph, node, arg, apart);
  }
  if (node.op == Op::Constant) return broadcast(scalar_constant(node), node.type, lanes);
  if (node.op == Op::Cast) return cast_text(graph.node(node.args[0]).type, node, lanes, arg(0));
  std::string form = op_form(node.op);
  // Masks in vectors are chosen by their bits: g++ 12 crashes on a choice between constant ones.
  if (node.op == Op::Where && node.type == Type::Mask && lanes != Lanes::One)
    return str("(", arg(0), " & ", arg(1), ") | (~", arg(0), " & ", arg(2), ")");
  if (node.op == Op::Where) return str(arg(0), " ? ", arg(1), " : ", arg(2));
  int arity = op_arity(node.op);
  if (form[0] != 't') {
    return arity == 1 ? form + arg(0) : str(arg(0), " ", form, " ", arg(1));
  }
  std::string text = (is_long(node.op) ? apart : "") + form + "(" + arg(0);
  for (int i = 1; i < arity; ++i) text += ", " + arg(i);
  return text + ")";
}

std::pair<std::string, std::string> draw_function(Draw draw) {
  switch (draw) {
    case Draw::Word: return {"td_draw_word", ""};
    case Draw::Integer: return {"td_draw_integer", ""};
    case Draw::Uniform53: return {"td_draw_uniform53", ""};
    case Draw::Normal: return {"td_draw_normal", "float"};
    case Draw::Normal64: return {"td_draw_normal", "double"};
    default: return {"td_draw_uniform", ""};
  }
}

std::string random_text(const Node& node, const std::string& element,
                        FunctionRef<std::string(int)> arg, const std::string& pack,
                        const std::string& apart) {
  const Draw draw = static_cast<Draw>(node.index);
  const auto [name, type] = draw_function(draw);
  std::string text = apart + name;
  // The array tells the type.
  if (pack.empty() && !type.empty()) text += str("<", type, ">");
  text += str(pack.empty() ? "(" : str("_pack(", pack, ", "), arg(0), ", ", arg(1), ", ", element);
  if (draw == Draw::Integer) text += ", " + arg(2);
  if (name == "td_draw_uniform") text += str(", ", uniform_bits(draw));
  return text + ")";
}

int elements_per_block(Draw draw) {
  const bool is_wide = draw == Draw::Integer || draw == Draw::Uniform53 || draw == Draw::Normal64;
  return is_wide ? 2 : 4;
}

NamedNodes::NamedNodes(const ExprGraph& graph, const std::vector<NodeId>& roots)
    : graph_(graph), order_(graph.reachable(roots)) {
  for (NodeId id : order_) number_.emplace(id, static_cast<int>(number_.size()));
}

std::string NamedNodes::operator[](NodeId id) const { return str("v", number_.at(id)); }

std::string print_definitions(const NamedNodes& nodes, Lanes lanes,
                              FunctionRef<std::string(const Node&)> leaf,
                              const std::string& indent) {
  std::string text;
  for (NodeId id : nodes.order()) {
    const Node& node = nodes.graph().node(id);
    bool is_leaf = node.op == Op::Input || node.op == Op::Uniform;
    auto arg = [&](int i) { return nodes[node.args[i]]; };
    text += str(indent, "const ", value_type(node.type, lanes), " ", nodes[id], " = ",
                is_leaf ? leaf(node) : operation_text(nodes.graph(), node, lanes, arg), ";\n");
  }
  return text;
}

}  // namespace taeda::kernel
