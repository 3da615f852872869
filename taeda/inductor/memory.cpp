// Memory of values.
#include "taeda/inductor/memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "taeda/inductor/units.h"

namespace taeda::inductor {

namespace {

constexpr int64_t kAlignment = 64;

class MemoryAssigner {
 public:
  MemoryAssigner(Program& program, const std::vector<Group>& groups)
      : program_(program), group_of_(program.units.size(), -1) {
    program_.geometry.assign(program_.definitions.size(), Geometry());
    program_.result_memory.assign(program_.reductions.size(), {});
    value_of_.assign(program_.definitions.size(), -1);
    for (size_t i = 0; i < program_.values.size(); ++i)
      value_of_[program_.values[i].definition->id] = static_cast<int>(i);
    for (size_t g = 0; g < groups.size(); ++g)
      for (const GroupUnit& member : groups[g].units) group_of_[member.unit] = static_cast<int>(g);
  }

  void run() {
    for (const Program::Result& result : program_.results)
      if (result.value >= 0) results_.insert(program_.values[result.value].root);
    for (const Unit& unit : program_.units)
      if (unit.definition && is_kept(*unit.definition)) give(*unit.definition);
    for (const Call& call : program_.calls)
      for (int result : call.results) give_called(result);
    for (size_t i = 0; i < program_.units.size(); ++i)
      for (const Read& read : program_.units[i].reads) give_read(static_cast<int>(i), read);
    // Values that look at the memory of others.
    for (TensorValue& value : program_.values) {
      value.geometry.memory = program_.values[value.root].geometry.memory;
      if (!value.definition->value) program_.geometry[value.definition->id] = value.geometry;
    }
  }

 private:
  bool is_kept(const Definition& definition) const {
    const int value = value_of_[definition.id];
    return value >= 0 && program_.values[value].is_kept && program_.values[value].root == value;
  }

  void give_read(int unit, const Read& read) {
    if (read.reduction) {
      const int from = program_.unit_of_reduction[read.reduction->id];
      if (group_of_[from] != group_of_[unit]) give_result(*read.reduction, read.which);
      return;
    }
    const int from = program_.unit_of_definition[read.definition->id];
    if (from >= 0 && read.definition->value && group_of_[from] != group_of_[unit])
      give(*read.definition);
  }

  Geometry dense(const Place& sizes) {
    symbolic::ExprPool& pool = *program_.pool;
    Geometry g;
    g.sizes = sizes;
    g.strides = Place(sizes.size(), pool.integer(1));
    g.offset = pool.integer(0);
    for (size_t d = sizes.size(); d-- > 1;) g.strides[d - 1] = pool.mul(g.strides[d], sizes[d]);
    return g;
  }

  int add(Memory::Kind kind, DType dtype, const Expr* numel) {
    program_.memories.push_back({kind, 0, dtype, numel});
    return static_cast<int>(program_.memories.size()) - 1;
  }

  void give(const Definition& definition) {
    Geometry& g = program_.geometry[definition.id];
    if (g.memory >= 0) return;
    const int value = value_of_[definition.id];
    const bool is_root = value >= 0 && program_.values[value].root == value;
    // Note [Writes to inputs]
    if (is_root && program_.values[value].geometry.memory >= 0) {
      g = program_.values[value].geometry;
      return;
    }
    g = is_root ? program_.values[value].geometry : dense(definition.sizes);
    const bool is_result =
        is_root && (results_.count(value) != 0 || program_.values[value].is_apart);
    g.memory = add(is_result ? Memory::Kind::Output : Memory::Kind::Temporary, definition.dtype,
                   extent_of(*program_.pool, g));
    if (is_root) program_.values[value].geometry.memory = g.memory;
  }

  void give_called(int index) {
    TensorValue& value = program_.values[index];
    // Note [Partial writes]
    if (value.root != index || value.geometry.memory >= 0) return;
    value.geometry.memory =
        add(Memory::Kind::Called, value.fake.dtype(), extent_of(*program_.pool, value.geometry));
  }

  void give_result(const Reduction& reduction, int which) {
    const kernel::ReduceBody& body = body_of(program_, reduction);
    std::vector<int>& memories = program_.result_memory[reduction.id];
    memories.resize(body.result_types.size(), -1);
    if (memories[which] >= 0) return;
    const Geometry g = dense(reduction.kept(reduction.sizes));
    memories[which] = add(Memory::Kind::Temporary, storage_of(body.result_types[which]),
                          extent_of(*program_.pool, g));
  }

