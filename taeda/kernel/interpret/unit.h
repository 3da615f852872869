// What one tile computes: the steps of a loop between which there is no other loop.
//
// Values are split by how often they change. Those that do not move along the tile's axis are
// computed as tiles of one element, and spread where a moving value needs them.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "taeda/base/span.h"
#include "taeda/kernel/interpret/body_program.h"
#include "taeda/kernel/interpret/index_program.h"
#include "taeda/kernel/interpret/interpret.h"
#include "taeda/kernel/interpret/primitives.h"

namespace taeda::kernel {

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
       size_t& scratch_bytes, const std::set<int>& scanned);

  // Values that change with the loops around, for tiles of at most `longest` elements.
  void enter(Walk& walk, int64_t longest) const { compute(walk, Pace::Position, longest); }
  // n elements from `start` on: values, then stores.
  void run(Walk& walk, int64_t start, int64_t n) const;
  void prepare(Walk& walk) const;
  const std::vector<ReducePlan>& reductions() const { return reductions_; }
  const std::vector<ReducePlan>& scans() const { return scans_; }
  // The states that the values of the present tile are: a tile per state.
  void lift(Walk& walk, const ReducePlan& plan, int64_t n, char** states) const;

 private:
  friend class UnitPlanner;
  // One element of each value of a pace, spread where tiles need it.
  void compute(Walk& walk, Pace pace, int64_t longest) const;
  void evaluate(Walk& walk, Pace pace, int64_t start, int64_t n) const;
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

}  // namespace taeda::kernel
