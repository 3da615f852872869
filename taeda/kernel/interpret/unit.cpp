// Plans the values and stores of a unit once, then computes tiles.
#include "taeda/kernel/interpret/unit.h"

#include <algorithm>
#include <cstring>

#include "taeda/base/error.h"
#include "taeda/kernel/math_storage.h"

namespace taeda::kernel {

namespace {

// Room in the scratch memory of a walk.
size_t take(size_t& bytes, size_t count) {
  const size_t at = bytes;
  bytes += (count + 63) / 64 * 64;
  return at;
}

// Whether memory holds values of a type as tiles do.
bool is_plain(DType dtype, Type type, const StoragePrimitives& storage) {
  return dtype != DType::Bool && !storage.round && item_size(dtype) == type_size(type);
}

}  // namespace

// Fills a unit from steps: values in the order of the DAG, then what the steps do with them.
class UnitPlanner {
 public:
  UnitPlanner(Unit& unit, const Kernel& kernel, const Expr* along, SymbolPlaces& places,
              size_t& scratch_bytes, const std::set<int>& scanned)
      : unit_(unit),
        kernel_(kernel),
        graph_(kernel.values),
        along_(along),
        places_(places),
        scratch_bytes_(scratch_bytes),
        scanned_(scanned) {
    if (along) moving_.insert(along);
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
    for (ValuePlan& value : unit_.values_)
      if (value.is_spread) value.spread_offset = take(scratch_bytes_, kTile * value.size);
  }

 private:
  bool moves(const Expr* at) const {
    for (const Expr* symbol : symbolic::symbols_of(at))
      if (moving_.count(symbol)) return true;
    return false;
  }

  // The stride along the axis, where it is the same for every element.
  bool find_stride(const Expr* at, IndexProgram& stride) {
    for (const Expr* symbol : symbolic::symbols_of(at))
      if (symbol != along_ && moving_.count(symbol)) return false;
    ExprPool& pool = *kernel_.pool;
    const Expr* step = along_ ? stride_of(pool, at, along_) : pool.integer(0);
    if (step) stride = places_.program(step);
    return step != nullptr;
  }

  Pace pace_of(const Node& node) const {
    const bool is_scanned = node.op == Op::State && scanned_.count(node.index);
    if ((node.at && moves(node.at)) || is_scanned) return Pace::Tile;
    return node.at || node.op == Op::State ? Pace::Position : Pace::Launch;
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
    for (int i = 0; i < 3 && node.args[i] >= 0; ++i) {
      value.args[i] = number_.at(node.args[i]);
      value.pace = std::max(value.pace, unit_.values_[value.args[i]].pace);
    }
    if (value.is_moving())
      for (int i = 0; i < 3 && value.args[i] >= 0; ++i) spread(value.args[i]);
    if (node.at) {
      value.at = places_.program(node.at);
      value.is_even = find_stride(node.at, value.stride);
    }
    find_primitives(node, value);
    value.offset = take(scratch_bytes_, (value.is_moving() ? kTile : 1) * value.size);
    plan_indirects(id, value);
    number_[id] = static_cast<int>(unit_.values_.size());
    unit_.values_.push_back(std::move(value));
  }

  // A value that does not move is wanted in every element of a tile.
  void spread(int value) { unit_.values_[value].is_spread |= !unit_.values_[value].is_moving(); }

  void find_primitives(const Node& node, ValuePlan& value) const {
    if (node.op == Op::Load) {
      const DType dtype = kernel_.buffers[node.index].dtype;
      value.storage = &find_storage(dtype, node.type);
      value.item = item_size(dtype);
      value.is_plain = is_plain(dtype, node.type, *value.storage);
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
      unit_.indirects_.push_back({static_cast<int>(unit_.values_.size()), places_.of(one.symbol),
                                  one.wraps, places_.program(one.extent), static_cast<int>(k) + 1,
                                  take(scratch_bytes_, kTile * 8)});
      if (value.is_moving()) moving_.insert(one.symbol);
    }
  }

  void plan_store(const Store& store) {
    const DType dtype = kernel_.buffers[store.buffer].dtype;
    const Type type = graph_.node(store.value).type;
    StorePlan plan;
    plan.buffer = store.buffer;
    plan.value = number_.at(store.value);
    if (store.mask >= 0) plan.mask = number_.at(store.mask);
    plan.mode = store.mode;
    plan.at = places_.program(store.at);
    plan.is_even = find_stride(store.at, plan.stride);
    plan.storage = &find_storage(dtype, type);
    plan.item = item_size(dtype);
    plan.is_plain = is_plain(dtype, type, *plan.storage);
    const Op combine = store.mode == StoreMode::AtomicMul   ? Op::Mul
                       : store.mode == StoreMode::AtomicMax ? Op::Maximum
                       : store.mode == StoreMode::AtomicMin ? Op::Minimum
                                                            : Op::Add;
    if (store.mode != StoreMode::Write) plan.combine = find_primitive(combine, type);
    spread(plan.value);
    if (plan.mask >= 0) spread(plan.mask);
    // The last value can be computed into memory: nothing reads after it.
    const ValuePlan& value = unit_.values_[plan.value];
    plan.is_direct = plan.value + 1 == static_cast<int>(unit_.values_.size()) && plan.is_plain &&
                     plan.is_even && plan.mask < 0 && store.mode == StoreMode::Write && value.run &&
                     value.is_moving();
    for (const StorePlan& other : unit_.stores_) plan.is_direct &= !other.is_direct;
    unit_.stores_.push_back(std::move(plan));
  }

