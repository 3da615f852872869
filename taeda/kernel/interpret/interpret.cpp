// Plans a kernel's loops once, then walks them.
//
// A *unit* is a run of steps without loops between them: what one tile computes. Its values are
// split by whether they move along the tile's axis. Those that do not are computed once per
// position of the loops around, as tiles of one element, and spread where a moving value needs
// them.
#include "taeda/kernel/interpret/interpret.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "taeda/base/error.h"
#include "taeda/kernel/interpret/body_program.h"
#include "taeda/kernel/interpret/index_program.h"
#include "taeda/kernel/interpret/primitives.h"
#include "taeda/kernel/math_storage.h"

namespace taeda::kernel {

namespace {

// Places of symbols in the array that index programs read, shared by all loops of a kernel.
class SymbolPlaces {
 public:
  int of(const Expr* symbol) {
    return places_.emplace(symbol, static_cast<int>(places_.size())).first->second;
  }
  size_t size() const { return places_.size(); }
  IndexProgram program(const Expr* e) {
    return IndexProgram(e, [&](const Expr* symbol) { return of(symbol); });
  }

 private:
  std::map<const Expr*, int> places_;
};

// How often a value is computed: once per launch, per position of the loops around, or per tile.
enum class Pace : uint8_t { Launch, Position, Tile };

struct ValuePlan {
  Op op;
  Type type;
  Pace pace = Pace::Launch;
  bool is_spread = false;  // a moving value needs it in every element
  int args[3] = {-1, -1, -1};
  TilePrimitive run = nullptr;
  size_t size = 0, offset = 0, spread_offset = 0;
  uint64_t bits[2] = {};
  int index = 0;          // of Node
  bool is_even = false;   // Load, Index: the index moves by `stride`
  bool is_plain = false;  // Load: memory holds the value as it is
  IndexProgram at, stride;
  const StoragePrimitives* storage = nullptr;
  int64_t item = 0;
  bool is_moving() const { return pace == Pace::Tile; }
  std::vector<int> indirects;  // whose index this value is
};

struct IndirectPlan {
  int value;  // of the unit
  int place;
  bool wraps;
  IndexProgram extent;
  int number;
  size_t offset;
};

struct StorePlan {
  int buffer = 0, value = 0, mask = -1;
  StoreMode mode = StoreMode::Write;
  bool is_even = false, is_plain = false, is_direct = false;
  IndexProgram at, stride;
  const StoragePrimitives* storage = nullptr;
  int64_t item = 0;
  TilePrimitive combine = nullptr;
};

struct ReducePlan {
  const ReduceBody* body;
  std::vector<int> values;
  int first_state;
  Part part;
  BodyProgram lift, combine, finish;
  size_t lift_offset, finish_offset;
};

// What the walk carries: symbols, states, scratch.
struct Walk {
  const LaunchArguments& arguments;
  std::vector<int64_t> symbols;
  std::vector<char> states;       // 16 bytes each
  std::vector<char*> scan_tiles;  // of running states, by number
  std::vector<char> scratch;

  char* state(int number) { return states.data() + 16 * number; }
};

class Unit {
 public:
  Unit(const Kernel& kernel, Span<Step> steps, const Expr* along, SymbolPlaces& places,
       size_t& scratch_bytes, std::set<int> scanned);

  // Values that change with the loops around, for tiles of at most `longest` elements.
  void enter(Walk& walk, int64_t longest) const { compute(walk, Pace::Position, longest); }
  // n elements from `start` on: values, then stores.
  void run(Walk& walk, int64_t start, int64_t n) const;
  void prepare(Walk& walk) const;
  const std::vector<ReducePlan>& reductions() const { return reductions_; }
  const std::vector<ReducePlan>& scans() const { return scans_; }
  // A tile of a value in every element.
  char* tile(Walk& walk, int value) const { return pointers(walk)[2 * value + 1]; }
  // One element of each value of a pace, spread where tiles need it.
  void compute(Walk& walk, Pace pace, int64_t longest) const;
  void evaluate(Walk& walk, Pace pace, int64_t start, int64_t n) const;
  void store(Walk& walk, int64_t start, int64_t n) const;
  int along() const { return along_; }

