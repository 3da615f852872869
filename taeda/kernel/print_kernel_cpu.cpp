// Kernels in the CPU dialect: one function per outermost loop.
#include <algorithm>
#include <optional>
#include <set>

#include "taeda/base/error.h"
#include "taeda/base/str.h"
#include "taeda/kernel/ir/transposition.h"
#include "taeda/kernel/print.h"
#include "taeda/kernel/print_cpu_values.h"
#include "taeda/kernel/print_reduce_body.h"

namespace taeda::kernel {

namespace {

class CpuKernelPrinter {
 public:
  explicit CpuKernelPrinter(const Kernel& kernel)
      : kernel_(kernel), values_(kernel), bodies_(kernel.name) {}

  std::string print() {
    std::string text;
    int number = 0;
    for (const Step& step : kernel_.steps)
      if (const auto* loop = std::get_if<Loop>(&step)) text += function(*loop, number++);
    return called_text(kernel_) + values_.functions_text() + bodies_.text() + text;
  }

 private:
  using Place = CpuPlace;
  using Values = CpuValues::Defined;

  static std::string name(const Expr* symbol) { return CpuValues::name(symbol); }
  static std::string index(const Expr* at) { return CpuValues::index(at); }

  std::string function(const Loop& loop, int number) {
    std::string text = str("extern \"C\" void ", kernel_.name, "_", number,
                           "(char* const* ptrs, const td_long* params, const void* scalars, "
                           "td_long* error, td_long begin, td_long end) {\n",
                           "  (void)ptrs, (void)params, (void)scalars, (void)error;\n");
    for (size_t i = 0; i < kernel_.params.size(); ++i)
      text += str("  const td_long ", name(kernel_.params[i]), " = params[", i, "];\n  (void)",
                  name(kernel_.params[i]), ";\n");
    return text + buffers_text() + print_loop(loop, {}, "  ", true) + "}\n";
  }

  // Pointers to all buffers, local ones in memory of this call.
  std::string buffers_text() const {
    std::string text, locals;
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const Buffer& buffer = kernel_.buffers[i];
      const std::string bytes = str(item_size(buffer.dtype), " * ", index(buffer.numel));
      if (buffer.space == Space::Local) locals += str(locals.empty() ? "" : " + ", bytes, " + 64");
      text +=
          str("  char* const b", i, " = ",
              buffer.space == Space::Local ? str("locals.take(", bytes, ")") : str("ptrs[", i, "]"),
              ";\n  (void)b", i, ";\n");
    }
    return locals.empty() ? text : str("  td_local_memory locals(", locals, ");\n", text);
  }

  // ---- loops ----
  std::string print_loop(const Loop& loop, const Place& around, std::string indent,
                         bool is_outermost) {
    if (!around.is_wide())
      if (const auto found = find_transposition(kernel_, loop))
        return transposition(loop, *found, indent, is_outermost);
    std::string text, close;
    for (size_t i = 0; i < loop.axes.size(); ++i) {
      const Axis& axis = loop.axes[i];
      if (is_outermost && i == 0 && num_launched(loop) == 2) {
        text += launched_rows(loop, indent);
        close = str(indent, "}\n");
        indent += "  ";
        continue;
      }
      const auto [first, last] = bounds(loop, i, is_outermost);
      Place place{axis.var};
      if (axis.binding == Binding::Vector && !around.is_wide()) place.lanes = lanes_of(loop);
      if (place.is_wide()) return text + vector_loop(loop, place, first, last, indent) + close;
      if (axis.role == Role::Scanned) text += scan_starts(loop, indent);
      if (axis.binding == Binding::Unroll)
        text += str("#pragma GCC unroll ", axis.extent->value.integer, "\n");
      text += for_text(axis, first, last, indent);
      close = str(indent, "}\n", close);
      indent += "  ";
    }
    return text + print_steps(loop.steps, around, indent) + close;
  }

  // The range of an axis; the launch gives that of the first one, or of the second one in a row of
  // the first.
  static std::pair<std::string, std::string> bounds(const Loop& loop, size_t i, bool is_outermost) {
    using Range = std::pair<std::string, std::string>;
    if (!is_outermost || i + 1 != num_launched(loop)) return Range("0", index(loop.axes[i].extent));
    return i == 0 ? Range("begin", "end") : Range("row_begin", "row_end");
  }

