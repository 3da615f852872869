// The rules of the kernel IR.
//
// A walk over the loops in program order that knows at each step which symbols are in scope, which
// states are finished, and which elements of the running stage were written.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "taeda/base/error.h"
#include "taeda/base/str.h"
#include "taeda/kernel/ir/kernel.h"
#include "taeda/kernel/ir/rewrite.h"
#include "taeda/symbolic/polynomial.h"

namespace taeda::kernel {

namespace {

bool is_identifier(const std::string& name) {
  auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
  auto is_part = [&](char c) {
    return is_letter(c) || std::isdigit(static_cast<unsigned char>(c));
  };
  return !name.empty() && is_letter(name[0]) && std::all_of(name.begin(), name.end(), is_part);
}

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel) : kernel_(kernel), graph_(kernel.values) {}

  void run() {
    check(is_identifier(kernel_.name), "'", kernel_.name, "' is no name of a kernel");
    for (const Expr* param : kernel_.params) declare(param, "parameter");
    check_buffers();
    bool has_loop = false;
    for (const Step& step : kernel_.steps) {
      const bool is_loop = std::holds_alternative<Loop>(step);
      check(is_loop || std::holds_alternative<Barrier>(step), kernel_.name,
            " has a step outside of all loops");
      has_loop |= is_loop;
      if (is_loop)
        visit(std::get<Loop>(step));
      else
        written_.clear();
    }
    check(has_loop, kernel_.name, " has no loop");
  }

 private:
  template <class... Parts>
  static void check(bool is_right, const Parts&... parts) {
    if (!is_right) fail(ErrorKind::Value, "[kernel] ", parts...);
  }
  template <class... Parts>
  static void check_type(bool is_right, const Parts&... parts) {
    if (!is_right) fail(ErrorKind::Type, "[kernel] ", parts...);
  }

  void declare(const Expr* symbol, const char* what) {
    check(symbol && symbol->is_symbol(), "a ", what, " of ", kernel_.name, " is no symbol");
    check(is_identifier(symbol->name), "'", symbol->name, "' is no name of a ", what);
    check(!graph_.find_indirect(symbol), symbol->name, " stands for a value and is declared as ",
          what);
    check(scope_.insert(symbol).second, symbol->name, " is declared twice");
  }

  void check_buffers() {
    std::set<std::string> names;
    for (const Buffer& buffer : kernel_.buffers) {
      check(is_identifier(buffer.name), "'", buffer.name, "' is no name of a buffer");
      check(names.insert(buffer.name).second, "two buffers are called ", buffer.name);
      check_type(buffer.dtype != DType::Undefined, "buffer ", buffer.name, " has no dtype");
      check(buffer.numel, "buffer ", buffer.name, " has no size");
      check_scope(buffer.numel, str("the size of buffer ", buffer.name));
      check(buffer.alignment >= 0 && (buffer.alignment & (buffer.alignment - 1)) == 0,
            "the alignment of buffer ", buffer.name, " is no power of two: got ", buffer.alignment);
    }
  }

  void check_scope(const Expr* e, const std::string& what) const {
    check_type(e->kind == SymKind::Int, what, " is no integer: ", symbolic::text_of(e));
    for (const Expr* symbol : symbolic::symbols_of(e))
      check(scope_.count(symbol) || graph_.find_indirect(symbol), what, " uses ", symbol->name,
            ", which is not in scope");
  }

  const Buffer& buffer_at(int buffer) const {
    check(buffer >= 0 && buffer < static_cast<int>(kernel_.buffers.size()), kernel_.name,
          " accesses buffer ", buffer, " of ", kernel_.buffers.size());
    return kernel_.buffers[buffer];
  }

  // Where a mask does not hold, and in a loop that runs never, the index may be anything.
  void check_index(const Expr* at, const Buffer& buffer, bool is_masked) const {
    check(at, "an access of ", buffer.name, " has no index");
    check_scope(at, str("an index of ", buffer.name));
    if (is_masked) return;
    for (const Expr* symbol : symbolic::symbols_of(at))
      if (const Axis* axis = find_axis(symbol); axis && axis->extent->is_constant(0)) return;
    check(at->range.hi >= 0, "an index of ", buffer.name, " is negative: ", symbolic::text_of(at));
  }

