// Plans a unit: values in the order of the DAG, chains of them, memory of their tiles.
#include <algorithm>

#include "taeda/base/error.h"
#include "taeda/kernel/interpret/tile_placer.h"
#include "taeda/kernel/interpret/unit.h"

namespace taeda::kernel {

namespace {

constexpr size_t kMaxChain = 40, kMaxFolds = 8;

// Whether memory holds values of a type as tiles do.
bool is_plain(DType dtype, Type type, const StoragePrimitives& storage) {
  return dtype != DType::Bool && !storage.round && item_size(dtype) == type_size(type);
}

}  // namespace

class UnitPlanner {
 public:
  UnitPlanner(Unit& unit, PlanContext& context, const UnitAxes& axes, const std::set<int>& tiled)
      : unit_(unit),
        context_(context),
        kernel_(context.kernel),
        graph_(context.kernel.values),
        axes_(axes),
        places_(context.places),
        tiled_(tiled) {
    if (axes.along) moving_.insert(axes.along);
  }

  void plan(Span<Step> steps) {
    std::vector<NodeId> roots;
    for (const Step& step : steps)
      for (NodeId root : roots_of(kernel_, step)) roots.push_back(root);
    for (NodeId id : graph_.reachable(roots)) plan_value(id);
    for (const Step& step : steps) {
      if (const auto* store = std::get_if<Store>(&step)) plan_store(*store);
      if (const auto* reduce = std::get_if<Reduce>(&step))
        plan_body(*reduce->body, reduce->values, reduce->first_state, reduce->part,
                  unit_.reductions_);
      if (const auto* scan = std::get_if<Scan>(&step))
        plan_body(*scan->body, scan->values, scan->first_state, Part::Whole, unit_.scans_);
    }
    for (size_t v = 0; v < values().size(); ++v) plan_step(static_cast<int>(v));
    std::erase_if(unit_.steps_, [&](const TileStep& s) { return values()[s.value].is_absorbed; });
    for (ReducePlan& plan : unit_.reductions_) chain_reduction(plan);
    for (StorePlan& store : unit_.stores_) plan_direct(store);
    copy_what_is_overwritten();
    TilePlacer(unit_, context_.scratch_bytes).place();
  }

 private:
  std::vector<ValuePlan>& values() { return unit_.values_; }

  // ---- values ----
  bool moves(const Expr* at) const {
    for (const Expr* symbol : symbolic::symbols_of(at))
      if (moving_.count(symbol)) return true;
    return false;
  }

  // Whether the index is a sum of multiples of what moves along the tile.
  bool plan_parts(const Expr* at, AccessPlan& access) {
    ExprPool& pool = *kernel_.pool;
    const auto factor_of = [&](const Expr* symbol) {
      const Expr* factor = stride_of(pool, at, symbol);
      return factor && !moves(factor) ? factor : nullptr;
    };
    const std::vector<const Expr*> symbols = symbolic::symbols_of(at);
    for (size_t i = 0; i < unit_.indirects_.size(); ++i) {
      const Expr* symbol = graph_.indirects()[unit_.indirects_[i].number - 1].symbol;
      if (!moving_.count(symbol) || !std::count(symbols.begin(), symbols.end(), symbol)) continue;
      const Expr* factor = factor_of(symbol);
      if (!factor) return false;
      access.parts.push_back({static_cast<int>(i), places_.program(factor)});
    }
    if (access.parts.empty()) return false;
    const Expr* step = axes_.along ? factor_of(axes_.along) : pool.integer(0);
    if (step) access.stride = places_.program(step);
    return step != nullptr;
  }

  // The index, and the stride along the axis where it is the same for every element.
  void plan_index(const Expr* at, AccessPlan& access) {
    access.at = places_.program(at);
    ExprPool& pool = *kernel_.pool;
    if (axes_.line) access.line_stride = places_.program(stride_of(pool, at, axes_.line));
    access.is_sum = plan_parts(at, access);
    for (const Expr* symbol : symbolic::symbols_of(at))
      if (symbol != axes_.along && moving_.count(symbol)) return;
    const Expr* step = axes_.along ? stride_of(pool, at, axes_.along) : pool.integer(0);
    if (!step) return;
    access.is_even = true;
    access.is_dense = step->is_constant(1);
    access.stride = places_.program(step);
  }

