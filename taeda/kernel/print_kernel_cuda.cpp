// Kernels in the CUDA dialect: one __global__ function per outermost loop.
//
// A loop without loops inside is run by one thread per element. Otherwise a block takes some rows:
// its lanes share the loops inside (reductions, scans, stores along the row), and stores of the row
// itself are its first lane's. Lanes lie along the row where memory does, and across rows where
// they are columns side by side.
#include <algorithm>

#include "taeda/base/error.h"
#include "taeda/base/str.h"
#include "taeda/kernel/print.h"
#include "taeda/kernel/print_expression.h"
#include "taeda/kernel/print_index.h"
#include "taeda/kernel/print_reduce_body.h"

namespace taeda::kernel {

namespace {

constexpr int kElementsPerThread = 4;

class CudaKernelPrinter {
 public:
  explicit CudaKernelPrinter(const Kernel& kernel)
      : kernel_(kernel), graph_(kernel.values), bodies_(kernel.name) {}

  CudaKernel print() {
    std::string text;
    for (const Step& step : kernel_.steps) {
      const auto* loop = std::get_if<Loop>(&step);
      if (!loop) continue;
      CudaStage stage;
      stage.shape = shape_of(*loop);
      for (const Axis& axis : loop->axes) stage.extents.push_back(axis.extent);
      if (stage.shape != GridShape::Elements) stage.state_bytes = state_bytes(loop->steps);
      for (const Step& inside : loop->steps)
        if (const auto* inner = std::get_if<Loop>(&inside)) {
          stage.length.clear();
          for (const Axis& axis : inner->axes) stage.length.push_back(at_start(axis.extent));
        }
      const std::string entry = str(kernel_.name, "_", stages_.size());
      text += str("extern \"C\" __global__ void ", entry, "(const ", kernel_.name, "_args a) {\n",
                  preamble(),
                  stage.shape == GridShape::Elements ? elements(*loop) : rows(*loop, stage.shape),
                  "}\n");
      stages_.push_back(std::move(stage));
    }
    return {called_text(kernel_) + arguments() + bodies_.text() + text, std::move(stages_)};
  }

 private:
  // An extent as it is where the axes around it begin.
  const Expr* at_start(const Expr* extent) const {
    symbolic::Replacements starts;
    for (const Expr* symbol : symbolic::symbols_of(extent))
      if (std::find(kernel_.params.begin(), kernel_.params.end(), symbol) == kernel_.params.end())
        starts[symbol] = kernel_.pool->integer(0);
    return symbolic::substitute(*kernel_.pool, extent, starts);
  }

  // ---- arguments ----
  int num_uniforms() const {
    int count = 0;
    for (NodeId id = 0; id < graph_.size(); ++id)
      if (graph_.node(id).op == Op::Uniform) count = std::max(count, graph_.node(id).index + 1);
    return count;
  }
  // One struct: addresses, parameters, the error words' address, numbers in slots of 16 bytes.
  std::string arguments() const {
    std::string text = str("struct ", kernel_.name, "_args {\n");
    if (!kernel_.buffers.empty()) text += str("  char* b[", kernel_.buffers.size(), "];\n");
    if (!kernel_.params.empty()) text += str("  td_long p[", kernel_.params.size(), "];\n");
    text += str("  td_long* error;\n  struct alignas(16) { char bytes[16]; } u[",
                std::max(num_uniforms(), 1), "];\n};\n");
    return text;
  }
  std::string preamble() const {
    std::string text = "  td_long* const error = a.error;\n  (void)error;\n";
    for (size_t i = 0; i < kernel_.params.size(); ++i)
      text += str("  const td_long ", name(kernel_.params[i]), " = a.p[", i, "];\n  (void)",
                  name(kernel_.params[i]), ";\n");
    for (size_t i = 0; i < kernel_.buffers.size(); ++i)
      text += str("  char* const b", i, " = a.b[", i, "];\n  (void)b", i, ";\n");
    return text;
  }

  static std::string name(const Expr* symbol) { return "x_" + symbol->name; }
  std::string index(const Expr* at) const {
    return print_index(at, [](const Expr* symbol) { return name(symbol); });
  }