 private:
  friend class Planner;
  // Two pointers per value: as it is, and in every element.
  char** pointers(Walk& walk) const {
    return reinterpret_cast<char**>(walk.scratch.data() + pointers_offset_);
  }
  int64_t* indices(Walk& walk) const {
    return reinterpret_cast<int64_t*>(walk.scratch.data() + indices_offset_);
  }
  void load(Walk& walk, const ValuePlan& value, int64_t start, int64_t n, char*& out) const;
  void check(Walk& walk, const IndirectPlan& plan, int64_t n) const;
  void index_tile(Walk& walk, const IndexProgram& at, int64_t start, int64_t n) const;
  void store_one(Walk& walk, const StorePlan& plan, int64_t start, int64_t n) const;

  std::vector<ValuePlan> values_;
  std::vector<IndirectPlan> indirects_;
  std::vector<StorePlan> stores_;
  std::vector<ReducePlan> reductions_, scans_;
  int along_ = -1;  // the place of the tile's axis
  size_t pointers_offset_ = 0, indices_offset_ = 0;
};

size_t take(size_t& bytes, size_t count) {
  const size_t at = bytes;
  bytes += (count + 63) / 64 * 64;
  return at;
}

Unit::Unit(const Kernel& kernel, Span<Step> steps, const Expr* along, SymbolPlaces& places,
           size_t& scratch_bytes, std::set<int> scanned) {
  const ExprGraph& graph = kernel.values;
  ExprPool& pool = *kernel.pool;
  if (along) along_ = places.of(along);
  std::vector<NodeId> roots;
  for (const Step& step : steps)
    for (NodeId root : roots_of(kernel, step)) roots.push_back(root);
  const std::vector<NodeId> order = graph.reachable(roots);
  std::map<NodeId, int> number;
  for (size_t i = 0; i < order.size(); ++i) number[order[i]] = static_cast<int>(i);
  std::set<const Expr*> moving;  // symbols
  if (along) moving.insert(along);
  auto moves = [&](const Expr* at) {
    for (const Expr* symbol : symbolic::symbols_of(at))
      if (moving.count(symbol)) return true;
    return false;
  };
  // The stride along the axis where it is the same for every element.
  auto even = [&](const Expr* at, IndexProgram& stride) {
    for (const Expr* symbol : symbolic::symbols_of(at))
      if (symbol != along && moving.count(symbol)) return false;
    const Expr* step = along ? stride_of(pool, at, along) : pool.integer(0);
    if (step) stride = places.program(step);
    return step != nullptr;
  };
  for (NodeId id : order) {
    const Node& node = graph.node(id);
    ValuePlan value;
    value.op = node.op;
    value.type = node.type;
    value.size = type_size(node.type);
    value.bits[0] = node.bits[0];
    value.bits[1] = node.bits[1];
    value.index = node.index;
    if (node.at || node.op == Op::State) value.pace = Pace::Position;
    if ((node.at && moves(node.at)) || (node.op == Op::State && scanned.count(node.index)))
      value.pace = Pace::Tile;
    for (int i = 0; i < 3 && node.args[i] >= 0; ++i) {
      value.args[i] = number.at(node.args[i]);
      value.pace = std::max(value.pace, values_[value.args[i]].pace);
    }
    for (int i = 0; i < 3 && value.args[i] >= 0; ++i)
      if (value.is_moving() && !values_[value.args[i]].is_moving())
        values_[value.args[i]].is_spread = true;
    if (node.at) {
      value.at = places.program(node.at);
      value.is_even = even(node.at, value.stride);
    }
    if (node.op == Op::Load) {
      const DType dtype = kernel.buffers[node.index].dtype;
      value.storage = &find_storage(dtype, node.type);
      value.item = item_size(dtype);
      value.is_plain =
          dtype != DType::Bool && !value.storage->round && value.item == type_size(node.type);
    } else if (node.op == Op::Round) {
      value.run = find_storage(static_cast<DType>(node.index), node.type).round;
    } else if (node.op == Op::Cast) {
      value.run = find_cast(graph.node(node.args[0]).type, node.type);
    } else if (op_form(node.op)) {
      const Type from = graph.node(node.args[node.op == Op::Where ? 1 : 0]).type;
      value.run = find_primitive(node.op, from);
      TAEDA_CHECK(value.run, "[kernel] no primitive for ", op_name(node.op), " of ",
                  type_name(from));
    }
    TAEDA_CHECK(node.op != Op::Random, "[kernel] random numbers are not interpreted yet");
    value.offset = take(scratch_bytes, (value.is_moving() ? kTile : 1) * value.size);
    const int own = static_cast<int>(values_.size());
    for (size_t k = 0; k < graph.indirects().size(); ++k) {
      const Indirect& one = graph.indirects()[k];
      if (one.value != id) continue;
      value.indirects.push_back(static_cast<int>(indirects_.size()));
      indirects_.push_back({own, places.of(one.symbol), one.wraps, places.program(one.extent),
                            static_cast<int>(k) + 1, take(scratch_bytes, kTile * 8)});
      if (value.is_moving()) moving.insert(one.symbol);
    }
    values_.push_back(std::move(value));
  }
  for (const Step& step : steps) {
    if (const auto* store = std::get_if<Store>(&step)) {
      const DType dtype = kernel.buffers[store->buffer].dtype;
      const Type type = graph.node(store->value).type;
      StorePlan plan;
      plan.buffer = store->buffer;
      plan.value = number.at(store->value);
      if (store->mask >= 0) plan.mask = number.at(store->mask);
      plan.mode = store->mode;
      plan.at = places.program(store->at);
      plan.is_even = even(store->at, plan.stride);
      plan.storage = &find_storage(dtype, type);
      plan.item = item_size(dtype);
      plan.is_plain = dtype != DType::Bool && !plan.storage->round && plan.item == type_size(type);
      const Op combine = store->mode == StoreMode::AtomicMax   ? Op::Maximum
                         : store->mode == StoreMode::AtomicMin ? Op::Minimum
                                                               : Op::Add;
      if (store->mode != StoreMode::Write) plan.combine = find_primitive(combine, type);
      for (int value : {plan.value, plan.mask})
        if (value >= 0) values_[value].is_spread |= !values_[value].is_moving();
      // The last value can be computed into memory: nothing reads after it.
      plan.is_direct = plan.value + 1 == static_cast<int>(values_.size()) && plan.is_plain &&
                       plan.is_even && plan.mask < 0 && store->mode == StoreMode::Write &&
                       values_[plan.value].run && values_[plan.value].is_moving();
      for (const StorePlan& other : stores_) plan.is_direct &= !other.is_direct;
      stores_.push_back(std::move(plan));
    }
    auto add = [&](const ReduceBody* body, const std::vector<NodeId>& nodes, int first, Part part,
                   std::vector<ReducePlan>& plans) {
      ReducePlan plan{body,
                      {},
                      first,
                      part,
                      BodyProgram(*body, body->lift),
                      BodyProgram(*body, body->combine),
                      BodyProgram(*body, body->finish),
                      0,
                      0};
      for (NodeId id : nodes) {
        plan.values.push_back(number.at(id));
        values_[number.at(id)].is_spread |= !values_[number.at(id)].is_moving();
      }
      plan.lift_offset = take(scratch_bytes, plan.lift.scratch_bytes());
      plan.finish_offset = take(scratch_bytes, plan.finish.scratch_bytes());
      plans.push_back(std::move(plan));
    };
    if (const auto* reduce = std::get_if<Reduce>(&step))
      add(reduce->body, reduce->values, reduce->first_state, reduce->part, reductions_);
    if (const auto* scan = std::get_if<Scan>(&step))
      add(scan->body, scan->values, scan->first_state, Part::Whole, scans_);
  }
  for (ValuePlan& value : values_)
    if (value.is_spread) value.spread_offset = take(scratch_bytes, kTile * value.size);
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
      case Op::Constant:
        std::memcpy(out, &value.bits[0], std::min<size_t>(value.size, 8));
        if (is_complex(value.type)) {
          const size_t half = value.size / 2;
          std::memcpy(out, &value.bits[0], half);
          std::memcpy(out + half, &value.bits[1], half);
        }
        break;
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

void Unit::store(Walk& walk, int64_t start, int64_t n) const {
  for (const StorePlan& plan : stores_) store_one(walk, plan, start, n);
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
  store(walk, start, n);
}

}  // namespace

// One running scan: its states, and tiles of its results.
class ScanRun {
 public:
  ScanRun(const ReducePlan& plan, Walk& walk)
      : plan_(plan), walk_(walk), combine_scratch_(plan.combine.scratch_bytes()) {
    plan.combine.prepare(combine_scratch_.data());
    const ReduceBody& body = *plan.body;
    for (size_t s = 0; s < body.state_types.size(); ++s) {
      const Node& node = body.graph.node(body.identity[s]);
      const size_t size = type_size(node.type), half = is_complex(node.type) ? size / 2 : size;
      std::memcpy(states_[s], &node.bits[0], half);
      if (is_complex(node.type)) std::memcpy(states_[s] + half, &node.bits[1], half);
    }
    for (size_t i = 0; i < body.result_types.size(); ++i) {
      tiles_.emplace_back(kTile * type_size(body.result_types[i]));
      const size_t number = plan.first_state + i;
      if (walk.scan_tiles.size() <= number) walk.scan_tiles.resize(number + 1);
      walk.scan_tiles[number] = tiles_.back().data();
    }
  }