  void plan_access(int buffer, Type type, const Expr* at, AccessPlan& access) {
    const DType dtype = kernel_.buffers[buffer].dtype;
    plan_index(at, access);
    access.is_private = axes_.line && context_.private_locals.count(buffer) != 0;
    if (access.is_private) access.line_stride = places_.program(kernel_.buffers[buffer].numel);
    access.buffer = buffer;
    access.item = item_size(dtype);
    access.storage = &find_storage(dtype, type);
    access.is_plain = is_plain(dtype, type, *access.storage);
  }

  Pace pace_of(const Node& node) const {
    const bool is_tiled = node.op == Op::State && tiled_.count(node.index) && !axes_.line;
    if ((node.at && moves(node.at)) || is_tiled) return Pace::Tile;
    return node.at || node.op == Op::State ? Pace::Position : Pace::Launch;
  }

  // Real numbers and masks take any operands; integers may not.
  bool can_be_padded(const Node& node) const {
    auto is_fine = [](Type type) {
      return type == Type::F32 || type == Type::F64 || type == Type::Mask;
    };
    return is_fine(node.type) && std::all_of(node.args, node.args + 3, [&](NodeId arg) {
             return arg < 0 || is_fine(graph_.node(arg).type);
           });
  }

  void plan_value(NodeId id) {
    const Node& node = graph_.node(id);
    ValuePlan value;
    value.op = node.op;
    value.type = node.type;
    value.size = type_size(node.type);
    value.bits[0] = node.bits[0];
    value.bits[1] = node.bits[1];
    value.index = node.index;
    value.pace = pace_of(node);
    value.is_lined = axes_.line && node.op == Op::State && tiled_.count(node.index);
    for (int i = 0; i < 3 && node.args[i] >= 0; ++i) {
      value.args[i] = number_.at(node.args[i]);
      value.pace = std::max(value.pace, values()[value.args[i]].pace);
      ++values()[value.args[i]].uses;
    }
    value.is_padded = can_be_padded(node);
    find_primitives(node, value);
    plan_indirects(id, value);
    const int number = static_cast<int>(values().size());
    if (value.pace == Pace::Launch) unit_.launch_.push_back(number);
    if (value.pace == Pace::Position) unit_.position_.push_back(number);
    if (!value.is_moving())
      value.offset = take_scratch(context_.scratch_bytes, kMaxLines * value.size);
    number_[id] = number;
    values().push_back(std::move(value));
  }

  void find_primitives(const Node& node, ValuePlan& value) {
    if (node.op == Op::Load) {
      plan_access(node.index, node.type, node.at, value.access);
      value.dense_load = find_dense_load(kernel_.buffers[node.index].dtype, node.type);
    } else if (node.at) {
      plan_index(node.at, value.access);
    } else if (node.op == Op::Round) {
      value.run = find_storage(static_cast<DType>(node.index), node.type).round;
    } else if (node.op == Op::Cast) {
      value.run = find_cast(graph_.node(node.args[0]).type, node.type);
    } else if (op_form(node.op)) {
      const Type from = graph_.node(node.args[node.op == Op::Where ? 1 : 0]).type;
      value.run = find_primitive(node.op, from);
      TAEDA_CHECK(value.run, "[kernel] no primitive for ", op_name(node.op), " of ",
                  type_name(from));
    }
  }

  void plan_indirects(NodeId id, ValuePlan& value) {
    for (size_t k = 0; k < graph_.indirects().size(); ++k) {
      const Indirect& one = graph_.indirects()[k];
      if (one.value != id) continue;
      value.indirects.push_back(static_cast<int>(unit_.indirects_.size()));
      ++value.uses;
      unit_.indirects_.push_back({static_cast<int>(values().size()), places_.of(one.symbol),
                                  one.wraps, places_.program(one.extent), static_cast<int>(k) + 1,
                                  take_scratch(context_.scratch_bytes, kTile * 8)});
      if (value.is_moving()) moving_.insert(one.symbol);
    }
  }