  // ---- the shape of the grid ----
  static bool has_loops(const std::vector<Step>& steps) {
    return std::any_of(steps.begin(), steps.end(),
                       [](const Step& step) { return std::holds_alternative<Loop>(step); });
  }
  GridShape shape_of(const Loop& loop) const {
    if (!has_loops(loop.steps)) return GridShape::Elements;
    bool along_row = false, across_rows = false;
    for (const Step& step : loop.steps) {
      const auto* inner = std::get_if<Loop>(&step);
      if (!inner) continue;
      for (const Step& inside : inner->steps)
        for (NodeId id : graph_.reachable(roots_of(kernel_, inside))) {
          const Node& node = graph_.node(id);
          if (node.op != Op::Load) continue;
          along_row |= is_dense(node.at, inner->axes.back().var);
          across_rows |= is_dense(node.at, loop.axes.back().var);
        }
    }
    return across_rows && !along_row ? GridShape::Columns : GridShape::Rows;
  }
  bool is_dense(const Expr* at, const Expr* var) const {
    const Expr* stride = stride_of(*kernel_.pool, at, var);
    return stride && stride->is_constant(1);
  }
  static int state_bytes(const std::vector<Step>& steps) {
    int most = 0;
    const auto add = [&](const ReduceBody& body) {
      int bytes = 0;
      for (Type type : body.state_types) bytes += std::max(type_size(type), 8);
      most = std::max(most, bytes);
    };
    for (const Step& step : steps) {
      if (const auto* loop = std::get_if<Loop>(&step))
        most = std::max(most, state_bytes(loop->steps));
      if (const auto* reduce = std::get_if<Reduce>(&step)) add(*reduce->body);
      if (const auto* scan = std::get_if<Scan>(&step)) add(*scan->body);
    }
    return most;
  }

  // ---- values ----
  std::string definitions(const NamedNodes& names, const std::string& indent) const {
    std::string text;
    for (NodeId id : names.order()) {
      const Node& node = graph_.node(id);
      const auto arg = [&](int i) { return names[node.args[i]]; };
      text += str(indent, "const ", value_type(node.type, Lanes::One), " ", names[id], " = ",
                  from_pack(id, value(node, arg)), ";\n");
      for (const Indirect& one : graph_.indirects()) {
        if (one.value != id) continue;
        const size_t number = &one - graph_.indirects().data();
        text += str(indent, "const td_long ", name(one.symbol), " = td_checked_index(", names[id],
                    ", ", index(one.extent), ", ", one.wraps ? "true" : "false", ", error, ",
                    number + 1, ");\n", indent, "(void)", name(one.symbol), ";\n");
      }
    }
    return text;
  }
  // A load that a pack has read already, a number that it has drawn, or what is given.
  std::string from_pack(NodeId id, std::string otherwise) const {
    if (!packed_) return otherwise;
    if (const auto place = std::find(drawn_.begin(), drawn_.end(), id); place != drawn_.end())
      return str("d", place - drawn_.begin(), "[u]");
    const auto place = std::find(packed_->begin(), packed_->end(), id);
    if (place == packed_->end()) return otherwise;
    const Node& node = graph_.node(id);
    return str(stored_name(kernel_.buffers[node.index].dtype), "::template from<",
               value_type(node.type, Lanes::One), ">(l", place - packed_->begin(), ".items[u])");
  }
  std::string value(const Node& node, FunctionRef<std::string(int)> arg) const {
    switch (node.op) {
      case Op::Uniform: return str("*(const ", element_type(node.type), "*)&a.u[", node.index, "]");
      case Op::State: return str("s", node.index);
      case Op::Load: {
        const std::string read =
            str("td_read<", stored_name(kernel_.buffers[node.index].dtype), ", ",
                value_type(node.type, Lanes::One), ">(b", node.index, ", ", index(node.at), ")");
        return node.args[0] >= 0 ? str("(", arg(0), ") ? ", read, " : ", arg(1)) : read;
      }
      case Op::Index: return str("(", value_type(node.type, Lanes::One), ")", index(node.at));
      case Op::Round:
        return str("td_round_to<", stored_name(static_cast<DType>(node.index)), ">(", arg(0), ")");
      case Op::Random: return random_text(node, index(node.at), arg);
      default: return operation_text(graph_, node, Lanes::One, arg);
    }
  }

