// Kernels in the CPU dialect: one function per outermost loop.
//
// Note [Values along a vector]. Inside of an axis that is bound to a vector, a value is a vector
// where it moves with the axis and a scalar elsewhere; scalars are spread where a vector needs
// them. Loads read neighbours at once where the index moves by one, lane by lane where it moves
// otherwise. The last, incomplete vector runs through the same text with a smaller `count`.
#include <algorithm>
#include <map>
#include <set>

#include "taeda/base/error.h"
#include "taeda/base/str.h"
#include "taeda/kernel/print.h"
#include "taeda/kernel/print_expression.h"
#include "taeda/kernel/print_index.h"
#include "taeda/kernel/print_reduce_body.h"

namespace taeda::kernel {

namespace {

std::string stored_name(DType dtype) { return str("td_", dtype_name(dtype)); }

class CpuKernelPrinter {
 public:
  explicit CpuKernelPrinter(const Kernel& kernel)
      : kernel_(kernel), graph_(kernel.values), pool_(*kernel.pool), bodies_(kernel.name) {}

  std::string print() {
    std::string text;
    int number = 0;
    for (const Step& step : kernel_.steps)
      if (const auto* loop = std::get_if<Loop>(&step)) text += function(*loop, number++);
    return bodies_.text() + text;
  }

 private:
  // Where a value is computed: along which vector, if any.
  struct Place {
    const Expr* var = nullptr;
    Lanes lanes = Lanes::One;
    bool is_tail = false;  // `count` lanes exist
    std::set<int> wide_states = {};

    bool is_wide() const { return lanes != Lanes::One; }
  };

  std::string function(const Loop& loop, int number) {
    std::string text = str("extern \"C\" void ", kernel_.name, "_", number,
                           "(char* const* ptrs, const td_long* params, const void* scalars, "
                           "td_long* error, td_long begin, td_long end) {\n",
                           "  (void)ptrs, (void)params, (void)scalars, (void)error;\n");
    for (size_t i = 0; i < kernel_.params.size(); ++i)
      text += str("  const td_long ", name(kernel_.params[i]), " = params[", i, "];\n  (void)",
                  name(kernel_.params[i]), ";\n");
    for (size_t i = 0; i < kernel_.buffers.size(); ++i)
      text += str("  char* const b", i, " = ptrs[", i, "];\n  (void)b", i, ";\n");
    return text + print_loop(loop, "  ", true) + "}\n";
  }

  std::string name(const Expr* symbol) const { return "x_" + symbol->name; }
  std::string index(const Expr* at) const {
    return print_index(at, [&](const Expr* symbol) { return name(symbol); });
  }

  std::string print_loop(const Loop& loop, std::string indent, bool is_outermost) {
    std::string text, close;
    for (size_t i = 0; i < loop.axes.size(); ++i) {
      const Axis& axis = loop.axes[i];
      const std::string var = name(axis.var);
      const bool is_launched = is_outermost && i == 0;
      const std::string first = is_launched ? "begin" : "0";
      const std::string last = is_launched ? "end" : index(axis.extent);
      Place place{axis.var};
      if (axis.binding == Binding::Vector && i + 1 == loop.axes.size())
        place.lanes = lanes_of(loop);
      if (!place.is_wide()) {
        if (axis.role == Role::Scanned) text += scan_starts(loop, indent);
        if (axis.binding == Binding::Unroll)
          text += str("#pragma GCC unroll ", axis.extent->value.integer, "\n");
        text += str(indent, "for (td_long ", var, " = ", first, "; ", var, " < ", last, "; ++", var,
                    ") {\n");
        close = str(indent, "}\n", close);
        indent += "  ";
        continue;
      }
      return text + vector_loop(loop, place, var, first, last, indent) + close;
    }
    return text + print_steps(loop.steps, {}, indent) + close;
  }

  std::string vector_loop(const Loop& loop, Place place, const std::string& var,
                          const std::string& first, const std::string& last,
                          const std::string& indent) {
    const std::string step = lane_count(place.lanes);
    std::string text =
        str(indent, "{\n", indent, "  td_long ", var, " = ", first, ";\n", indent, "  for (; ", var,
            " + ", step, " <= ", last, "; ", var, " += ", step, ") {\n");
    text += print_steps(loop.steps, place, indent + "    ");
    text += str(indent, "  }\n", indent, "  if (", var, " < ", last, ") {\n", indent,
                "    const int count = (int)(", last, " - ", var, ");\n");
    place.is_tail = true;
    return text + print_steps(loop.steps, place, indent + "    ") + indent + "  }\n" + indent +
           "}\n";
  }

