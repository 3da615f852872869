// The CUDA dialect: one element a thread, the functions of math.h on scalars.
#include <map>

#include "taeda/base/str.h"
#include "taeda/kernel/print.h"
#include "taeda/kernel/print_expression.h"

namespace taeda::kernel {

namespace {

std::string place(int buffer, const std::string& index) {
  return str("b", buffer, "[", index, "]");
}

std::string load_text(Type type, int buffer, const std::string& index) {
  return type == Type::Mask ? place(buffer, index) + " != 0" : place(buffer, index);
}

// The uniforms under the roots, by number.
std::map<int, Type> uniforms_of(const ExprGraph& graph, const std::vector<NodeId>& roots) {
  std::map<int, Type> uniforms;
  for (NodeId id : graph.reachable(roots)) {
    const Node& node = graph.node(id);
    if (node.op == Op::Uniform) uniforms[node.index] = node.type;
  }
  return uniforms;
}

}  // namespace

std::string print_cuda_tile(const ExprGraph& graph, const TracedBody& body,
                            const std::string& name) {
  Type result = graph.node(body.root).type;
  std::string text = str(called_text(graph, {body.root}), "extern \"C\" __global__ void ", name,
                         "(", element_type(result), "* b0");
  for (size_t i = 0; i < body.input_types.size(); ++i) {
    text += str(", const ", element_type(body.input_types[i]), "* b", i + 1);
  }
  text += ", td_long n";
  for (auto [index, type] : uniforms_of(graph, {body.root})) {
    text += str(", ", element_type(type), " u", index);
  }
  text +=
      ") {\n  for (td_long i = (td_long)blockIdx.x * blockDim.x + threadIdx.x; i < n;\n"
      "       i += (td_long)gridDim.x * blockDim.x) {\n";
  auto leaf = [&](const Node& node) {
    return node.op == Op::Uniform ? str("u", node.index)
                                  : load_text(node.type, node.index + 1, "i");
  };
  NamedNodes nodes(graph, {body.root});
  text += print_definitions(nodes, Lanes::One, leaf, "    ");
  return text + str("    b0[i] = ", nodes[body.root], ";\n  }\n}\n");
}

}  // namespace taeda::kernel