  // The values that an index takes where the axes around it have constant extents.
  symbolic::IntRange range_here(const Expr* e) const {
    if (const Axis* axis = e->is_symbol() ? find_axis(e) : nullptr)
      return axis->extent->is_constant() ? symbolic::IntRange{0, axis->extent->value.integer - 1}
                                         : e->range;
    if (e->is_symbol() || e->is_constant()) return e->range;
    std::vector<symbolic::IntRange> args;
    for (const Expr* arg : e->args) args.push_back(range_here(arg));
    return symbolic::range_of_op(e, args);
  }

  // The greatest value of an index here. Its axes end where their extents say, whatever sizes those
  // are made of: i + m stays below n for i < n - m.
  int64_t last_of(const Expr* at) const {
    const Expr* last = at;
    for (auto axis = around_.rbegin(); axis != around_.rend(); ++axis) {
      const Expr* stride = stride_of(*kernel_.pool, last, (*axis)->var);
      if (!stride || stride->range.lo < 0) return range_here(at).hi;
      const Expr* end = kernel_.pool->subtract((*axis)->extent, kernel_.pool->integer(1));
      last = symbolic::substitute(*kernel_.pool, last, {{(*axis)->var, end}});
    }
    return std::min(range_here(at).hi, last->range.hi);
  }

  // Everything under the roots can be computed here.
  void check_values(const std::vector<NodeId>& roots) const {
    for (NodeId root : roots)
      check(root >= 0 && root < graph_.size(), kernel_.name, " uses value ", root, " of ",
            graph_.size());
    for (NodeId id : graph_.reachable(roots)) check_node(graph_.node(id));
  }

  void check_node(const Node& node) const {
    switch (node.op) {
      case Op::Input:
        check(false, kernel_.name, " reads input ", node.index, ", which nothing fills");
        break;
      case Op::Load: {
        const Buffer& buffer = buffer_at(node.index);
        check_type(holds(buffer.dtype, node.type), "buffer ", buffer.name, " of ",
                   dtype_name(buffer.dtype), " is read as ", type_name(node.type));
        check_index(node.at, buffer, node.args[0] >= 0);
        check_indirect(node.at);
        check_overlap(node.index, node.at);
        break;
      }
      case Op::Index:
      case Op::Random: check_scope(node.at, "the value of an index"); break;
      case Op::State: {
        auto place = states_.find(node.index);
        check(place != states_.end(), kernel_.name, " reads state ", node.index,
              " before it is computed");
        check_type(place->second == node.type, "state ", node.index, " is ",
                   type_name(place->second), ", read as ", type_name(node.type));
        break;
      }
      default: break;
    }
  }

  void check_indirect(const Expr* at) const {
    for (const Expr* symbol : symbolic::symbols_of(at))
      if (const Indirect* one = graph_.find_indirect(symbol))
        check_scope(one->extent, str("the range of ", symbol->name));
  }

  // A stage reads what it writes at the same index only, or in memory of its own.
  void check_overlap(int buffer, const Expr* at) const {
    if (kernel_.buffers[buffer].space == Space::Local) return;
    const auto check_places = [&](int other, const std::set<const Expr*>& places) {
      for (const Expr* place : places)
        check(buffer == other && place == at, kernel_.name, " reads ", name_of(buffer), "[",
              symbolic::text_of(at), "] and writes ", name_of(other), "[", symbolic::text_of(place),
              "] in one stage; put a barrier between them");
    };
    if (kernel_.buffers[buffer].alias_class < 0) {
      const auto own = written_.find(buffer);
      if (own != written_.end()) check_places(buffer, own->second);
      return;
    }
    for (const auto& [other, places] : written_)
      if (may_overlap(buffer, other)) check_places(other, places);
  }

  bool may_overlap(int a, int b) const {
    const int left = kernel_.buffers[a].alias_class;
    return a == b || (left >= 0 && left == kernel_.buffers[b].alias_class);
  }
  const std::string& name_of(int buffer) const { return kernel_.buffers[buffer].name; }

