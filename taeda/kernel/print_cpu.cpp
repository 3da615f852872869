// The CPU dialect: C++ on GCC vector types.
#include "taeda/base/error.h"
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

// Elements in one step of the given lanes.
const char* step_text(Lanes lanes) {
  if (lanes == Lanes::One) return "1";
  return lanes == Lanes::Wide32 ? "(TAEDA_VEC_BYTES / 4)" : "(TAEDA_VEC_BYTES / 8)";
}

class TilePrinter {
 public:
  TilePrinter(const ExprGraph& graph, const TracedBody& body) : graph_(graph), body_(body) {}

  std::string print(const std::string& name) const {
    Lanes lanes = widest_lanes(graph_, {body_.root});
    std::string text =
        str("extern \"C\" void ", name, "(char* const* ptrs, td_long n, const void* scalars) {\n",
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
        str("  for (; i + ", step_text(lanes), " <= n; i += ", step_text(lanes), ") {\n");
    NamedNodes nodes(graph_, {body_.root});
    text += print_definitions(nodes, lanes, leaf, "    ");
    text += "    " + store_text(graph_.node(body_.root).type, lanes, 0, "i", nodes[body_.root]);
    return text + "  }\n";
  }

  const ExprGraph& graph_;
  const TracedBody& body_;
};

class KernelPrinter {
 public:
  KernelPrinter(const LoopKernel& kernel, const ExprGraph& graph)
      : kernel_(kernel), graph_(graph) {}

  std::string print() const {
    std::string text;
    for (size_t i = 0; i < kernel_.reductions.size(); ++i) text += source_struct(i);
    text += str("extern \"C\" void ", kernel_.name,
                "(char* const* ptrs, const td_long* params, const void* scalars, td_long begin, "
                "td_long end) {\n  (void)params;\n  (void)scalars;\n");
    for (int i = 0; i < kernel_.num_params; ++i) {
      text += str("  const td_long p", i, " = params[", i, "];\n  (void)p", i, ";\n");
    }
    int last = kernel_.num_kept() - 1;
    std::string indent = "  ";
    for (int i = 0; i < last; ++i, indent += "  ") {
      text += str(indent, "for (td_long ", axis(i), " = ", first(i), "; ", axis(i), " < ", limit(i),
                  "; ++", axis(i), ") {\n");
    }
    text += str(indent, "td_long ", axis(last), " = ", first(last), ";\n");
    if (Lanes lanes = inner_lanes(); lanes != Lanes::One) text += inner_loop(lanes, indent);
    text += inner_loop(Lanes::One, indent);
    for (int i = last - 1; i >= 0; --i) {
      indent.resize(indent.size() - 2);
      text += indent + "}\n";
    }
    return text + "}\n";
  }

 private:
  const std::string& axis(int i) const { return kernel_.axes[i].name; }
  std::string first(int i) const { return i == 0 ? "begin" : "0"; }
  std::string limit(int i) const { return i == 0 ? "end" : print_dim(kernel_.axes[i].extent); }

  std::vector<NodeId> stored_roots() const {
    std::vector<NodeId> roots;
    for (const Store& store : kernel_.stores) roots.push_back(store.root);
    return roots;
  }

  // Vectors along an axis need every access to be contiguous along it or not to move at all.
  bool is_contiguous(const std::vector<NodeId>& roots, int along) const {
    for (NodeId id : graph_.reachable(roots)) {
      const Node& node = graph_.node(id);
      if (node.op != Op::Input) continue;
      const Load* load = find_load(kernel_, node.index);
      if (!load) return false;
      const Dim& stride = load->access.strides[along];
      if (!stride.is(1) && !stride.is(0)) return false;
    }
    return true;
  }

  Lanes inner_lanes() const {
    int last = kernel_.num_kept() - 1;
    if (!kernel_.reductions.empty() || !is_contiguous(stored_roots(), last)) return Lanes::One;
    for (const Store& store : kernel_.stores) {
      if (!store.access.strides[last].is(1)) return Lanes::One;
    }
    return widest_lanes(graph_, stored_roots());
  }

  std::string uniform_text(const Node& node, Lanes lanes) const {
    std::string scalar = str("*(const ", element_type(node.type), "*)((const char*)scalars + ",
                             16 * node.index, ")");
    return broadcast(scalar, node.type, lanes);
  }

  std::string input_text(const Node& node, Lanes lanes, int along) const {
    const Load* load = find_load(kernel_, node.index);
    if (!load) return str("r", node.index);
    std::string index = print_index(kernel_, load->access);
    if (lanes != Lanes::One && load->access.strides[along].is(0)) {
      return broadcast(load_text(node.type, Lanes::One, load->access.buffer, index), node.type,
                       lanes);
    }
    return load_text(node.type, lanes, load->access.buffer, index);
  }