  std::string count_of(const Place& place) const {
    return place.is_tail ? "count" : lane_count(place.lanes);
  }

  // Everything that is computed in a loop, reductions with their bodies.
  void collect(const std::vector<Step>& steps, std::vector<NodeId>& roots) const {
    for (const Step& step : steps) {
      if (const auto* loop = std::get_if<Loop>(&step)) collect(loop->steps, roots);
      for (NodeId root : roots_of(kernel_, step)) roots.push_back(root);
    }
  }

  // The lanes in which all steps of a loop can be computed together.
  Lanes lanes_of(const Loop& loop) const {
    std::vector<NodeId> roots;
    collect(loop.steps, roots);
    Lanes lanes = widest_lanes(graph_, roots);
    for (const Step& step : loop.steps) {
      const auto* inner = std::get_if<Loop>(&step);
      if (!inner) continue;
      for (const Step& reduction : inner->steps)
        if (const auto* reduce = std::get_if<Reduce>(&reduction))
          if (body_lanes(*reduce->body) != lanes) return Lanes::One;
    }
    return lanes;
  }

  std::string print_steps(const std::vector<Step>& steps, Place place, const std::string& indent) {
    std::string text;
    for (size_t i = 0; i < steps.size();) {
      if (const auto* loop = std::get_if<Loop>(&steps[i])) {
        text += loop->axes[0].role == Role::Reduced ? print_reduction(*loop, place, indent)
                                                    : print_loop(*loop, indent, false);
        ++i;
        continue;
      }
      size_t end = i;
      while (end < steps.size() && !std::holds_alternative<Loop>(steps[end])) ++end;
      text += print_group(Span<Step>(steps.data() + i, end - i), place, indent);
      i = end;
    }
    return text;
  }

  // ---- values ----
  // Whether an index moves with the vector, directly or through a value.
  bool moves(const Expr* at, const Place& place, const std::set<NodeId>& wide) const {
    for (const Expr* symbol : symbolic::symbols_of(at)) {
      if (symbol == place.var) return true;
      const Indirect* one = graph_.find_indirect(symbol);
      if (one && wide.count(one->value)) return true;
    }
    return false;
  }

  // The nodes that are vectors here.
  std::set<NodeId> wide_nodes(const std::vector<NodeId>& order, const Place& place) const {
    std::set<NodeId> wide;
    if (!place.is_wide()) return wide;
    for (NodeId id : order) {
      const Node& node = graph_.node(id);
      bool is_wide = node.op == Op::State && place.wide_states.count(node.index);
      if (node.at) is_wide |= moves(node.at, place, wide);
      for (NodeId arg : node.args) is_wide |= arg >= 0 && wide.count(arg);
      if (is_wide) wide.insert(id);
    }
    return wide;
  }

  // The definitions of all nodes under some roots, and their spelling.
  struct Values {
    NamedNodes names;
    std::set<NodeId> wide;
    Place place;
    std::string text;
  };

  Values define(const std::vector<NodeId>& roots, const Place& place, const std::string& indent) {
    Values values{NamedNodes(graph_, roots), {}, place, ""};
    values.wide = wide_nodes(values.names.order(), place);
    for (NodeId id : values.names.order()) {
      const Node& node = graph_.node(id);
      const bool is_wide = values.wide.count(id) != 0;
      const Lanes lanes = is_wide ? place.lanes : Lanes::One;
      auto arg = [&](int i) { return spelled(values, node.args[i], lanes); };
      values.text += str(indent, "const ", value_type(node.type, lanes), " ", values.names[id],
                         " = ", value_text(values, node, lanes, arg), ";\n");
      for (const Indirect& one : graph_.indirects())
        if (one.value == id) values.text += indirect_text(values, one, is_wide, indent);
    }
    return values;
  }

  // A value as its user wants it: one or a vector.
  std::string spelled(const Values& values, NodeId id, Lanes lanes) const {
    const std::string text = values.names[id];
    if (lanes == Lanes::One || values.wide.count(id)) return text;
    return broadcast(text, graph_.node(id).type, lanes);
  }