  // ---- steps without loops ----
  std::string store(const Store& store, const std::string& given, const std::string& mask) const {
    const std::string stored = stored_name(kernel_.buffers[store.buffer].dtype);
    const std::string one = value_type(graph_.node(store.value).type, Lanes::One);
    const std::string guard = mask.empty() ? "" : str("if (", mask, ") ");
    const std::string place =
        str(stored, ", ", one, ">(b", store.buffer, ", ", index(store.at), ", ", given);
    const auto combined = [&](const char* how) {
      if (item_size(kernel_.buffers[store.buffer].dtype) > 8)
        fail(ErrorKind::NotImplemented, "[kernel] the CUDA dialect combines no elements of ",
             dtype_name(kernel_.buffers[store.buffer].dtype), " in place");
      return str(guard, "td_atomic<", place, ", [](", one, " x, ", one, " y) { return ", how,
                 "; });\n");
    };
    switch (store.mode) {
      case StoreMode::Write: return str(guard, "td_write<", place, ");\n");
      case StoreMode::Add:
        return str(guard, "td_write<", stored, ", ", one, ">(b", store.buffer, ", ",
                   index(store.at), ", td_read<", stored, ", ", one, ">(b", store.buffer, ", ",
                   index(store.at), ") + ", given, ");\n");
      case StoreMode::AtomicAdd: return str(guard, "td_atomic_add<", place, ");\n");
      case StoreMode::AtomicMul: return combined("x * y");
      case StoreMode::AtomicMax: return combined("td_maximum(x, y)");
      default: return combined("td_minimum(x, y)");
    }
  }
  std::string plain_steps(const std::vector<Step>& steps, const std::string& indent) const {
    std::vector<NodeId> roots;
    for (const Step& step : steps)
      for (NodeId root : roots_of(kernel_, step)) roots.push_back(root);
    const NamedNodes names(graph_, roots);
    std::string text = str(indent, "{\n", definitions(names, indent + "  "));
    for (const Step& step : steps)
      if (const auto* one = std::get_if<Store>(&step))
        text += indent + "  " +
                store(*one, names[one->value], one->mask >= 0 ? names[one->mask] : std::string());
    return text + indent + "}\n";
  }

  // The axes of a loop from one row-major index.
  std::string decoded(const std::vector<Axis>& axes, const std::string& from,
                      const std::string& indent) const {
    std::string text = axes.size() > 1 ? str(indent, "td_long rest = ", from, ";\n") : "";
    for (size_t i = axes.size(); i-- > 0;) {
      const std::string var = name(axes[i].var), extent = index(axes[i].extent);
      const std::string rest = axes.size() > 1 ? "rest" : from;
      text += str(indent, "const td_long ", var, " = ", i ? "td_take(rest, " + extent + ")" : rest,
                  ";\n", indent, "(void)", var, ";\n");
    }
    return text;
  }
  std::string total(const std::vector<Axis>& axes) const {
    std::string text = "(td_long)1";
    for (const Axis& axis : axes) text += " * " + index(axis.extent);
    return text;
  }

  // ---- one thread per element ----
  // Values of some elements are computed before any is stored, so that their loads overlap.
  bool can_run_ahead(const Loop& loop) const {
    for (const Step& step : loop.steps) {
      const auto* one = std::get_if<Store>(&step);
      if (!one || one->mode != StoreMode::Write || one->mask >= 0) return false;
      for (const Expr* symbol : symbolic::symbols_of(one->at))
        if (graph_.find_indirect(symbol)) return false;
    }
    return true;
  }
  // ---- packs of neighbours ----
  // How many neighbours 16 bytes hold, where every access of a loop over one axis is dense or does
  // not move, and memory is aligned to 16 bytes; 1 elsewhere.
  int pack_size(const Loop& loop) const {
    if (loop.axes.size() != 1 || !can_run_ahead(loop)) return 1;
    const Expr* var = loop.axes[0].var;
    int64_t widest = 1;
    const auto fits = [&](int buffer, const Expr* at) {
      const Expr* stride = stride_of(*kernel_.pool, at, var);
      if (!stride || stride->is_constant(0)) return stride != nullptr;
      widest = std::max(widest, item_size(kernel_.buffers[buffer].dtype));
      return at == var && kernel_.buffers[buffer].alignment >= 16;
    };
    for (const Step& step : loop.steps) {
      const auto& one = std::get<Store>(step);
      if (!fits(one.buffer, one.at) || one.at != var) return 1;
      for (NodeId id : graph_.reachable({one.value})) {
        const Node& node = graph_.node(id);
        if (node.op == Op::Load && (node.args[0] >= 0 || !fits(node.index, node.at))) return 1;
      }
    }
    return static_cast<int>(std::max<int64_t>(1, 16 / widest));
  }