  // The first of two axes that are launched as one.
  static std::string launched_rows(const Loop& loop, const std::string& indent) {
    const std::string var = name(loop.axes[0].var), row = index(loop.axes[1].extent);
    return str(indent, "if (begin >= end) return;\n", indent, "for (td_long ", var, " = begin / ",
               row, "; ", var, " * ", row, " < end; ++", var, ") {\n", indent,
               "  const td_long row = ", var, " * ", row, ";\n", indent,
               "  const td_long row_begin = begin > row ? begin - row : 0;\n", indent,
               "  const td_long row_end = end - row < ", row, " ? end - row : ", row, ";\n");
  }

  static std::string for_text(const Axis& axis, const std::string& first, const std::string& last,
                              const std::string& indent) {
    const std::string var = name(axis.var);
    return str(indent, "for (td_long ", var, " = ", first, "; ", var, " < ", last, "; ++", var,
               ") {\n");
  }

  std::string transposition(const Loop& loop, const Transposition& found, std::string indent,
                            bool is_outermost) {
    std::string text, close;
    std::vector<std::string> lengths;
    for (size_t i = 0; i < loop.axes.size(); ++i) {
      const Axis& axis = loop.axes[i];
      if (is_outermost && i == 0 && num_launched(loop) == 2) {
        text += launched_rows(loop, indent);
        lengths.emplace_back();
        close = str(indent, "}\n");
        indent += "  ";
        continue;
      }
      const auto [first, last] = bounds(loop, i, is_outermost);
      const bool is_block = i + 2 >= loop.axes.size();
      text += is_block ? str(indent, "{\n", indent, "  const td_long ", name(axis.var), " = ",
                             first, ";\n", indent, "  (void)", name(axis.var), ";\n")
                       : for_text(axis, first, last, indent);
      lengths.push_back(str(last, " - ", first));
      close = str(indent, "}\n", close);
      indent += "  ";
    }
    auto address = [&](int buffer, const Expr* at) {
      return str("b", buffer, " + ", found.item, " * ", index(at));
    };
    return text +
           str(indent, "td_transpose<", found.item, ">(", address(found.from, found.from_at), ", ",
               index(found.from_stride), ", ", address(found.to, found.to_at), ", ",
               index(found.to_stride), ", ", lengths[found.a], ", ", lengths[found.b], ");\n") +
           close;
  }

  // Vectors side by side while as many are left, then one by one.
  std::string vector_loop(const Loop& loop, Place place, const std::string& first,
                          const std::string& last, const std::string& indent) {
    place.copies = copies_of(loop, place);
    const std::vector<NodeId> roots = find_fixed(loop, place);
    const std::string step = lane_count(place.lanes), var = name(place.var);
    const std::string stride = place.copies > 1 ? str(place.copies, " * ", step) : step;
    const std::string guard = place.fixed.empty() ? "" : str("if (", first, " < ", last, ") ");
    std::string text = str(indent, guard, "{\n", values_.define_fixed(roots, place, indent + "  "),
                           indent, "  td_long ", var, " = ", first, ";\n", indent, "  for (; ", var,
                           " + ", stride, " <= ", last, "; ", var, " += ", stride, ") {\n",
                           print_steps(loop.steps, place, indent + "    "), indent, "  }\n", indent,
                           "  for (; ", var, " < ", last, "; ", var, " += ", step, ") {\n", indent,
                           "    const int count = (int)(", last, " - ", var, " < ", step, " ? ",
                           last, " - ", var, " : ", step, ");\n");
    place.is_tail = true;
    place.copies = 1;
    return text + print_steps(loop.steps, place, indent + "    ") + indent + "  }\n" + indent +
           "}\n";
  }

  // The roots of a loop that only stores, where it has values that are defined before it.
  std::vector<NodeId> find_fixed(const Loop& loop, Place& place) const {
    std::vector<NodeId> roots;
    std::set<int> written;
    for (const Step& step : loop.steps) {
      const auto* store = std::get_if<Store>(&step);
      if (!store) return {};
      written.insert(store->buffer);
      for (NodeId root : roots_of(kernel_, step)) roots.push_back(root);
    }
    place.fixed = values_.fixed_nodes(roots, written, place);
    return roots;
  }

  int copies_of(const Loop& loop, const Place& place) const {
    std::vector<NodeId> roots;
    std::vector<const Expr*> stores;
    collect(loop.steps, roots, stores);
    return values_.useful_copies(roots, stores, place);
  }
  void collect(const std::vector<Step>& steps, std::vector<NodeId>& roots,
               std::vector<const Expr*>& stores) const {
    for (const Step& step : steps) {
      if (const auto* loop = std::get_if<Loop>(&step)) collect(loop->steps, roots, stores);
      if (const auto* store = std::get_if<Store>(&step)) stores.push_back(store->at);
      for (NodeId root : roots_of(kernel_, step)) roots.push_back(root);
    }
  }