  std::string value_text(const Values& values, const Node& node, Lanes lanes,
                         FunctionRef<std::string(int)> arg) {
    switch (node.op) {
      case Op::Uniform:
        return str("*(const ", element_type(node.type), "*)((const char*)scalars + ",
                   16 * node.index, ")");
      case Op::State: return str("s", node.index);
      case Op::Load: return load_text(values, node, lanes, arg);
      case Op::Index: return index_value(values, node, lanes);
      case Op::Round:
        return str(lanes == Lanes::One ? "td_round_to<" : "td_round_lanes<",
                   stored_name(static_cast<DType>(node.index)), ">(", arg(0), ")");
      case Op::Random:
        fail(ErrorKind::Runtime, "[kernel] the CPU dialect does not print random numbers yet");
      default: return operation_text(graph_, node, lanes, arg);
    }
  }

  // An index in one lane of a vector: names of lane variables in place of the vector's.
  std::string lane_index(const Values& values, const Expr* at) const {
    return print_index(at, [&](const Expr* symbol) -> std::string {
      if (symbol == values.place.var) return str("(", name(symbol), " + lane)");
      const Indirect* one = graph_.find_indirect(symbol);
      return one && values.wide.count(one->value) ? name(symbol) + "[lane]" : name(symbol);
    });
  }

  // How an index moves along the vector: null where it is not by a constant.
  const Expr* vector_stride(const Values& values, const Expr* at) const {
    for (const Expr* symbol : symbolic::symbols_of(at)) {
      const Indirect* one = graph_.find_indirect(symbol);
      if (one && values.wide.count(one->value)) return nullptr;
    }
    return stride_of(pool_, at, values.place.var);
  }

  std::string load_text(const Values& values, const Node& node, Lanes lanes,
                        FunctionRef<std::string(int)> arg) const {
    const Buffer& buffer = kernel_.buffers[node.index];
    const std::string base = str("b", node.index), type = value_type(node.type, Lanes::One);
    const bool is_masked = node.args[0] >= 0;
    if (lanes == Lanes::One) {
      const std::string read = str("td_read<", stored_name(buffer.dtype), ", ", type, ">(", base,
                                   ", ", index(node.at), ")");
      return is_masked ? str("(", arg(0), ") ? ", read, " : ", arg(1)) : read;
    }
    const std::string wide = value_type(node.type, lanes), count = count_of(values.place);
    const Expr* stride = vector_stride(values, node.at);
    if (!is_masked && stride && stride->is_constant(1)) {
      if (node.type == Type::Mask)
        return str("td_read_mask_lanes<", wide, ">(", base, ", ", index(node.at), ", ", count, ")");
      return str("td_read_lanes<", stored_name(buffer.dtype), ", ", wide, ">(", base, ", ",
                 index(node.at), ", ", count, ")");
    }
    std::string read = str("td_read<", stored_name(buffer.dtype), ", ", type, ">(", base, ", ",
                           lane_index(values, node.at), ")");
    if (node.type == Type::Mask) read = str("-(td_long)(", read, ")");
    if (is_masked) read = str("(", arg(0), ")[lane] ? ", read, " : (", arg(1), ")[lane]");
    return str("td_each_lane<", wide, ">(", count, ", [&](int lane) { return ", read, "; })");
  }

  std::string index_value(const Values& values, const Node& node, Lanes lanes) const {
    const std::string type = value_type(node.type, Lanes::One);
    if (lanes == Lanes::One) return str("(", type, ")", index(node.at));
    return str("td_each_lane<", value_type(node.type, lanes), ">(", count_of(values.place),
               ", [&](int lane) { return (", type, ")", lane_index(values, node.at), "; })");
  }

  // The checked index of an indirect access. One out of range is reported and read as 0.
  std::string indirect_text(const Values& values, const Indirect& one, bool is_wide,
                            const std::string& indent) const {
    const size_t number = &one - graph_.indirects().data();
    auto checked = [&](const std::string& value) {
      return str("td_checked_index(", value, ", ", index(one.extent), ", ",
                 one.wraps ? "true" : "false", ", error, ", number + 1, ")");
    };
    const std::string value = values.names[one.value];
    if (!is_wide)
      return str(indent, "const td_long ", name(one.symbol), " = ", checked(value), ";\n", indent,
                 "(void)", name(one.symbol), ";\n");
    return str(indent, "const auto ", name(one.symbol), " = td_each_lane<",
               value_type(Type::I64, values.place.lanes), ">(", count_of(values.place),
               ", [&](int lane) { return ", checked(value + "[lane]"), "; });\n");
  }