  std::string inner_loop(Lanes lanes, const std::string& indent) const {
    int last = kernel_.num_kept() - 1;
    const std::string inner = indent + "  ";
    std::string text =
        str(indent, "for (; ", axis(last), " + ", step_text(lanes), " <= ", limit(last), "; ",
            axis(last), " += ", step_text(lanes), ") {\n");
    for (size_t i = 0; i < kernel_.reductions.size(); ++i) text += reduce_call(i, inner);
    auto leaf = [&](const Node& node) {
      return node.op == Op::Input ? input_text(node, lanes, last) : uniform_text(node, lanes);
    };
    NamedNodes nodes(graph_, stored_roots());
    text += print_definitions(nodes, lanes, leaf, inner);
    for (const Store& store : kernel_.stores) {
      text += inner + store_text(graph_.node(store.root).type, lanes, store.access.buffer,
                                 print_index(kernel_, store.access), nodes[store.root]);
    }
    return text + indent + "}\n";
  }

  Lanes reduce_lanes(const Reduction& reduction) const {
    int last = static_cast<int>(kernel_.axes.size()) - 1;
    bool fits = kernel_.num_reduced == 1 && is_contiguous({reduction.value}, last);
    return fits ? widest_lanes(graph_, {reduction.value}) : Lanes::One;
  }

  std::string source_name(size_t i) const { return str(kernel_.name, "_source", i); }

  // The elements of a reduction as a Source of td_reduce_run.
  std::string source_struct(size_t i) const {
    const Reduction& reduction = kernel_.reductions[i];
    std::string text =
        str("struct ", source_name(i), " {\n  char* const* ptrs;\n  const td_long* params;\n",
            "  const void* scalars;\n");
    for (int a = 0; a < kernel_.num_kept(); ++a) text += str("  td_long ", axis(a), ";\n");
    text += element_function("scalar", reduction, Lanes::One);
    Lanes lanes = reduce_lanes(reduction);
    if (lanes != Lanes::One) text += element_function("vector", reduction, lanes);
    return text + "};\n";
  }

  std::string element_function(const char* function, const Reduction& reduction,
                               Lanes lanes) const {
    int last = static_cast<int>(kernel_.axes.size()) - 1;
    std::string text = str("  TD_FN ", value_type(graph_.node(reduction.value).type, lanes), " ",
                           function, "(td_long at) const {\n");
    for (int i = 0; i < kernel_.num_params; ++i) {
      text += str("    const td_long p", i, " = params[", i, "];\n    (void)p", i, ";\n");
    }
    for (int a = last; a >= kernel_.num_kept(); --a) {
      bool outermost = a == kernel_.num_kept();
      std::string extent = print_dim(kernel_.axes[a].extent);
      text += str("    const td_long ", axis(a), " = ", outermost ? "at" : "at % " + extent, ";\n");
      text += outermost ? str("    (void)", axis(a), ";\n") : str("    at /= ", extent, ";\n");
    }
    auto leaf = [&](const Node& node) {
      return node.op == Op::Input ? input_text(node, lanes, last) : uniform_text(node, lanes);
    };
    NamedNodes nodes(graph_, {reduction.value});
    text += print_definitions(nodes, lanes, leaf, "    ");
    return text + str("    return ", nodes[reduction.value], ";\n  }\n");
  }

  std::string reduce_call(size_t i, const std::string& indent) const {
    const Reduction& reduction = kernel_.reductions[i];
    Type type = graph_.node(reduction.value).type;
    std::string length = "(td_long)1";
    for (int a = kernel_.num_kept(); a < static_cast<int>(kernel_.axes.size()); ++a) {
      length += " * " + print_dim(kernel_.axes[a].extent);
    }
    std::string kept;
    for (int a = 0; a < kernel_.num_kept(); ++a) kept += ", " + axis(a);
    std::string scalar = value_type(type, Lanes::One);
    return str(indent, "const ", scalar, " r", reduction.input, " = td_reduce_run<",
               combine_name(reduction.op), ", ", value_type(type, reduce_lanes(reduction)), ", ",
               scalar, ">(\n", indent, "    ", source_name(i), "{ptrs, params, scalars", kept,
               "}, ", length, ", ", print_init(reduction, graph_), ");\n");
  }

  const LoopKernel& kernel_;
  const ExprGraph& graph_;
};

}  // namespace

std::string print_cpu_tile(const ExprGraph& graph, const TracedBody& body,
                           const std::string& name) {
  return TilePrinter(graph, body).print(name);
}

std::string print_cpu_kernel(const LoopKernel& kernel, const ExprGraph& graph) {
  verify(kernel, graph);
  return KernelPrinter(kernel, graph).print();
}

}  // namespace taeda::kernel
