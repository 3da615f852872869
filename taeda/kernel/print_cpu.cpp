// Tiles in the CPU dialect: C++ on GCC vector types.
#include "taeda/base/str.h"
#include "taeda/kernel/print.h"
#include "taeda/kernel/print_expression.h"

namespace taeda::kernel {

namespace {

std::string pointer(Type type, int buffer, const std::string& index) {
  return str("((", element_type(type), "*)ptrs[", buffer, "])[", index, "]");
}

std::string load_text(Type type, Lanes lanes, int buffer, const std::string& index) {
  std::string place = pointer(type, buffer, index);
  if (lanes == Lanes::One) return type == Type::Mask ? place + " != 0" : place;
  std::string wide = value_type(type, lanes);
  return type == Type::Mask ? str("td_load_mask<", wide, ">(&", place, ")")
                            : str("td_load<", wide, ">(&", place, ")");
}

std::string store_text(Type type, Lanes lanes, int buffer, const std::string& index,
                       const std::string& value) {
  std::string place = pointer(type, buffer, index);
  if (lanes == Lanes::One) return place + " = " + value + ";\n";
  return str(type == Type::Mask ? "td_store_mask(&" : "td_store(&", place, ", ", value, ");\n");
}

class TilePrinter {
 public:
  TilePrinter(const ExprGraph& graph, const TracedBody& body) : graph_(graph), body_(body) {}

  std::string print(const std::string& name) const {
    Lanes lanes = widest_lanes(graph_, {body_.root});
    if (lanes == Lanes::Mixed) lanes = Lanes::One;  // a body has one type; its masks are bytes
    std::string text = str(called_text(graph_, {body_.root}), "extern \"C\" void ", name,
                           "(char* const* ptrs, td_long n, const void* scalars) {\n",
                           "  (void)scalars;\n  td_long i = 0;\n");
    if (lanes != Lanes::One) text += loop(lanes);
    return text + loop(Lanes::One) + "}\n";
  }

 private:
  std::string loop(Lanes lanes) const {
    auto leaf = [&](const Node& node) {
      if (node.op == Op::Input) return load_text(node.type, lanes, node.index + 1, "i");
      std::string scalar = str("((const ", element_type(node.type), "*)scalars)[", node.index, "]");
      return broadcast(scalar, node.type, lanes);
    };
    std::string text =
        str("  for (; i + ", lane_count(lanes), " <= n; i += ", lane_count(lanes), ") {\n");
    NamedNodes nodes(graph_, {body_.root});
    text += print_definitions(nodes, lanes, leaf, "    ");
    text += "    " + store_text(graph_.node(body_.root).type, lanes, 0, "i", nodes[body_.root]);
    return text + "  }\n";
  }

  const ExprGraph& graph_;
  const TracedBody& body_;
};

}  // namespace

std::string print_cpu_tile(const ExprGraph& graph, const TracedBody& body,
                           const std::string& name) {
  return TilePrinter(graph, body).print(name);
}

}  // namespace taeda::kernel