  // Whether a node is drawn for all elements of a pack at once: they are neighbours in the stream
  // and fill its blocks, which begin at the same place for all of them.
  bool is_drawn_at_once(const Node& node, const Expr* var, int count) const {
    if (node.op != Op::Random || node.at != var) return false;
    if (count % elements_per_block(static_cast<Draw>(node.index)) != 0) return false;
    std::vector<NodeId> given;
    for (NodeId arg : node.args)
      if (arg >= 0) given.push_back(arg);
    const std::vector<NodeId> all = graph_.reachable(given);
    return std::all_of(all.begin(), all.end(), [&](NodeId id) {
      const Op op = graph_.node(id).op;
      return op != Op::Load && op != Op::Index && op != Op::Random && op != Op::State;
    });
  }
  // The arrays d0, d1, ... of the numbers that a pack draws at once.
  std::string drawn_at_once(const std::vector<NodeId>& roots, const Expr* var, int count) {
    std::string text;
    drawn_.clear();
    for (NodeId id : graph_.reachable(roots)) {
      const Node& node = graph_.node(id);
      if (!is_drawn_at_once(node, var, count)) continue;
      const std::string to = str("d", drawn_.size());
      drawn_.push_back(id);
      std::vector<NodeId> given;
      for (NodeId arg : node.args)
        if (arg >= 0) given.push_back(arg);
      const NamedNodes names(graph_, given);
      text += str("    ", value_type(node.type, Lanes::One), " ", to, "[", count, "];\n    {\n",
                  definitions(names, "      "), "      ",
                  random_text(
                      node, str("pack * ", count), [&](int i) { return names[node.args[i]]; }, to),
                  ";\n    }\n");
    }
    return text;
  }

  // The loads of a pack's elements come from registers.
  std::string packed_elements(const Loop& loop, int count) {
    const Axis& axis = loop.axes[0];
    std::vector<NodeId> roots;
    for (const Step& step : loop.steps) roots.push_back(std::get<Store>(step).value);
    std::vector<NodeId> loads;
    for (NodeId id : graph_.reachable(roots))
      if (graph_.node(id).op == Op::Load && graph_.node(id).at == axis.var) loads.push_back(id);
    const std::string n = index(axis.extent), var = name(axis.var);
    std::string text =
        str("  const td_long packs = ", n, " / ", count,
            ";\n  const td_long step = (td_long)gridDim.x * blockDim.x;\n"
            "  const td_long thread = (td_long)blockIdx.x * blockDim.x + threadIdx.x;\n"
            "  for (td_long pack = thread; pack < packs; pack += step) {\n");
    for (size_t i = 0; i < loads.size(); ++i) {
      const Node& node = graph_.node(loads[i]);
      text += str("    const auto l", i, " = td_read_pack<",
                  stored_name(kernel_.buffers[node.index].dtype), ", ", count, ">(b", node.index,
                  ", pack * ", count, ");\n");
    }
    text += drawn_at_once(roots, axis.var, count);
    for (size_t i = 0; i < roots.size(); ++i)
      text += str("    td_pack<", stored_name(kernel_.buffers[buffer_of(loop, i)].dtype), ", ",
                  count, "> r", i, ";\n");
    text += str("#pragma unroll\n    for (int u = 0; u < ", count, "; ++u) {\n      const td_long ",
                var, " = pack * ", count, " + u;\n      (void)", var, ";\n");
    const NamedNodes names(graph_, roots);
    packed_ = &loads;
    text += definitions(names, "      ");
    packed_ = nullptr;
    for (size_t i = 0; i < roots.size(); ++i)
      text +=
          str("      r", i, ".items[u] = ", stored_name(kernel_.buffers[buffer_of(loop, i)].dtype),
              "::to(", names[roots[i]], ");\n");
    text += "    }\n";
    for (size_t i = 0; i < roots.size(); ++i)
      text += str("    td_write_pack<", stored_name(kernel_.buffers[buffer_of(loop, i)].dtype),
                  ", ", count, ">(b", buffer_of(loop, i), ", pack * ", count, ", r", i, ");\n");
    // What is left of the last pack.
    text += str("  }\n  {\n    const td_long ", var, " = packs * ", count, " + thread;\n    if (",
                var, " < ", n, ")\n", plain_steps(loop.steps, "    "), "  }\n");
    return text;
  }
  static int buffer_of(const Loop& loop, size_t i) { return std::get<Store>(loop.steps[i]).buffer; }