  // ---- steps without loops ----
  // Scans come first: the states that they make are read by the steps after them.
  std::string print_group(Span<Step> steps, const Place& place, const std::string& indent) {
    std::string text;
    size_t first = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto* scan = std::get_if<Scan>(&steps[i]);
      if (!scan) continue;
      text += print_plain(Span<Step>(steps.data() + first, i - first), place, indent);
      text += scan_text(*scan, place, indent);
      first = i + 1;
    }
    return text +
           print_plain(Span<Step>(steps.data() + first, steps.size() - first), place, indent);
  }

  std::string print_plain(Span<Step> steps, const Place& place, const std::string& indent) {
    if (steps.empty()) return "";
    std::vector<NodeId> roots;
    for (const Step& step : steps)
      for (NodeId root : roots_of(kernel_, step)) roots.push_back(root);
    const Values values = define(roots, place, indent + "  ");
    std::string text = str(indent, "{\n", values.text);
    for (const Step& step : steps)
      if (const auto* store = std::get_if<Store>(&step))
        text += store_text(values, *store, indent + "  ");
    return text + indent + "}\n";
  }

  // Before a loop: the running states of the scans inside.
  std::string scan_starts(const Loop& loop, const std::string& indent) {
    std::string text;
    for (const Step& step : loop.steps)
      if (const auto* scan = std::get_if<Scan>(&step)) {
        const std::string body = bodies_.name(*scan->body, Lanes::One);
        text += str(indent, body, "::S scan", scan->first_state, " = ", body, "::identity();\n");
      }
    return text;
  }

  std::string scan_text(const Scan& scan, const Place& place, const std::string& indent) {
    const std::string body = bodies_.name(*scan.body, Lanes::One);
    const std::string running = str("scan", scan.first_state);
    const Values values = define(scan.values, place, indent + "  ");
    std::string text = str(indent, "{\n", values.text, indent, "  ", running, " = ", body,
                           "::combine(", running, ", ", body, "::lift(");
    for (size_t i = 0; i < scan.values.size(); ++i)
      text += (i ? ", " : "") + values.names[scan.values[i]];
    text += str("));\n", indent, "}\n");
    for (size_t i = 0; i < scan.body->result_types.size(); ++i) {
      const size_t state = scan.first_state + i;
      text +=
          str(indent, "const ", value_type(scan.body->result_types[i], Lanes::One), " s", state,
              " = ", body, "::finish", i, "(", running, ");\n", indent, "(void)s", state, ";\n");
    }
    return text;
  }

  std::string store_text(const Values& values, const Store& store, const std::string& indent) {
    const Buffer& buffer = kernel_.buffers[store.buffer];
    const Type type = graph_.node(store.value).type;
    const std::string stored = stored_name(buffer.dtype), base = str("b", store.buffer);
    const std::string one = value_type(type, Lanes::One);
    const Place& place = values.place;
    const bool is_wide = place.is_wide() && (moves(store.at, place, values.wide));
    auto write = [&](const std::string& at, std::string value) {
      if (store.mode != StoreMode::Write)
        value = combined(store.mode, str("td_read<", stored, ", ", one, ">(", base, ", ", at, ")"),
                         value);
      return str("td_write<", stored, ", ", one, ">(", base, ", ", at, ", ", value, ");\n");
    };
    if (!is_wide) {
      const std::string guard =
          store.mask >= 0 ? str("if (", values.names[store.mask], ") ") : std::string();
      return str(indent, guard, write(index(store.at), values.names[store.value]));
    }
    const std::string value = spelled(values, store.value, place.lanes), count = count_of(place);
    const Expr* stride = vector_stride(values, store.at);
    if (store.mask < 0 && store.mode == StoreMode::Write && stride && stride->is_constant(1)) {
      if (type == Type::Mask)
        return str(indent, "td_write_mask_lanes(", base, ", ", index(store.at), ", ", value, ", ",
                   count, ");\n");
      return str(indent, "td_write_lanes<", stored, ">(", base, ", ", index(store.at), ", ", value,
                 ", ", count, ");\n");
    }
    const std::string guard =
        store.mask >= 0 ? str("if ((", spelled(values, store.mask, place.lanes), ")[lane]) ")
                        : std::string();
    std::string element = str("(", value, ")[lane]");
    if (type == Type::Mask) element += " != 0";
    return str(indent, "for (int lane = 0; lane < ", count, "; ++lane)\n", indent, "  ", guard,
               write(lane_index(values, store.at), element));
  }

