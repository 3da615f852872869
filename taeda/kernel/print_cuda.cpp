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

class KernelPrinter {
 public:
  KernelPrinter(const LoopKernel& kernel, const ExprGraph& graph) : kernel_(kernel), graph_(graph) {
    std::vector<NodeId> roots = stored_roots();
    for (const Reduction& reduction : kernel.reductions) roots.push_back(reduction.value);
    uniforms_ = uniforms_of(graph, roots);
  }

  std::string print() const {
    std::string text;
    for (size_t i = 0; i < kernel_.reductions.size(); ++i) text += source_struct(i);
    text += str("extern \"C\" __global__ void ", kernel_.name, "(", declarations(", "), ") {\n");
    bool reduces = !kernel_.reductions.empty();
    text += "  td_long total = 1;\n";
    for (int a = 0; a < kernel_.num_kept(); ++a) {
      text += str("  total *= ", print_dim(kernel_.axes[a].extent), ";\n");
    }
    text += reduces ? "  for (td_long item = blockIdx.x; item < total; item += gridDim.x) {\n"
                    : "  for (td_long item = (td_long)blockIdx.x * blockDim.x + threadIdx.x; "
                      "item < total;\n       item += (td_long)gridDim.x * blockDim.x) {\n";
    text += split_index("item", 0, kernel_.num_kept(), "    ");
    for (size_t i = 0; i < kernel_.reductions.size(); ++i) text += reduce_call(i);
    NamedNodes nodes(graph_, stored_roots());
    text += definitions(nodes, "    ");
    for (const Store& store : kernel_.stores) {
      text += str("    ", reduces ? "if (threadIdx.x == 0) " : "",
                  place(store.access.buffer, print_index(kernel_, store.access)), " = ",
                  nodes[store.root], ";\n");
    }
    return text + "  }\n}\n";
  }

 private:
  std::vector<NodeId> stored_roots() const {
    std::vector<NodeId> roots;
    for (const Store& store : kernel_.stores) roots.push_back(store.root);
    return roots;
  }

  // Buffers, parameters and uniforms, as arguments of the kernel or members of a source.
  std::string declarations(const char* separator) const {
    std::string text;
    auto add = [&](const std::string& one) { text += (text.empty() ? "" : separator) + one; };
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      add(str(element_type(kernel_.buffers[i].type), "* b", i));
    }
    for (int i = 0; i < kernel_.num_params; ++i) add(str("td_long p", i));
    for (auto [index, type] : uniforms_) add(str(element_type(type), " u", index));
    return text;
  }

  std::string names() const {
    std::string text;
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) text += str("b", i, ", ");
    for (int i = 0; i < kernel_.num_params; ++i) text += str("p", i, ", ");
    for (auto [index, type] : uniforms_) text += str("u", index, ", ");
    return text;
  }

  // Axis variables begin .. end from their row-major index.
  std::string split_index(const std::string& index, int begin, int end,
                          const std::string& indent) const {
    std::string text = str(indent, "td_long rest = ", index, ";\n");
    for (int a = end - 1; a >= begin; --a) {
      std::string extent = print_dim(kernel_.axes[a].extent), name = kernel_.axes[a].name;
      if (a == begin) {
        text += str(indent, "const td_long ", name, " = rest;\n", indent, "(void)", name, ";\n");
      } else {
        text += str(indent, "const td_long ", name, " = rest % ", extent, ";\n", indent,
                    "rest /= ", extent, ";\n");
      }
    }
    return text;
  }

  std::string definitions(const NamedNodes& nodes, const std::string& indent) const {
    auto leaf = [&](const Node& node) {
      if (node.op == Op::Uniform) return str("u", node.index);
      const Load* load = find_load(kernel_, node.index);
      if (!load) return str("r", node.index);
      return load_text(node.type, load->access.buffer, print_index(kernel_, load->access));
    };
    return print_definitions(nodes, Lanes::One, leaf, indent);
  }

  std::string source_name(size_t i) const { return str(kernel_.name, "_source", i); }

  std::string source_struct(size_t i) const {
    const Reduction& reduction = kernel_.reductions[i];
    std::string text = str("struct ", source_name(i), " {\n  ", declarations(";\n  "), ";\n");
    for (int a = 0; a < kernel_.num_kept(); ++a) {
      text += str("  td_long ", kernel_.axes[a].name, ";\n");
    }
    text += str("  __device__ __forceinline__ ",
                value_type(graph_.node(reduction.value).type, Lanes::One),
                " scalar(td_long at) const {\n");
    text += split_index("at", kernel_.num_kept(), static_cast<int>(kernel_.axes.size()), "    ");
    NamedNodes nodes(graph_, {reduction.value});
    text += definitions(nodes, "    ");
    return text + str("    return ", nodes[reduction.value], ";\n  }\n};\n");
  }

  std::string reduce_call(size_t i) const {
    const Reduction& reduction = kernel_.reductions[i];
    std::string scalar = value_type(graph_.node(reduction.value).type, Lanes::One);
    std::string length = "(td_long)1", kept;
    for (int a = kernel_.num_kept(); a < static_cast<int>(kernel_.axes.size()); ++a) {
      length += " * " + print_dim(kernel_.axes[a].extent);
    }
    for (int a = 0; a < kernel_.num_kept(); ++a) {
      kept += (a ? ", " : "") + kernel_.axes[a].name;
    }
    return str("    const ", scalar, " r", reduction.input, " = td_reduce_block<",
               combine_name(reduction.op), ", ", scalar, ">(\n        ", source_name(i), "{",
               names(), kept, "}, ", length, ", ", print_init(reduction, graph_), ");\n");
  }

  const LoopKernel& kernel_;
  const ExprGraph& graph_;
  std::map<int, Type> uniforms_;
};

}  // namespace

std::string print_cuda_tile(const ExprGraph& graph, const TracedBody& body,
                            const std::string& name) {
  Type result = graph.node(body.root).type;
  std::string text = str("extern \"C\" __global__ void ", name, "(", element_type(result), "* b0");
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

std::string print_cuda_kernel(const LoopKernel& kernel, const ExprGraph& graph) {
  verify(kernel, graph);
  return KernelPrinter(kernel, graph).print();
}

}  // namespace taeda::kernel