  void add(char* const* lifted, int64_t n) {
    const ReduceBody& body = *plan_.body;
    const size_t count = body.state_types.size();
    char *inputs[16], *outputs[8], *results[8];
    for (int64_t k = 0; k < n; ++k) {
      for (size_t s = 0; s < count; ++s) {
        inputs[s] = states_[s];
        inputs[count + s] = lifted[s] + k * type_size(body.state_types[s]);
      }
      plan_.combine.run(inputs, 1, combine_scratch_.data(), outputs);
      for (size_t s = 0; s < count; ++s)
        if (outputs[s] != states_[s])
          std::memcpy(states_[s], outputs[s], type_size(body.state_types[s]));
      plan_.finish.run(inputs, 1, walk_.scratch.data() + plan_.finish_offset, results);
      for (size_t i = 0; i < tiles_.size(); ++i) {
        const size_t size = type_size(body.result_types[i]);
        std::memcpy(tiles_[i].data() + k * size, results[i], size);
      }
    }
  }

 private:
  const ReducePlan& plan_;
  Walk& walk_;
  std::vector<char> combine_scratch_;
  std::vector<std::vector<char>> tiles_;
  alignas(16) char states_[8][16];
};

// A loop and what it runs: other loops, units at one point, or a unit along its last axis.
class InterpretedLoop {
 public:
  InterpretedLoop(const Kernel& kernel, const Loop& loop, SymbolPlaces& places,
                  size_t& scratch_bytes);