  void plan_body(const ReduceBody& body, const std::vector<NodeId>& nodes, int first, Part part,
                 std::vector<ReducePlan>& plans) {
    ReducePlan plan{&body,
                    {},
                    first,
                    part,
                    BodyProgram(body, body.lift),
                    BodyProgram(body, body.combine),
                    BodyProgram(body, body.finish),
                    0,
                    0};
    for (NodeId id : nodes) {
      plan.values.push_back(number_.at(id));
      spread(plan.values.back());
    }
    plan.lift_offset = take(scratch_bytes_, plan.lift.scratch_bytes());
    plan.finish_offset = take(scratch_bytes_, plan.finish.scratch_bytes());
    plans.push_back(std::move(plan));
  }

  Unit& unit_;
  const Kernel& kernel_;
  const ExprGraph& graph_;
  const Expr* along_;
  SymbolPlaces& places_;
  size_t& scratch_bytes_;
  const std::set<int>& scanned_;
  std::map<NodeId, int> number_;
  std::set<const Expr*> moving_;  // symbols that change along the tile
};

Unit::Unit(const Kernel& kernel, Span<Step> steps, const Expr* along, SymbolPlaces& places,
           size_t& scratch_bytes, const std::set<int>& scanned) {
  if (along) along_ = places.of(along);
  UnitPlanner(*this, kernel, along, places, scratch_bytes, scanned).plan(steps);
  pointers_offset_ = take(scratch_bytes, values_.size() * 2 * sizeof(char*));
  indices_offset_ = take(scratch_bytes, kTile * 8);
}

void Unit::prepare(Walk& walk) const {
  for (const auto* plans : {&reductions_, &scans_})
    for (const ReducePlan& plan : *plans) {
      plan.lift.prepare(walk.scratch.data() + plan.lift_offset);
      plan.finish.prepare(walk.scratch.data() + plan.finish_offset);
    }
  compute(walk, Pace::Launch, kTile);
}

void Unit::compute(Walk& walk, Pace pace, int64_t longest) const {
  evaluate(walk, pace, 0, 1);
  const int64_t n = std::min(longest, kTile);
  char** ptrs = pointers(walk);
  for (size_t i = 0; i < values_.size(); ++i) {
    const ValuePlan& value = values_[i];
    if (value.pace != pace || !value.is_spread) continue;
    char* to = ptrs[2 * i + 1] = walk.scratch.data() + value.spread_offset;
    const char* from = ptrs[2 * i];
    // One element, then doubling copies.
    std::memcpy(to, from, value.size);
    for (int64_t done = 1; done < n; done *= 2)
      std::memcpy(to + done * value.size, to, std::min(done, n - done) * value.size);
  }
}

void Unit::evaluate(Walk& walk, Pace pace, int64_t start, int64_t n) const {
  const bool is_moving = pace == Pace::Tile;
  char** ptrs = pointers(walk);
  for (size_t i = 0; i < values_.size(); ++i) {
    const ValuePlan& value = values_[i];
    if (value.pace != pace) continue;
    char* out = walk.scratch.data() + value.offset;
    switch (value.op) {
      case Op::Constant: write_constant(value.type, value.bits, out); break;
      case Op::Uniform:
        std::memcpy(out, static_cast<const char*>(walk.arguments.scalars) + 16 * value.index,
                    value.size);
        break;
      case Op::State:
        if (is_moving)
          out = walk.scan_tiles[value.index];
        else
          std::memcpy(out, walk.state(value.index), value.size);
        break;
      case Op::Load: load(walk, value, start, n, out); break;
      case Op::Index: {
        index_tile(walk, value.at, start, n);
        const int64_t* at = indices(walk);
        if (value.type == Type::I32)
          for (int64_t k = 0; k < n; ++k)
            reinterpret_cast<int32_t*>(out)[k] = static_cast<int32_t>(at[k]);
        else
          std::memcpy(out, at, n * 8);
        break;
      }
      case Op::Random: {
        index_tile(walk, value.at, start, n);
        const void* given[3] = {};
        for (int a = 0; a < 3 && value.args[a] >= 0; ++a)
          given[a] = ptrs[2 * value.args[a] + (is_moving ? 1 : 0)];
        draw_tile(static_cast<Draw>(value.index), given, indices(walk), n, out);
        break;
      }
      default: {
        if (is_moving)
          for (const StorePlan& plan : stores_)
            if (plan.is_direct && plan.value == static_cast<int>(i)) {
              walk.symbols[along_] = start;
              if (plan.stride(walk.symbols.data()) == 1)
                out =
                    walk.arguments.buffers[plan.buffer] + plan.at(walk.symbols.data()) * plan.item;
            }
        char* operands[4] = {out};
        for (int a = 0; a < 3 && value.args[a] >= 0; ++a)
          operands[a + 1] = ptrs[2 * value.args[a] + (is_moving ? 1 : 0)];
        value.run(operands, n, nullptr);
      }
    }
    ptrs[2 * i] = out;
    if (is_moving) ptrs[2 * i + 1] = out;
    for (int k : value.indirects) check(walk, indirects_[k], n);
  }
}

// The index of each element of a tile.
void Unit::index_tile(Walk& walk, const IndexProgram& at, int64_t start, int64_t n) const {
  int64_t* to = indices(walk);
  for (int64_t k = 0; k < n; ++k) {
    if (along_ >= 0) walk.symbols[along_] = start + k;
    for (const IndirectPlan& one : indirects_)
      if (values_[one.value].is_moving())
        walk.symbols[one.place] =
            reinterpret_cast<const int64_t*>(walk.scratch.data() + one.offset)[k];
    to[k] = at(walk.symbols.data());
  }
}

void Unit::load(Walk& walk, const ValuePlan& value, int64_t start, int64_t n, char*& out) const {
  const char* memory = walk.arguments.buffers[value.index];
  if (value.args[0] < 0 && value.is_even) {
    if (along_ >= 0) walk.symbols[along_] = start;
    memory += value.at(walk.symbols.data()) * value.item;
    const int64_t stride = value.is_moving() ? value.stride(walk.symbols.data()) : 0;
    if (value.is_plain && (stride == 1 || n == 1))
      out = const_cast<char*>(memory);
    else
      value.storage->load(memory, stride, n, out);
    return;
  }
  index_tile(walk, value.at, start, n);
  const int64_t* at = indices(walk);
  if (value.args[0] < 0) return value.storage->gather(memory, at, n, out);
  char** ptrs = pointers(walk);
  const int which = value.is_moving() ? 1 : 0;
  const char* mask = ptrs[2 * value.args[0] + which];
  const char* other = ptrs[2 * value.args[1] + which];
  for (int64_t k = 0; k < n; ++k) {
    if (mask[k])
      value.storage->gather(memory, at + k, 1, out + k * value.size);
    else
      std::memcpy(out + k * value.size, other + k * value.size, value.size);
  }
}

void Unit::check(Walk& walk, const IndirectPlan& plan, int64_t n) const {
  const int64_t extent = plan.extent(walk.symbols.data());
  const auto* from = reinterpret_cast<const int64_t*>(pointers(walk)[2 * plan.value]);
  auto* to = reinterpret_cast<int64_t*>(walk.scratch.data() + plan.offset);
  for (int64_t k = 0; k < n; ++k)
    to[k] = td_checked_index(from[k], extent, plan.wraps, walk.arguments.error, plan.number);
  if (!values_[plan.value].is_moving()) walk.symbols[plan.place] = to[0];
}

void Unit::store_one(Walk& walk, const StorePlan& plan, int64_t start, int64_t n) const {
  char** ptrs = pointers(walk);
  const ValuePlan& value = values_[plan.value];
  const char* tile = ptrs[2 * plan.value + 1];
  char* memory = walk.arguments.buffers[plan.buffer];
  if (plan.mask < 0 && plan.mode == StoreMode::Write && plan.is_even) {
    if (along_ >= 0) walk.symbols[along_] = start;
    char* to = memory + plan.at(walk.symbols.data()) * plan.item;
    if (to == tile) return;  // computed in place
    const int64_t stride = along_ >= 0 ? plan.stride(walk.symbols.data()) : 0;
    if (plan.is_plain && (stride == 1 || n == 1))
      std::memcpy(to, tile, n * plan.item);
    else
      plan.storage->store(tile, stride, n, to);
    return;
  }
  index_tile(walk, plan.at, start, n);
  const int64_t* at = indices(walk);
  const char* mask = plan.mask >= 0 ? ptrs[2 * plan.mask + 1] : nullptr;
  for (int64_t k = 0; k < n; ++k) {
    if (mask && !mask[k]) continue;
    const char* element = tile + k * value.size;
    alignas(16) char old[16], combined[16];
    if (plan.combine) {
      plan.storage->gather(memory, at + k, 1, old);
      char* operands[] = {combined, old, const_cast<char*>(element)};
      plan.combine(operands, 1, nullptr);
      element = combined;
    }
    plan.storage->scatter(element, at + k, 1, memory);
  }
}

void Unit::run(Walk& walk, int64_t start, int64_t n) const {
  evaluate(walk, Pace::Tile, start, n);
  for (const StorePlan& plan : stores_) store_one(walk, plan, start, n);
}

void Unit::lift(Walk& walk, const ReducePlan& plan, int64_t n, char** states) const {
  char* values[8];
  // In every element: the second of a value's pointers.
  for (size_t i = 0; i < plan.values.size(); ++i)
    values[i] = pointers(walk)[2 * plan.values[i] + 1];
  if (plan.part == Part::Combining)
    std::copy(values, values + plan.values.size(), states);
  else
    plan.lift.run(values, n, walk.scratch.data() + plan.lift_offset, states);
}

}  // namespace taeda::kernel