  std::string elements(const Loop& loop) {
    if (const int pack = pack_size(loop); pack > 1) return packed_elements(loop, pack);
    const int count = can_run_ahead(loop) ? kElementsPerThread : 1;
    std::string text = str("  const td_long total = ", total(loop.axes),
                           ";\n  const td_long step = (td_long)gridDim.x * blockDim.x;\n"
                           "  for (td_long first = (td_long)blockIdx.x * blockDim.x + threadIdx.x; "
                           "first < total; first += ",
                           count, " * step) {\n");
    if (count == 1)
      return text + decoded(loop.axes, "first", "    ") + plain_steps(loop.steps, "    ") + "  }\n";
    std::vector<NodeId> roots;
    for (const Step& step : loop.steps) roots.push_back(std::get<Store>(step).value);
    for (size_t i = 0; i < roots.size(); ++i)
      text += str("    ", value_type(graph_.node(roots[i]).type, Lanes::One), " r", i, "[", count,
                  "];\n");
    const std::string each = str("#pragma unroll\n    for (int u = 0; u < ", count,
                                 "; ++u) {\n      const td_long at = first + u * step;\n"
                                 "      if (at >= total) break;\n");
    const NamedNodes names(graph_, roots);
    text += each + decoded(loop.axes, "at", "      ") + definitions(names, "      ");
    for (size_t i = 0; i < roots.size(); ++i)
      text += str("      r", i, "[u] = ", names[roots[i]], ";\n");
    text += "    }\n" + each + decoded(loop.axes, "at", "      ");
    for (size_t i = 0; i < roots.size(); ++i)
      text += "      " + store(std::get<Store>(loop.steps[i]), str("r", i, "[u]"), "");
    return text + "    }\n  }\n";
  }

  // ---- blocks over rows ----
  std::string rows(const Loop& loop, GridShape shape) {
    std::string text =
        str("  extern __shared__ char shared[];\n  const td_place at = ",
            shape == GridShape::Rows ? "td_rows_place()" : "td_columns_place()",
            ";\n  const td_long total = ", total(loop.axes),
            ";\n  for (td_long first = (td_long)blockIdx.x * at.slots; first < total; first += "
            "(td_long)gridDim.x * at.slots) {\n    const td_long row = first + at.slot;\n"
            "    const bool is_row = row < total;\n    const td_long here = is_row ? row : 0;\n");
    text += decoded(loop.axes, "here", "    ");
    std::vector<Step> alone;
    const auto flush = [&] {
      if (alone.empty()) return;
      text += "    if (is_row && at.lane == 0)\n" + plain_steps(alone, "    ");
      alone.clear();
    };
    for (const Step& step : loop.steps) {
      const auto* inner = std::get_if<Loop>(&step);
      if (!inner) {
        alone.push_back(step);
        continue;
      }
      flush();
      text += row_loop(*inner);
    }
    flush();
    return text + "    __syncthreads();\n  }\n";
  }

  std::string row_loop(const Loop& loop) {
    if (has_loops(loop.steps))
      fail(ErrorKind::NotImplemented,
           "[kernel] the CUDA dialect prints two loops in each other, "
           "not three");
    const Role role = loop.axes.back().role;
    if (role == Role::Reduced) return reduce_loop(loop);
    if (role == Role::Scanned) return scan_loop(loop);
    return str("    for (td_long i = is_row ? at.lane : ", total(loop.axes), "; i < ",
               total(loop.axes), "; i += at.lanes) {\n", decoded(loop.axes, "i", "      "),
               plain_steps(loop.steps, "      "), "    }\n");
  }