  // On one thread per element atomics are plain.
  static std::string combined(StoreMode mode, const std::string& old, const std::string& value) {
    switch (mode) {
      case StoreMode::AtomicMax: return str("td_maximum(", old, ", ", value, ")");
      case StoreMode::AtomicMin: return str("td_minimum(", old, ", ", value, ")");
      case StoreMode::AtomicMul: return str(old, " * ", value);
      default: return str(old, " + ", value);
    }
  }

  // ---- reductions ----
  std::string print_reduction(const Loop& loop, Place& place, const std::string& indent) {
    std::string text;
    for (const Step& step : loop.steps) {
      const auto* reduce = std::get_if<Reduce>(&step);
      if (!reduce)
        fail(ErrorKind::Runtime, "[kernel] the CPU dialect prints reductions alone in their loops");
      text += reduce_text(loop, *reduce, place, indent);
      for (size_t i = 0; i < state_types(*reduce).size() && place.is_wide(); ++i)
        place.wide_states.insert(reduce->first_state + static_cast<int>(i));
    }
    return text;
  }

  // The elements as a source of td_tree, then the results as states.
  std::string reduce_text(const Loop& loop, const Reduce& reduce, const Place& place,
                          const std::string& indent) {
    const std::string body = bodies_.lanewise(*reduce.body, place.lanes);
    const std::string number = str(reduce.first_state);
    const Axis& last = loop.axes.back();
    Place along{last.var, Lanes::One};
    if (!place.is_wide() && last.binding == Binding::Vector && loop.axes.size() == 1 &&
        body_lanes(*reduce.body) == widest_lanes(graph_, reduce.values))
      along.lanes = body_lanes(*reduce.body);
    std::string wide = body;
    std::string text = str(indent, "const auto one", number, " = [&](td_long at) {\n",
                           element_text(loop, reduce, body, place, indent + "  "), indent, "};\n");
    std::string source = str("td_source<decltype(one", number, ")>{one", number, "}");
    if (along.is_wide()) {
      wide = bodies_.name(*reduce.body, along.lanes);
      text += str(indent, "const auto wide", number, " = [&](td_long at) {\n",
                  element_text(loop, reduce, wide, along, indent + "  "), indent, "};\n");
      source = str("td_wide_source<decltype(one", number, "), decltype(wide", number, ")>{one",
                   number, ", wide", number, "}");
    }
    std::string length = "(td_long)1";
    for (const Axis& axis : loop.axes) length += " * " + index(axis.extent);
    text += str(indent, "const ", body, "::S tree", number, " = td_tree<", body, ", ", wide, ">(",
                source, ", ", length, ");\n");
    return text + results_text(reduce, body, place, indent);
  }

  // One lifted element: the axes from the row-major index `at`, the values, then the state.
  std::string element_text(const Loop& loop, const Reduce& reduce, const std::string& body,
                           const Place& place, const std::string& indent) {
    std::string text;
    for (size_t i = loop.axes.size(); i-- > 0;) {
      const std::string var = name(loop.axes[i].var), extent = index(loop.axes[i].extent);
      text += str(indent, "const td_long ", var, " = ", i ? "at % " + extent : "at", ";\n", indent,
                  "(void)", var, ";\n");
      if (i) text += str(indent, "at /= ", extent, ";\n");
    }
    const Values values = define(reduce.values, place, indent);
    text += values.text + indent + "return " + body +
            (reduce.part == Part::Combining ? "::S{" : "::lift(");
    for (size_t i = 0; i < reduce.values.size(); ++i)
      text += (i ? ", " : "") + spelled(values, reduce.values[i], place.lanes);
    return text + (reduce.part == Part::Combining ? "};\n" : ");\n");
  }

  std::string results_text(const Reduce& reduce, const std::string& body, const Place& place,
                           const std::string& indent) {
    const std::string tree = str("tree", reduce.first_state);
    std::string text;
    const std::vector<Type> types = state_types(reduce);
    for (size_t i = 0; i < types.size(); ++i) {
      const int state = reduce.first_state + static_cast<int>(i);
      text += str(indent, "const ", value_type(types[i], place.lanes), " s", state, " = ",
                  reduce.part == Part::Partial ? str(tree, ".p", i)
                                               : str(body, "::finish", i, "(", tree, ")"),
                  ";\n", indent, "(void)s", state, ";\n");
    }
    return text;
  }

  const Kernel& kernel_;
  const ExprGraph& graph_;
  ExprPool& pool_;
  ReduceBodyPrinter bodies_;
};

}  // namespace

std::string print_cpu_kernel(const Kernel& kernel) {
  verify(kernel);
  return CpuKernelPrinter(kernel).print();
}

}  // namespace taeda::kernel