  void plan_store(const Store& store) {
    const Type type = graph_.node(store.value).type;
    StorePlan plan;
    plan.value = number_.at(store.value);
    ++values()[plan.value].uses;
    if (store.mask >= 0) plan.mask = number_.at(store.mask);
    if (store.mask >= 0) ++values()[plan.mask].uses;
    plan.mode = store.mode;
    plan_access(store.buffer, type, store.at, plan.access);
    plan.dense_store = find_dense_store(kernel_.buffers[store.buffer].dtype, type);
    const Op combine = store.mode == StoreMode::AtomicMul   ? Op::Mul
                       : store.mode == StoreMode::AtomicMax ? Op::Maximum
                       : store.mode == StoreMode::AtomicMin ? Op::Minimum
                                                            : Op::Add;
    if (store.mode != StoreMode::Write) plan.combine = find_primitive(combine, type);
    unit_.stores_.push_back(std::move(plan));
  }

  void plan_body(const ReduceBody& body, const std::vector<NodeId>& nodes, int first, Part part,
                 std::vector<ReducePlan>& plans) {
    ReducePlan plan{&body,
                    {},
                    first,
                    part,
                    static_cast<int>(context_.bodies.size()),
                    BodyProgram(body, body.lift),
                    BodyProgram(body, body.combine),
                    BodyProgram(body, body.finish),
                    0,
                    0,
                    false};
    context_.bodies.push_back(&body);
    for (NodeId id : nodes) {
      plan.values.push_back(number_.at(id));
      ++values()[plan.values.back()].uses;
    }
    plan.lift_offset = take_scratch(context_.scratch_bytes, plan.lift.scratch_bytes());
    plan.finish_offset = take_scratch(context_.scratch_bytes, plan.finish.scratch_bytes());
    plans.push_back(std::move(plan));
  }

  // ---- chains ----
  // The step that ends in a value; null where it has none or ends elsewhere now.
  TileStep* step_of(int value) {
    for (TileStep& step : unit_.steps_)
      if (step.value == value) return &step;
    return nullptr;
  }

  static bool is_square(const ValuePlan& value) {
    return value.op == Op::Mul && value.args[0] == value.args[1];
  }

  bool find_part(const ValuePlan& value, int side, ChainPart* part) {
    if (value.op == Op::Round) {
      part->op = ChainOp::RoundBFloat16;
      return static_cast<DType>(value.index) == DType::BFloat16;
    }
    return value.num_args() <= 2 && find_chain_op(value.op, side, &part->op);
  }

  void plan_step(int v) {
    const ValuePlan& value = values()[v];
    if (!value.is_moving()) return;
    TileStep step{v};
    const ChainPrimitive chain = find_chain(value.type);
    int best = -1;
    for (int side = 0; side < value.num_args() && chain; ++side) {
      const ValuePlan& arg = values()[value.args[side]];
      ChainPart part;
      if (!arg.is_moving() || arg.type != value.type || !find_part(value, side, &part)) continue;
      const bool goes_on = can_continue(value.args[side], is_square(value) ? 2 : 1);
      if (best < 0 || goes_on) best = side;
      if (goes_on) break;
    }
    if (best >= 0) plan_chain(v, best, chain, step);
    unit_.steps_.push_back(std::move(step));
  }

  // Whether a chain that ends in a value may go on: nothing else reads the value.
  bool can_continue(int value, int uses) {
    const TileStep* step = step_of(value);
    return values()[value].uses == uses && step && step->chain && step->parts.size() < kMaxChain;
  }

  // A load of bfloat16 that only this chain reads is converted in registers.
  ChainOperand absorb(int operand, int uses) {
    ValuePlan& value = values()[operand];
    const bool is_short = value.op == Op::Load && value.uses == uses && value.args[0] < 0 &&
                          value.access.is_dense &&
                          kernel_.buffers[value.index].dtype == DType::BFloat16;
    value.is_absorbed |= is_short;
    return is_short ? ChainOperand::BFloat16 : ChainOperand::Tile;
  }

  void plan_chain(int v, int side, ChainPrimitive chain, TileStep& step) {
    const ValuePlan& value = values()[v];
    const int left = value.args[side];
    ValuePlan& arg = values()[left];
    const int uses = is_square(value) ? 2 : 1;
    if (can_continue(left, uses)) {
      step.parts = step_of(left)->parts;
      arg.is_absorbed = true;
    } else {
      step.parts.push_back({ChainOp::Load, absorb(left, uses), left});
    }
    ChainPart part{ChainOp::Load, ChainOperand::Uniform, -1};
    find_part(value, side, &part);
    if (is_square(value)) {
      part.op = ChainOp::Square;
    } else if (value.num_args() == 2) {
      part.operand = value.args[1 - side];
      part.kind =
          values()[part.operand].is_moving() ? absorb(part.operand, 1) : ChainOperand::Uniform;
    }
    step.parts.push_back(part);
    step.chain = chain;
  }