  // The lanes in which all steps of a loop can be computed together.
  Lanes lanes_of(const Loop& loop) const {
    std::vector<NodeId> roots;
    for (const Step& step : loop.steps)
      for (NodeId root : roots_of(kernel_, step)) roots.push_back(root);
    const auto own = kernel_.values.reachable(roots);
    Lanes lanes = widest_lanes(kernel_.values, roots);
    bool is_bound = !own.empty();
    for (const Step& step : loop.steps) {
      const auto* inner = std::get_if<Loop>(&step);
      const auto* reduce = std::get_if<Reduce>(&step);
      if (!inner && !reduce) continue;
      const Lanes other = inner ? lanes_of(*inner) : body_lanes(*reduce->body);
      lanes = is_bound ? common_lanes(lanes, other) : other;
      is_bound = true;
    }
    return lanes;
  }

  std::string print_steps(const std::vector<Step>& steps, Place place, const std::string& indent) {
    std::string text;
    for (size_t i = 0; i < steps.size();) {
      if (const auto* loop = std::get_if<Loop>(&steps[i])) {
        text += loop->axes[0].role == Role::Reduced ? print_reduction(*loop, place, indent)
                                                    : print_loop(*loop, place, indent, false);
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
    const Values values = values_.define(roots, place, indent + "  ");
    std::string text = str(indent, "{\n", values.text);
    for (const Step& step : steps)
      if (const auto* store = std::get_if<Store>(&step))
        text += values_.store(values, *store, indent + "  ");
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
    const Values values = values_.define(scan.values, place, indent + "  ");
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

  // ---- reductions ----
  std::string print_reduction(const Loop& loop, Place& place, const std::string& indent) {
    std::string text;
    std::vector<const Store*> stores;  // by the first reduction: each of them visits all elements
    for (const Step& step : loop.steps)
      if (const auto* store = std::get_if<Store>(&step)) stores.push_back(store);
    for (const Step& step : loop.steps) {
      if (std::holds_alternative<Store>(step)) continue;
      const auto* reduce = std::get_if<Reduce>(&step);
      if (!reduce)
        fail(ErrorKind::Runtime,
             "[kernel] the CPU dialect prints no loops and scans in reductions");
      text += reduce_text(loop, *reduce, stores, place, indent);
      stores.clear();
      for (size_t i = 0; i < state_types(*reduce).size() && place.is_wide(); ++i)
        place.wide_states.insert(reduce->first_state + static_cast<int>(i));
    }
    return text;
  }

  std::vector<NodeId> roots_with(const Reduce& reduce,
                                 const std::vector<const Store*>& stores) const {
    std::vector<NodeId> roots = reduce.values;
    for (const Store* store : stores)
      for (NodeId root : roots_of(kernel_, *store)) roots.push_back(root);
    return roots;
  }

  // Vectors along the last axis of a reduction: they must fit the lanes of its tree.
  Lanes reduced_lanes(const Loop& loop, const Reduce& reduce,
                      const std::vector<const Store*>& stores, const Place& place) const {
    const bool is_vector = !place.is_wide() && loop.axes.back().binding == Binding::Vector;
    if (!is_vector || (loop.axes.size() > 1 && !has_lanes_in_memory(*reduce.body)))
      return Lanes::One;
    const Lanes lanes = common_lanes(body_lanes(*reduce.body),
                                     widest_lanes(kernel_.values, roots_with(reduce, stores)));
    return lanes == Lanes::Mixed && reduce.body->lanes() < 16 ? Lanes::One : lanes;
  }

  // Whether an element comes as a state, or as it is.
  enum class Lifting : uint8_t { State, None };

  // Whether vectors of a reduction's elements may begin anywhere.
  bool can_read_twice(const Loop& loop, const Reduce& reduce,
                      const std::vector<const Store*>& stores) const {
    if (reduce.part == Part::Combining || !stores.empty() || loop.axes.size() != 1) return false;
    const std::vector<NodeId> all = kernel_.values.reachable(reduce.values);
    return std::none_of(all.begin(), all.end(),
                        [&](NodeId id) { return kernel_.values.node(id).op == Op::Random; });
  }

  // The index of the first element of a reduction whose indices follow each other, with elements
  // that take places; null for another reduction.
  const Expr* first_index(const Loop& loop, const Reduce& reduce,
                          const std::vector<const Store*>& stores, Lanes lanes) const {
    if (reduce.body->takes_place < 0 || is_two(reduce.body->state_types[0], lanes) ||
        !can_read_twice(loop, reduce, stores))
      return nullptr;
    const Node& index = kernel_.values.node(reduce.values[1]);
    const Expr* var = loop.axes[0].var;
    if (index.op != Op::Index) return nullptr;
    const Expr* stride = stride_of(*kernel_.pool, index.at, var);
    if (!stride || !stride->is_constant(1)) return nullptr;
    return symbolic::substitute(*kernel_.pool, index.at, {{var, kernel_.pool->integer(0)}});
  }

  // A function of the elements of a reduction, lifted, or of what takes places. Several axes are
  // gone through by runs of the last one; a vector that a run cuts is put together from `one` by
  // `one`.
  std::string lambda(const std::string& called, const Loop& loop, const Reduce& reduce,
                     const std::vector<const Store*>& stores, const std::string& body,
                     const Place& around, Lifting lifting, const std::string& indent,
                     const std::string& one = "") {
    const std::string run = "run_" + called, extent = index(loop.axes.back().extent);
    Place place = around;
    place.fixed = fixed_in(loop, reduce, stores, place);
    std::string text, captures = "&", end = "};\n";
    if (loop.axes.size() > 1) text += str(indent, "td_run ", run, "{", extent, "};\n");
    text += str(indent, "const auto ", called, " = ");
    if (!place.fixed.empty()) {
      const std::vector<NodeId> roots = roots_with(reduce, stores);
      std::string guard;
      for (const Axis& axis : loop.axes)
        guard += str(guard.empty() ? "(" : " && ", index(axis.extent), " > 0");
      text += str("[&] {\n", values_.define_fixed(roots, place, indent + "  ", guard + ")"), indent,
                  "  return ");
      for (const std::string& name : values_.fixed_names(roots, place)) captures += ", " + name;
      end = str("};\n", indent, "}();\n");
    }
    text += str("[", captures, "](td_long at) {\n", axes_text(loop, run, indent + "  "));
    if (loop.axes.size() > 1 && !one.empty())
      text += str(indent, "  if (", name(loop.axes.back().var), " + ", lane_count(place.lanes),
                  " > ", extent, ") return td_gather_states<", body, ">(", one, ", at);\n");
    return str(text, element_text(reduce, stores, body, place, lifting, indent + "  "), indent,
               end);
  }

  // Nodes that are the same for all elements of a reduction, where some of them read memory.
  std::set<NodeId> fixed_in(const Loop& loop, const Reduce& reduce,
                            const std::vector<const Store*>& stores, const Place& place) const {
    const bool is_column = place.is_wide() && place.var != loop.axes.back().var;
    if (is_column || reduce.part == Part::Combining) return {};
    std::set<int> written;
    for (const Store* store : stores) written.insert(store->buffer);
    std::optional<std::set<NodeId>> fixed;
    for (const Axis& axis : loop.axes) {
      const std::set<NodeId> along =
          values_.fixed_nodes(roots_with(reduce, stores), written, {axis.var, Lanes::Wide32});
      if (fixed)
        std::erase_if(*fixed, [&](NodeId id) { return along.count(id) == 0; });
      else
        fixed = along;
    }
    return *fixed;
  }

  // The axes of a reduction from the row-major index `at`.
  static std::string axes_text(const Loop& loop, const std::string& run,
                               const std::string& indent) {
    const size_t last = loop.axes.size() - 1;
    std::string text;
    const auto define = [&](size_t i, const std::string& value) {
      const std::string var = name(loop.axes[i].var);
      text += str(indent, "const td_long ", var, " = ", value, ";\n", indent, "(void)", var, ";\n");
    };
    if (last == 0) {
      define(0, "at");
      return text;
    }
    text += str(indent, run, ".go_to(at);\n");
    define(last, str("at - ", run, ".start"));
    if (last > 1) text += str(indent, "td_long rest = ", run, ".number;\n");
    for (size_t i = last; i-- > 0;) {
      const std::string extent = index(loop.axes[i].extent);
      define(i, last == 1 ? run + ".number" : i ? "rest % " + extent : "rest");
      if (i) text += str(indent, "rest /= ", extent, ";\n");
    }
    return text;
  }

  // The elements as a source of the tree, then the results as states.
  std::string reduce_text(const Loop& loop, const Reduce& reduce,
                          const std::vector<const Store*>& stores, const Place& place,
                          const std::string& indent) {
    std::string length = "(td_long)1";
    for (const Axis& axis : loop.axes) length += " * " + index(axis.extent);
    const std::string body = bodies_.lanewise(*reduce.body, place.lanes);
    const std::string number = str(reduce.first_state);
    const Place along{loop.axes.back().var, reduced_lanes(loop, reduce, stores, place)};
    const Expr* first =
        first_index(loop, reduce, stores, place.is_wide() ? place.lanes : along.lanes);
    if ((place.copies > 1 && reduce.part != Part::Combining) || (first && !along.is_wide()))
      return columns_text(loop, reduce, stores, place, body, length, first, indent);
    const Lifting lifting = first ? Lifting::None : Lifting::State;
    const bool is_truth =
        along.is_wide() && is_truth_body(*reduce.body) && can_read_twice(loop, reduce, stores);
    const char* row = first ? "td_place_row" : is_truth ? "td_truth_row" : "td_tree";
    std::string text;
    for (int k = 0; k < place.copies; ++k) {
      const Place single = place.single(k);
      const std::string one = CpuValues::copy_name("one" + number, single.first);
      text += lambda(one, loop, reduce, stores, body, single, lifting, indent);
      std::string source = str("td_source<decltype(", one, ")>{", one, "}"), wide = body;
      if (along.is_wide()) {
        wide = bodies_.name(*reduce.body, along.lanes);
        text += lambda("wide" + number, loop, reduce, stores, wide, along, lifting, indent, one);
        source = str("td_wide_source<decltype(", one, "), decltype(wide", number, ")>{", one,
                     ", wide", number, "}");
      }
      const std::string call = reduce.part == Part::Combining
                                   ? str("td_combine_blocks<", body, ">(")
                                   : str(row, "<", body, ", ", wide, ">(");
      const std::string tree = CpuValues::copy_name("tree" + number, single.first);
      text += str(indent, "const ", body, "::S ", tree, " = ", call, source, ", ", length,
                  first ? ", " + index(first) : "", ");\n",
                  results_text(reduce, body, tree, single, indent));
    }
    return text;
  }

  // Several vectors of columns at once.
  std::string columns_text(const Loop& loop, const Reduce& reduce,
                           const std::vector<const Store*>& stores, const Place& place,
                           const std::string& body, const std::string& length, const Expr* first,
                           const std::string& indent) {
    const Lifting lifting = first ? Lifting::None : Lifting::State;
    const std::string number = str(reduce.first_state);
    std::string text, sources, results;
    for (int k = 0; k < place.copies; ++k) {
      const std::string one = CpuValues::copy_name("one" + number, k);
      text += lambda(one, loop, reduce, stores, body, place.single(k), lifting, indent);
      sources += ", " + one;
      results +=
          results_text(reduce, body, str("trees", number, "[", k, "]"), place.single(k), indent);
    }
    return str(text, indent, body, "::S trees", number, "[", place.copies, "];\n", indent,
               first ? "td_place_columns<" : "td_tree_columns<", body, ">(trees", number, ", ",
               length, first ? ", " + index(first) : "", sources, ");\n", results);
  }

  // One lifted element where its axes are known: the values, then the state.
  std::string element_text(const Reduce& reduce, const std::vector<const Store*>& stores,
                           const std::string& body, const Place& place, Lifting lifting,
                           const std::string& indent) {
    if (lifting == Lifting::None) {
      const NodeId element = reduce.values[0];
      const Values values = values_.define({element}, place, indent);
      return str(values.text, indent, "return ",
                 values_.spelled(values, element, place.lanes, place.first), ";\n");
    }
    const Values values = values_.define(roots_with(reduce, stores), place, indent);
    std::string text = values.text;
    for (const Store* store : stores) text += values_.store(values, *store, indent);
    text += indent + "return " + body + (reduce.part == Part::Combining ? "::S{" : "::lift(");
    for (size_t i = 0; i < reduce.values.size(); ++i)
      text += (i ? ", " : "") + values_.spelled(values, reduce.values[i], place.lanes, place.first);
    return text + (reduce.part == Part::Combining ? "};\n" : ");\n");
  }

  std::string results_text(const Reduce& reduce, const std::string& body, const std::string& tree,
                           const Place& place, const std::string& indent) {
    std::string text;
    const std::vector<Type> types = state_types(reduce);
    for (size_t i = 0; i < types.size(); ++i) {
      const std::string state = CpuValues::copy_name(str("s", reduce.first_state + i), place.first);
      text += str(indent, "const ", value_type(types[i], place.lanes), " ", state, " = ",
                  reduce.part == Part::Partial ? str(tree, ".p", i)
                                               : str(body, "::finish", i, "(", tree, ")"),
                  ";\n", indent, "(void)", state, ";\n");
    }
    return text;
  }

  const Kernel& kernel_;
  CpuValues values_;
  ReduceBodyPrinter bodies_;
};

}  // namespace

std::string print_cpu_kernel(const Kernel& kernel) {
  verify(kernel);
  return CpuKernelPrinter(kernel).print();
}

}  // namespace taeda::kernel