  void visit(const Loop& loop) {
    check(!loop.axes.empty(), "a loop of ", kernel_.name, " has no axis");
    check(!loop.steps.empty(), "a loop of ", kernel_.name, " does nothing");
    const bool is_outermost = around_.empty();
    for (size_t i = 0; i < loop.axes.size(); ++i) {
      const Axis& axis = loop.axes[i];
      check(axis.extent, "an axis of ", kernel_.name, " has no extent");
      check_scope(axis.extent, "an extent");
      declare(axis.var, "axis");
      check_binding(loop, i, is_outermost);
      around_.push_back(&axis);
    }
    check_reduced(loop);
    const Loop* outer = std::exchange(loop_, &loop);
    for (const Step& step : loop.steps) visit_step(step);
    loop_ = outer;
    for (const Step& step : loop.steps) finish_states(step);
    around_.resize(around_.size() - loop.axes.size());
    for (const Axis& axis : loop.axes) scope_.erase(axis.var);
    for (const Axis& axis : loop.axes) drop_running(axis.var);
  }

  void check_binding(const Loop& loop, size_t i, bool is_outermost) const {
    const Axis& axis = loop.axes[i];
    const std::string& name = axis.var->name;
    switch (axis.binding) {
      case Binding::Parallel:
        check(is_outermost && i <= 1 && loop.axes[0].binding == Binding::Parallel, "axis ", name,
              " is parallel inside of another axis");
        check(i == 0 || is_of_params(kernel_, axis.extent), "axis ", name,
              " is parallel, and its extent moves with ", loop.axes[0].var->name);
        check(axis.role == Role::Kept, "axis ", name, " is ", role_name(axis.role),
              " and parallel; split it into partial results");
        break;
      case Binding::Vector:
        check(i + 1 == loop.axes.size() && has_only_serial_loops(loop), "axis ", name,
              " is a vector, but not the innermost one");
        check(axis.role != Role::Scanned, "axis ", name, " is scanned and a vector");
        break;
      case Binding::Unroll:
        check(axis.extent->is_constant(), "axis ", name,
              " is unrolled, but has no constant extent");
        break;
      default: break;
    }
  }

  // Loops inside of a vector run for each lane by itself.
  static bool has_only_serial_loops(const Loop& loop) {
    return std::all_of(loop.steps.begin(), loop.steps.end(), [](const Step& step) {
      const auto* inner = std::get_if<Loop>(&step);
      if (!inner) return true;
      for (const Step& inside : inner->steps)
        if (std::holds_alternative<Loop>(inside)) return false;
      return std::all_of(inner->axes.begin(), inner->axes.end(), [](const Axis& axis) {
        return axis.role != Role::Scanned && axis.binding == Binding::Serial;
      });
    });
  }

  void check_reduced(const Loop& loop) const {
    for (const Axis& axis : loop.axes) {
      if (axis.role == Role::Kept) continue;
      const bool is_used = std::any_of(loop.steps.begin(), loop.steps.end(), [&](const Step& step) {
        if (const auto* reduce = std::get_if<Reduce>(&step))
          return std::count(reduce->axes.begin(), reduce->axes.end(), axis.var) != 0;
        const auto* scan = std::get_if<Scan>(&step);
        return scan && scan->axis == axis.var;
      });
      check(is_used, "axis ", axis.var->name, " is ", role_name(axis.role),
            ", but nothing in its loop combines along it");
    }
  }

  void visit_step(const Step& step) {
    check(!std::holds_alternative<Barrier>(step), kernel_.name, " has a barrier inside of a loop");
    if (const auto* loop = std::get_if<Loop>(&step)) return visit(*loop);
    check_values(roots_of(kernel_, step));
    if (const auto* store = std::get_if<Store>(&step)) visit_store(*store);
    if (const auto* reduce = std::get_if<Reduce>(&step)) visit_reduce(*reduce);
    if (const auto* scan = std::get_if<Scan>(&step)) visit_scan(*scan);
    if (const auto* one = std::get_if<Check>(&step)) {
      check(graph_.find_indirect(one->symbol), "a check of ", kernel_.name,
            " tests a symbol that stands for no value");
      check_indirect(one->symbol);
    }
  }