  // The dtype that holds values of a compute type.
  static DType storage_of(kernel::Type type) {
    switch (type) {
      case kernel::Type::F32: return DType::Float;
      case kernel::Type::F64: return DType::Double;
      case kernel::Type::C64: return DType::ComplexFloat;
      case kernel::Type::C128: return DType::ComplexDouble;
      case kernel::Type::Mask: return DType::Bool;
      case kernel::Type::U64: return DType::UInt64;
      case kernel::Type::I32: return DType::Int32;
      case kernel::Type::I64: break;
    }
    return DType::Int64;
  }

  Program& program_;
  std::vector<int> group_of_, value_of_;
  std::set<int> results_;
};

}  // namespace

const Expr* extent_of(symbolic::ExprPool& pool, const Geometry& g) {
  const Expr* last = g.offset;
  for (size_t d = 0; d < g.sizes.size(); ++d) {
    if (g.sizes[d]->is_constant(0)) return pool.integer(0);
    last = pool.add(last, pool.mul(g.strides[d], pool.subtract(g.sizes[d], pool.integer(1))));
  }
  return pool.add(last, pool.integer(1));
}

void assign_memory(Program& program, const std::vector<Group>& groups) {
  MemoryAssigner(program, groups).run();
}

namespace {

constexpr size_t kManyStretches = 512;

int64_t rounded_up(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Gaps of an arena while the steps go by.
class Gaps {
 public:
  int64_t take(int64_t bytes) {
    const auto found = by_size_.lower_bound({bytes, 0});
    if (found == by_size_.end()) return grow(bytes);
    const auto [size, offset] = *found;
    remove(offset, size);
    if (size > bytes) add(offset + bytes, size - bytes);
    return offset;
  }

  void give_back(int64_t offset, int64_t bytes) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + bytes) {
      bytes += next->second;
      remove(next->first, next->second);
    }
    next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin() && std::prev(next)->first + std::prev(next)->second == offset) {
      const auto [before, size] = *std::prev(next);
      remove(before, size);
      offset = before;
      bytes += size;
    }
    add(offset, bytes);
  }
  int64_t end() const { return end_; }

 private:
  // The last gap, if it is at the end, becomes a part.
  int64_t grow(int64_t bytes) {
    int64_t offset = end_;
    if (!by_offset_.empty()) {
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == end_) {
        offset = last;
        remove(last, size);
      }
    }
    end_ = offset + bytes;
    return offset;
  }
  void add(int64_t offset, int64_t bytes) {
    by_offset_[offset] = bytes;
    by_size_.insert({bytes, offset});
  }
  void remove(int64_t offset, int64_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::map<int64_t, int64_t> by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t end_ = 0;
};

ArenaLayout lay_out_in_order(const std::vector<Lifetime>& lifetimes) {
  ArenaLayout layout;
  layout.offsets.assign(lifetimes.size(), 0);
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].first < lifetimes[b].first; });
  std::set<std::pair<int, size_t>> alive;  // by their last step
  Gaps gaps;
  for (const size_t i : order) {
    while (!alive.empty() && alive.begin()->first < lifetimes[i].first) {
      const size_t dead = alive.begin()->second;
      gaps.give_back(layout.offsets[dead], rounded_up(lifetimes[dead].bytes));
      alive.erase(alive.begin());
    }
    layout.offsets[i] = gaps.take(rounded_up(lifetimes[i].bytes));
    alive.insert({lifetimes[i].last, i});
  }
  layout.bytes = gaps.end();
  return layout;
}

}  // namespace

ArenaLayout lay_out(const std::vector<Lifetime>& lifetimes) {
  if (lifetimes.size() > kManyStretches) return lay_out_in_order(lifetimes);
  ArenaLayout layout;
  layout.offsets.assign(lifetimes.size(), 0);
  std::vector<size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  std::vector<size_t> placed;  // by offset
  for (size_t i : order) {
    const Lifetime& now = lifetimes[i];
    int64_t offset = 0;
    for (size_t other : placed) {
      const Lifetime& there = lifetimes[other];
      if (there.last < now.first || now.last < there.first) continue;
      if (offset + now.bytes <= layout.offsets[other]) break;
      offset = std::max(offset, layout.offsets[other] + rounded_up(there.bytes));
    }
    layout.offsets[i] = offset;
    layout.bytes = std::max(layout.bytes, offset + now.bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), i,
                         [&](size_t a, size_t b) { return layout.offsets[a] < layout.offsets[b]; }),
        i);
  }
  // A whole number of elements of any dtype.
  layout.bytes = (layout.bytes + kAlignment - 1) / kAlignment * kAlignment;
  return layout;
}

}  // namespace taeda::inductor