  void run(Walk& walk, int64_t begin, int64_t end, bool is_outermost) const {
    walk_axes(walk, 0, begin, end, is_outermost);
  }
  void prepare(Walk& walk) const {
    for (const Part_& part : parts_) {
      if (part.loop) part.loop->prepare(walk);
      if (part.unit) part.unit->prepare(walk);
    }
  }

  // Filled in for the outermost loop.
  std::vector<int> params;
  size_t num_symbols = 0, scratch_bytes = 0;
  int num_states = 0;

 private:
  struct Part_ {
    std::unique_ptr<InterpretedLoop> loop;
    std::unique_ptr<Unit> unit;
  };
  void walk_axes(Walk& walk, size_t depth, int64_t begin, int64_t end, bool is_outermost) const;
  void run_parts(Walk& walk) const;
  void run_reduction(Walk& walk, int64_t begin, int64_t end, bool is_outermost) const;
  void run_scan(Walk& walk, int64_t begin, int64_t end) const;
  void write_results(Walk& walk, const ReducePlan& plan, char* const* states) const;
  template <class F>
  void each_line(Walk& walk, size_t depth, F line) const;

  Role role_;
  bool is_leaf_;
  std::vector<int> vars_;
  std::vector<IndexProgram> extents_;
  std::vector<Part_> parts_;
};

InterpretedLoop::InterpretedLoop(const Kernel& kernel, const Loop& loop, SymbolPlaces& places,
                                 size_t& scratch_bytes)
    : role_(loop.axes.back().role) {
  for (const Axis& axis : loop.axes) {
    vars_.push_back(places.of(axis.var));
    extents_.push_back(places.program(axis.extent));
  }
  is_leaf_ = std::none_of(loop.steps.begin(), loop.steps.end(),
                          [](const Step& step) { return std::holds_alternative<Loop>(step); });
  const Expr* along = is_leaf_ ? loop.axes.back().var : nullptr;
  std::set<int> scanned;
  for (const Step& step : loop.steps)
    if (const auto* scan = std::get_if<Scan>(&step))
      for (size_t i = 0; i < scan->body->result_types.size(); ++i)
        scanned.insert(scan->first_state + static_cast<int>(i));
  for (size_t i = 0; i < loop.steps.size();) {
    if (const auto* inner = std::get_if<Loop>(&loop.steps[i])) {
      parts_.push_back(
          {std::make_unique<InterpretedLoop>(kernel, *inner, places, scratch_bytes), nullptr});
      ++i;
      continue;
    }
    // A scan is a unit of its own: the steps after it read its states.
    size_t end = i + 1;
    const bool is_scan = std::holds_alternative<Scan>(loop.steps[i]);
    while (!is_scan && end < loop.steps.size() && !std::holds_alternative<Loop>(loop.steps[end]) &&
           !std::holds_alternative<Scan>(loop.steps[end]))
      ++end;
    parts_.push_back(
        {nullptr, std::make_unique<Unit>(kernel, Span<Step>(loop.steps.data() + i, end - i), along,
                                         places, scratch_bytes, scanned)});
    i = end;
  }
}

void InterpretedLoop::run_parts(Walk& walk) const {
  for (const Part_& part : parts_) {
    if (part.loop) {
      part.loop->run(walk, 0, 0, false);
    } else {
      part.unit->enter(walk, 1);
      part.unit->run(walk, 0, 1);
    }
  }
}

void InterpretedLoop::walk_axes(Walk& walk, size_t depth, int64_t begin, int64_t end,
                                bool is_outermost) const {
  if (is_leaf_ && role_ == Role::Reduced && depth == 0)
    return run_reduction(walk, begin, end, is_outermost);
  const bool is_given = is_outermost && depth == 0;
  const int64_t first = is_given ? begin : 0;
  const int64_t last = is_given ? end : extents_[depth](walk.symbols.data());
  if (is_leaf_ && depth + 1 == vars_.size()) {
    if (role_ == Role::Scanned) return run_scan(walk, first, last);
    if (first >= last) return;
    for (const Part_& part : parts_) part.unit->enter(walk, last - first);
    for (int64_t at = first; at < last; at += kTile)
      for (const Part_& part : parts_) part.unit->run(walk, at, std::min(kTile, last - at));
    return;
  }
  for (int64_t at = first; at < last; ++at) {
    walk.symbols[vars_[depth]] = at;
    if (depth + 1 == vars_.size())
      run_parts(walk);
    else
      walk_axes(walk, depth + 1, 0, 0, false);
  }
}

// Calls line(extent of the last axis) for each index of the axes before it.
template <class F>
void InterpretedLoop::each_line(Walk& walk, size_t depth, F line) const {
  const int64_t extent = extents_[depth](walk.symbols.data());
  if (depth + 1 == vars_.size()) return line(extent);
  for (int64_t at = 0; at < extent; ++at) {
    walk.symbols[vars_[depth]] = at;
    each_line(walk, depth + 1, line);
  }
}

void InterpretedLoop::run_reduction(Walk& walk, int64_t, int64_t, bool) const {
  std::vector<TreeRun> runs;
  for (const Part_& part : parts_)
    for (const ReducePlan& plan : part.unit->reductions()) {
      runs.emplace_back(*plan.body, plan.combine);
      runs.back().start();
    }
  each_line(walk, 0, [&](int64_t extent) {
    if (extent == 0) return;
    for (const Part_& part : parts_) part.unit->enter(walk, extent);
    for (int64_t at = 0; at < extent; at += kTile) {
      const int64_t n = std::min(kTile, extent - at);
      size_t next = 0;
      for (const Part_& part : parts_) {
        part.unit->run(walk, at, n);
        for (const ReducePlan& plan : part.unit->reductions()) {
          char *values[8], *states[8];
          for (size_t i = 0; i < plan.values.size(); ++i)
            values[i] = part.unit->tile(walk, plan.values[i]);
          if (plan.part == Part::Combining)
            std::copy(values, values + plan.values.size(), states);
          else
            plan.lift.run(values, n, walk.scratch.data() + plan.lift_offset, states);
          runs[next++].add(states, n);
        }
      }
    }
  });
  size_t next = 0;
  for (const Part_& part : parts_)
    for (const ReducePlan& plan : part.unit->reductions()) {
      alignas(16) char memory[8][16];
      char* states[8];
      for (int i = 0; i < 8; ++i) states[i] = memory[i];
      runs[next++].finish(states);
      write_results(walk, plan, states);
    }
}

void InterpretedLoop::write_results(Walk& walk, const ReducePlan& plan, char* const* states) const {
  char* results[8];
  std::copy(states, states + plan.body->state_types.size(), results);
  if (plan.part != Part::Partial)
    plan.finish.run(states, 1, walk.scratch.data() + plan.finish_offset, results);
  const std::vector<Type>& types =
      plan.part == Part::Partial ? plan.body->state_types : plan.body->result_types;
  for (size_t i = 0; i < types.size(); ++i)
    std::memcpy(walk.state(plan.first_state + static_cast<int>(i)), results[i],
                type_size(types[i]));
}

// Lifted by tiles, combined element by element; the steps after a scan see a tile of its states.
void InterpretedLoop::run_scan(Walk& walk, int64_t begin, int64_t end) const {
  if (begin >= end) return;
  std::vector<ScanRun> runs;
  for (const Part_& part : parts_)
    for (const ReducePlan& plan : part.unit->scans()) runs.emplace_back(plan, walk);
  for (const Part_& part : parts_) part.unit->enter(walk, end - begin);
  for (int64_t at = begin; at < end; at += kTile) {
    const int64_t n = std::min(kTile, end - at);
    size_t next = 0;
    for (const Part_& part : parts_) {
      part.unit->run(walk, at, n);
      for (const ReducePlan& plan : part.unit->scans()) {
        char *values[8], *lifted[8];
        for (size_t i = 0; i < plan.values.size(); ++i)
          values[i] = part.unit->tile(walk, plan.values[i]);
        plan.lift.run(values, n, walk.scratch.data() + plan.lift_offset, lifted);
        runs[next++].add(lifted, n);
      }
    }
  }
}

TileInterpreter::TileInterpreter(const Kernel& kernel) {
  verify(kernel);
  for (const Step& step : kernel.steps) {
    const auto* loop = std::get_if<Loop>(&step);
    if (!loop) continue;
    SymbolPlaces places;
    std::vector<int> params;
    for (const Expr* param : kernel.params) params.push_back(places.of(param));
    size_t scratch_bytes = 0;
    auto made = std::make_unique<InterpretedLoop>(kernel, *loop, places, scratch_bytes);
    made->params = std::move(params);
    made->num_symbols = places.size();
    made->scratch_bytes = scratch_bytes;
    for (int i = 0; i < kernel.values.size(); ++i)
      if (kernel.values.node(i).op == Op::State)
        made->num_states = std::max(made->num_states, kernel.values.node(i).index + 1);
    loops_.push_back(std::move(made));
  }
}

TileInterpreter::~TileInterpreter() = default;
TileInterpreter::TileInterpreter(TileInterpreter&&) noexcept = default;

void TileInterpreter::run(int number, const LaunchArguments& arguments, int64_t begin,
                          int64_t end) const {
  const InterpretedLoop& loop = *loops_.at(number);
  Walk walk{arguments,
            std::vector<int64_t>(loop.num_symbols),
            std::vector<char>(16 * (loop.num_states + 8)),
            {},
            std::vector<char>(loop.scratch_bytes)};
  for (size_t i = 0; i < loop.params.size(); ++i)
    walk.symbols[loop.params[i]] = arguments.params[i];
  loop.prepare(walk);
  loop.run(walk, begin, end, true);
}

}  // namespace taeda::kernel