  std::string lifted(const ReduceBody& body, const std::vector<NodeId>& values, Part part,
                     const std::string& indent) {
    const NamedNodes names(graph_, values);
    std::string text = definitions(names, indent);
    const std::string type = bodies_.name(body, Lanes::One);
    text += str(indent, "return ", type, part == Part::Combining ? "::S{" : "::lift(");
    for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + names[values[i]];
    return text + (part == Part::Combining ? "};\n" : ");\n");
  }

  std::string reduce_loop(const Loop& loop) {
    std::string text;
    for (const Step& step : loop.steps) {
      const auto* reduce = std::get_if<Reduce>(&step);
      if (!reduce)
        fail(ErrorKind::NotImplemented,
             "[kernel] the CUDA dialect prints reductions alone in "
             "their loops");
      const std::string type = bodies_.name(*reduce->body, Lanes::One),
                        number = str(reduce->first_state);
      text += str("    const auto element", number, " = [&](td_long i) {\n",
                  decoded(loop.axes, "i", "      "),
                  lifted(*reduce->body, reduce->values, reduce->part, "      "), "    };\n");
      text += str("    const ", type, "::S tree", number, " = td_reduce_row<", type, ">(element",
                  number, ", is_row ? ", total(loop.axes), " : 0, at, shared);\n");
      const std::vector<Type> types = state_types(*reduce);
      for (size_t i = 0; i < types.size(); ++i)
        text += str("    const ", value_type(types[i], Lanes::One), " s", reduce->first_state + i,
                    " = ",
                    reduce->part == Part::Partial ? str("tree", number, ".p", i)
                                                  : str(type, "::finish", i, "(tree", number, ")"),
                    ";\n    (void)s", reduce->first_state + i, ";\n");
    }
    return text;
  }

  // Lanes take neighbouring elements, as many as there are at a time; what came before is carried.
  std::string scan_loop(const Loop& loop) {
    std::string text, steps;
    std::vector<Step> stores;
    const std::string n = total(loop.axes);
    text += "    {\n";
    for (const Step& step : loop.steps) {
      const auto* scan = std::get_if<Scan>(&step);
      if (!scan) {
        stores.push_back(step);
        continue;
      }
      const std::string type = bodies_.name(*scan->body, Lanes::One),
                        number = str(scan->first_state);
      text += str("      ", type, "::S carry", number, " = ", type, "::identity();\n");
      steps += str("        const auto element", number, " = [&] {\n",
                   lifted(*scan->body, scan->values, Part::Whole, "          "),
                   "        };\n        const ", type, "::S scan", number, " = td_scan_lanes<",
                   type, ">(is_here ? element", number, "() : ", type, "::identity(), carry",
                   number, ", at, shared);\n");
      for (size_t i = 0; i < scan->body->result_types.size(); ++i)
        steps += str("        const ", value_type(scan->body->result_types[i], Lanes::One), " s",
                     scan->first_state + i, " = ", type, "::finish", i, "(scan", number,
                     ");\n        (void)s", scan->first_state + i, ";\n");
    }
    text += str("      const td_long n = ", n,
                ";\n      for (td_long begin = 0; begin < n; begin += at.lanes) {\n"
                "        const td_long i = begin + at.lane;\n"
                "        const bool is_here = is_row && i < n;\n",
                decoded(loop.axes, "i", "        "), steps, "        if (is_here)\n",
                plain_steps(stores, "        "), "      }\n    }\n");
    return text;
  }

  const Kernel& kernel_;
  const ExprGraph& graph_;
  ReduceBodyPrinter bodies_;
  std::vector<CudaStage> stages_;
  const std::vector<NodeId>* packed_ = nullptr;  // loads of the pack that is printed
  std::vector<NodeId> drawn_;                    // and the numbers that it draws at once
};

}  // namespace

CudaKernel print_cuda_kernel(const Kernel& kernel) {
  verify(kernel);
  return CudaKernelPrinter(kernel).print();
}

}  // namespace taeda::kernel