  void visit_store(const Store& store) {
    const Buffer& buffer = buffer_at(store.buffer);
    check_index(store.at, buffer, store.mask >= 0);
    check_indirect(store.at);
    const Type type = graph_.node(store.value).type;
    check_type(holds(buffer.dtype, type), kernel_.name, " stores ", type_name(type),
               " into buffer ", buffer.name, " of ", dtype_name(buffer.dtype));
    if (store.mask < 0 && buffer.numel->is_constant()) {
      const int64_t last = last_of(store.at), size = buffer.numel->value.integer;
      // No iteration stores into a buffer without elements.
      check(symbolic::is_infinite(last) || last < size || size == 0, kernel_.name, " stores into ",
            buffer.name, " at ", symbolic::text_of(store.at), ", which reaches ", last, " of ",
            size, " elements");
    }
    if (store.mask >= 0)
      check_type(graph_.node(store.mask).type == Type::Mask, "a store into ", buffer.name,
                 " is masked by ", type_name(graph_.node(store.mask).type));
    check_type(store.mode == StoreMode::Write || type != Type::Mask, "masks of ", buffer.name,
               " cannot be accumulated");
    check_type((store.mode != StoreMode::AtomicMax && store.mode != StoreMode::AtomicMin) ||
                   !is_complex(type),
               "complex numbers of ", buffer.name, " have no order");
    if (store.mode == StoreMode::Write || store.mode == StoreMode::Add) check_owner(store, buffer);
    for (const auto& [other, places] : written_) {
      if (!may_overlap(store.buffer, other) || buffer.space == Space::Local) continue;
      for (const Expr* place : places)
        check(store.buffer == other && place == store.at, kernel_.name, " writes ",
              name_of(store.buffer), " at ", symbolic::text_of(store.at), " and ", name_of(other),
              " at ", symbolic::text_of(place), " in one stage");
    }
    written_[store.buffer].insert(store.at);
  }

  // No two iterations may write the same element. Refused is what the kernel alone shows: an axis
  // that does not move the index, two axes that meet in one element, and sums that several threads
  // add to where they were read from. Whether symbolic strides overlap, the launch decides; which
  // of several writes through a read index stays is not defined, as in eager.
  void check_owner(const Store& store, const Buffer& buffer) const {
    const std::vector<const Expr*> used = symbolic::symbols_of(store.at);
    const bool is_indirect = std::any_of(used.begin(), used.end(), [&](const Expr* symbol) {
      return graph_.find_indirect(symbol) != nullptr;
    });
    for (const Axis* axis : around_) {
      const bool is_moved = std::count(used.begin(), used.end(), axis->var) != 0;
      // The lanes of a vector share a local buffer.
      const bool is_local = buffer.space == Space::Local && axis->binding != Binding::Vector;
      const bool may_repeat = is_local || is_indirect || axis->extent->is_constant(1);
      check(is_moved || may_repeat, kernel_.name, " stores into ", buffer.name, " along ",
            role_name(axis->role), " axis ", axis->var->name, ", which does not move its index ",
            symbolic::text_of(store.at));
      const bool is_shared = axis->binding != Binding::Serial && axis->binding != Binding::Unroll;
      // Iterations of an axis that moves the index itself have elements of their own.
      const bool may_meet = is_indirect && is_shared && !is_moved;
      check(!may_meet || store.mode != StoreMode::Add || is_local, kernel_.name, " adds to ",
            buffer.name, " through a read index along axis ", axis->var->name,
            ", whose iterations run at once; make the sum atomic");
    }
    if (store.mask < 0 && !is_indirect && buffer.space != Space::Local)
      check_meeting(store, buffer);
  }

  // The number by which a step of the axis moves an index; none where it depends on other things.
  static std::optional<int64_t> step_of(const Axis& axis, const symbolic::Polynomial& index) {
    std::optional<int64_t> step;
    for (const symbolic::Term& term : index)
      for (const symbolic::Factor& factor : term.factors) {
        const std::vector<const Expr*> inside = symbolic::symbols_of(factor.atom);
        if (std::count(inside.begin(), inside.end(), axis.var) == 0) continue;
        if (factor.atom != axis.var || factor.exponent != 1 || term.factors.size() != 1)
          return std::nullopt;
        step = term.coefficient;
      }
    return step;
  }

  // Steps a and b of two axes meet after b / g and a / g of them, g the greatest common divisor,
  // where both axes are that long.
  void check_meeting(const Store& store, const Buffer& buffer) const {
    const symbolic::Polynomial index = symbolic::polynomial_of(store.at);
    // A parameter that is a size is longer than one; of other expressions their range tells.
    const auto is_longer = [](const Axis& axis, int64_t count) {
      const bool is_size = axis.extent->is_symbol() && axis.extent->range.lo >= 0;
      return is_size ? count == 1 : axis.extent->range.lo > count;
    };
    for (size_t i = 0; i < around_.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        const std::optional<int64_t> a = step_of(*around_[i], index),
                                     b = step_of(*around_[j], index);
        if (!a || !b || *a <= 0 || *b <= 0) continue;
        const int64_t shared = std::gcd(*a, *b);
        check(!is_longer(*around_[i], *b / shared) || !is_longer(*around_[j], *a / shared),
              kernel_.name, " stores into ", buffer.name, " twice at one place: axes ",
              around_[j]->var->name, " and ", around_[i]->var->name, " meet in ",
              symbolic::text_of(store.at));
      }
  }