  // A reduction of neighbours is folded by the chain that ends in its value, or by one of its own.
  void chain_reduction(ReducePlan& plan) {
    const int v = plan.values[0];
    ValuePlan& value = values()[v];
    ChainPart fold{ChainOp::Load, ChainOperand::Lanes, plan.number};
    if (!axes_.is_one_run || plan.part == Part::Combining || !value.is_moving() ||
        !find_chain_fold(*plan.body, &fold.op) || value.type != plan.body->type)
      return;
    plan.is_chained = true;
    TileStep* step = step_of(v);
    if (!step->chain && absorb(v, 1) == ChainOperand::BFloat16) {
      value.is_absorbed = false;  // by a step of another value
      step->chain = find_chain(value.type);
      step->parts = {{ChainOp::Load, ChainOperand::BFloat16, v}};
    }
    if (!step->chain || step->folds.size() == kMaxFolds) {
      unit_.steps_.push_back(
          {v, find_chain(value.type), {{ChainOp::Load, ChainOperand::Tile, v}}, {fold}, false});
      return;
    }
    step->folds.push_back(fold);
    step->is_stored = --value.uses > 0;
  }

  // Results are computed into memory where no later step reads it.
  void plan_direct(StorePlan& store) {
    ValuePlan& value = values()[store.value];
    const TileStep* step = step_of(store.value);
    const bool has_form = step && (step->chain || value.run);
    const bool is_short = kernel_.buffers[store.access.buffer].dtype == DType::BFloat16;
    if (!has_form || value.uses != 1 || !store.access.is_dense || store.mask >= 0 ||
        store.mode != StoreMode::Write)
      return;
    if (!store.access.is_plain && !(is_short && step->chain)) return;
    const bool is_last = step == &unit_.steps_.back() && unit_.stores_.size() == 1 &&
                         unit_.reductions_.empty() && unit_.scans_.empty();
    if (!is_last && is_read(store.access.buffer)) return;
    store.is_direct = true;
    value.store = static_cast<int>(&store - unit_.stores_.data());
  }

  bool may_overlap(int a, int b) const {
    const int alias = kernel_.buffers[a].alias_class;
    return a == b || (alias >= 0 && alias == kernel_.buffers[b].alias_class);
  }

  bool is_read(int buffer) {
    return std::any_of(values().begin(), values().end(), [&](const ValuePlan& value) {
      return value.op == Op::Load && may_overlap(value.index, buffer);
    });
  }

  // All steps read before any writes: a load that is stored as it is must not see other stores.
  void copy_what_is_overwritten() {
    if (unit_.stores_.size() < 2) return;
    for (const StorePlan& reader : unit_.stores_)
      for (int v : {reader.value, reader.mask}) {
        if (v < 0 || values()[v].op != Op::Load) continue;
        for (const StorePlan& writer : unit_.stores_)
          values()[v].is_copied |= may_overlap(values()[v].index, writer.access.buffer);
      }
  }

  Unit& unit_;
  PlanContext& context_;
  const Kernel& kernel_;
  const ExprGraph& graph_;
  const UnitAxes& axes_;
  SymbolPlaces& places_;
  const std::set<int>& tiled_;
  std::map<NodeId, int> number_;
  std::set<const Expr*> moving_;  // symbols that change along the tile
};

Unit::Unit(PlanContext& context, Span<Step> steps, const UnitAxes& axes,
           const std::set<int>& tiled) {
  if (axes.along) along_ = context.places.of(axes.along);
  if (axes.line) line_ = context.places.of(axes.line);
  UnitPlanner(*this, context, axes, tiled).plan(steps);
  tiles_offset_ = take_scratch(context.scratch_bytes, values_.size() * sizeof(Tile));
  indices_offset_ = take_scratch(context.scratch_bytes, kTile * 8);
}

}  // namespace taeda::kernel
