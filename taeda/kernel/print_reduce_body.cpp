// A body as a struct: its states, identity, lift, combine, and a function per result.
#include "taeda/kernel/print_reduce_body.h"

#include <algorithm>

#include "taeda/base/str.h"

namespace taeda::kernel {

namespace {

std::string body_function(const ReduceBody& body, Lanes lanes, const std::string& head,
                          const std::vector<NodeId>& roots,
                          FunctionRef<std::string(const Node&)> leaf) {
  const NamedNodes nodes(body.graph, roots);
  std::string text = str("  TD_MEMBER_FN static S ", head, " {\n",
                         print_definitions(nodes, lanes, leaf, "    "), "    return {");
  for (size_t i = 0; i < roots.size(); ++i) text += (i ? ", " : "") + nodes[roots[i]];
  return text + "};\n  }\n";
}
std::string result_function(const ReduceBody& body, Lanes lanes, size_t i,
                            FunctionRef<std::string(const Node&)> leaf) {
  const NamedNodes nodes(body.graph, {body.finish[i]});
  return str("  TD_MEMBER_FN static ", value_type(body.result_types[i], lanes), " finish", i,
             "(S a) {\n", print_definitions(nodes, lanes, leaf, "    "), "    return ",
             nodes[body.finish[i]], ";\n  }\n");
}
// Elements, their places in a chunk, and whether one takes the place of another.
std::string place_function(const ReduceBody& body, Lanes lanes,
                           FunctionRef<std::string(const Node&)> leaf) {
  if (is_two(body.state_types[0], lanes)) return "";
  const NamedNodes nodes(body.graph, {body.takes_place});
  const std::string mask = value_type(Type::Mask, lanes);
  return str("  typedef ", value_type(body.state_types[0], lanes), " V;\n  typedef ",
             lanes == Lanes::One ? "int" : mask, " P;\n  TD_MEMBER_FN static ", mask,
             " takes_place(V first, V x) {\n    const S a{first, {}}, b{x, {}};\n",
             print_definitions(nodes, lanes, leaf, "    "), "    return ", nodes[body.takes_place],
             ";\n  }\n");
}

}  // namespace

Lanes body_lanes(const ReduceBody& body) {
  std::vector<NodeId> roots = body.combine;
  roots.insert(roots.end(), body.lift.begin(), body.lift.end());
  roots.insert(roots.end(), body.finish.begin(), body.finish.end());
  return widest_lanes(body.graph, roots);
}

bool has_lanes_in_memory(const ReduceBody& body) {
  return std::find(body.state_types.begin(), body.state_types.end(), Type::Mask) ==
         body.state_types.end();
}

bool is_truth_body(const ReduceBody& body) {
  if (body.state_types != std::vector<Type>{Type::Mask}) return false;
  const Node& combine = body.graph.node(body.combine[0]);
  const auto is_state = [&](NodeId id) { return body.graph.node(id).op == Op::Input; };
  return (combine.op == Op::And || combine.op == Op::Or) && is_state(combine.args[0]) &&
         is_state(combine.args[1]);
}

std::string ReduceBodyPrinter::lanewise(const ReduceBody& body, Lanes lanes) {
  const std::string inner = name(body, lanes);
  if (lanes == Lanes::One) return inner;
  const std::string type = inner + "_each";
  if (printed_.insert(type).second)
    text_ += str("struct ", type, " : ", inner, " {\n  static constexpr int kWidth = 1;\n};\n");
  return type;
}

std::string ReduceBodyPrinter::name(const ReduceBody& body, Lanes lanes) {
  constexpr const char* kSuffixes[] = {"one", "wide32", "wide64", "mixed"};
  const std::string type = str(prefix_, "_", body.name, "_", type_name(body.type), "_",
                               kSuffixes[static_cast<int>(lanes)]);
  if (!printed_.insert(type).second) return type;
  const size_t n = body.state_types.size();
  std::string text = str("struct ", type, " {\n  struct S {\n");
  for (size_t i = 0; i < n; ++i)
    text += str("    ", value_type(body.state_types[i], lanes), " p", i, ";\n");
  text += str("  };\n  static constexpr int kLanes = ", body.lanes(),
              ", kWidth = ", lanes == Lanes::One ? "1" : lane_count(lanes), ";\n");
  auto from_states = [](size_t n) {
    return [n](const Node& node) {
      const size_t i = node.index;
      return str(i < n ? "a" : "b", ".p", i % n);
    };
  };
  text += body_function(body, lanes, "identity()", body.identity, from_states(n));
  std::string values;
  for (size_t i = 0; i < body.value_types.size(); ++i)
    values += str(i ? ", " : "", value_type(body.value_types[i], lanes), " x", i);
  text += body_function(body, lanes, str("lift(", values, ")"), body.lift,
                        [](const Node& node) { return str("x", node.index); });
  text += body_function(body, lanes, "combine(S a, S b)", body.combine, from_states(n));
  if (body.takes_place >= 0) text += place_function(body, lanes, from_states(n));
  for (size_t i = 0; i < body.finish.size(); ++i)
    text += result_function(body, lanes, i, from_states(n));
  if (lanes != Lanes::One) text += lane_function(body);
  text_ += text + "};\n";
  return type;
}

std::string ReduceBodyPrinter::lane_function(const ReduceBody& body) {
  const std::string one = name(body, Lanes::One);
  std::string text =
      str("  TD_MEMBER_FN static ", one, "::S lane(const S& s, int i) {\n    return {");
  for (size_t i = 0; i < body.state_types.size(); ++i)
    text += str(i ? ", " : "", "s.p", i, "[i]", body.state_types[i] == Type::Mask ? " != 0" : "");
  text += "};\n  }\n";
  if (!has_lanes_in_memory(body)) return text;
  text += str("  TD_MEMBER_FN static void set_lane(S& s, int i, const ", one, "::S& x) {\n");
  for (size_t i = 0; i < body.state_types.size(); ++i)
    text += str("    __builtin_memcpy((char*)&s.p", i, " + i * sizeof(x.p", i, "), &x.p", i,
                ", sizeof(x.p", i, "));\n");
  return text + "  }\n";
}

}  // namespace taeda::kernel