  const Axis* find_axis(const Expr* var) const {
    for (const Axis* axis : around_)
      if (axis->var == var) return axis;
    return nullptr;
  }

  void check_operands(const ReduceBody& body, const std::vector<Type>& expected,
                      const std::vector<NodeId>& values) const {
    check(values.size() == expected.size(), body.name, " of ", kernel_.name, " takes ",
          expected.size(), " values: got ", values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const Type type = graph_.node(values[i]).type;
      check_type(type == expected[i], body.name, " of ", kernel_.name, " takes ",
                 type_name(expected[i]), ": got ", type_name(type));
    }
  }

  void visit_reduce(const Reduce& reduce) {
    check(reduce.body, "a reduction of ", kernel_.name, " has no body");
    check_operands(
        *reduce.body,
        reduce.part == Part::Combining ? reduce.body->state_types : reduce.body->value_types,
        reduce.values);
    check(!reduce.axes.empty(), reduce.body->name, " of ", kernel_.name, " has no axis");
    for (const Expr* var : reduce.axes) {
      const Axis* axis = find_axis(var);
      check(axis && axis->role == Role::Reduced, reduce.body->name, " of ", kernel_.name,
            " runs over ", var->name, ", which is no reduced axis around it");
    }
    check(std::equal(reduce.axes.begin(), reduce.axes.end(), loop_->axes.begin(), loop_->axes.end(),
                     [](const Expr* var, const Axis& axis) { return axis.var == var; }),
          reduce.body->name, " of ", kernel_.name, " does not run over the axes of its loop");
    claim_states(reduce.first_state, state_types(reduce));
  }

  void visit_scan(const Scan& scan) {
    check(scan.body, "a scan of ", kernel_.name, " has no body");
    check_operands(*scan.body, scan.body->value_types, scan.values);
    const Axis* axis = find_axis(scan.axis);
    check(axis && axis->role == Role::Scanned, scan.body->name, " of ", kernel_.name,
          " runs along ", scan.axis->name, ", which is no scanned axis around it");
    check(axis == around_.back(), "the scanned axis ", scan.axis->name,
          " is not the innermost one");
    claim_states(scan.first_state, scan.body->result_types);
    add_states(scan.first_state, scan.body->result_types);
    running_[scan.axis].push_back(scan.first_state);
  }

  void claim_states(int first, const std::vector<Type>& types) {
    for (size_t i = 0; i < types.size(); ++i)
      check(claimed_.insert(first + static_cast<int>(i)).second, "state ", first + i, " of ",
            kernel_.name, " has two sources");
  }
  void add_states(int first, const std::vector<Type>& types) {
    for (size_t i = 0; i < types.size(); ++i) states_[first + static_cast<int>(i)] = types[i];
  }
  // Results of a reduction are there when its loop has ended; those of a scan no longer.
  void finish_states(const Step& step) {
    if (const auto* reduce = std::get_if<Reduce>(&step))
      add_states(reduce->first_state, state_types(*reduce));
  }
  void drop_running(const Expr* var) {
    auto place = running_.find(var);
    if (place == running_.end()) return;
    for (int state : place->second) states_.erase(state);
    running_.erase(place);
  }

  const Kernel& kernel_;
  const ExprGraph& graph_;
  std::set<const Expr*> scope_;
  std::vector<const Axis*> around_;
  const Loop* loop_ = nullptr;  // the innermost one
  std::map<int, Type> states_;  // finished, or running in this loop
  std::set<int> claimed_;
  std::map<const Expr*, std::vector<int>> running_;  // scans by their axis
  std::map<int, std::set<const Expr*>> written_;     // of this stage, by buffer
};

}  // namespace

void verify(const Kernel& kernel) { Verifier(kernel).run(); }

}  // namespace taeda::kernel
