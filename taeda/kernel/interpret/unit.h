// What one tile computes: the steps of a loop between which there is no other loop.
//
// Values are split by how often they change. Those that do not move along the tile's axis are
// computed as single elements, and spread only where a primitive needs them in every element.
// Cheap operations that follow each other run as one chain (chain.h), with the conversions of
// bfloat16 at its ends; tiles share scratch memory where one is done before the other begins.
#pragma once

#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <vector>

#include "taeda/base/span.h"
#include "taeda/kernel/interpret/chain.h"
#include "taeda/kernel/interpret/index_program.h"
#include "taeda/kernel/interpret/interpret.h"
#include "taeda/kernel/interpret/primitives.h"
#include "taeda/kernel/interpret/tree_run.h"

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

// What the loops of one launch share while they are planned.
struct PlanContext {
  const Kernel& kernel;
  SymbolPlaces places;
  size_t scratch_bytes = 0;
  std::vector<const ReduceBody*> bodies = {};  // of reductions, by their number
};

// How often a value is computed: once per launch, per position of the loops around, or per tile.
enum class Pace : uint8_t { Launch, Position, Tile };

// An access of memory: its index, and how it moves along the tile.
struct AccessPlan {
  int buffer = 0;
  int64_t item = 0;
  bool is_even = false;   // the index moves by `stride`
  bool is_dense = false;  // by one
  bool is_plain = false;  // memory holds the value as it is
  IndexProgram at, stride;
  const StoragePrimitives* storage = nullptr;
};

struct ValuePlan {
  Op op;
  Type type;
  Pace pace = Pace::Launch;
  bool is_spread = false;    // a primitive needs it in every element
  bool is_absorbed = false;  // in a chain: has no tile
  bool is_copied = false;    // Load: memory is written before the tile is read for the last time
  int args[3] = {-1, -1, -1};
  int uses = 0;
  TilePrimitive run = nullptr;
  size_t size = 0, offset = 0, spread_offset = 0;
  uint64_t bits[2] = {};
  int index = 0;  // of Node
  AccessPlan access;
  TileLoad dense_load = nullptr;
  std::vector<int> indirects;  // whose index this value is
  int store = -1;              // that its tile is computed into

  bool is_moving() const { return pace == Pace::Tile; }
  int num_args() const { return args[0] < 0 ? 0 : args[1] < 0 ? 1 : args[2] < 0 ? 2 : 3; }
};

// A step of a tile: one value, by its primitive or as the end of a chain.
struct ChainPart {
  ChainOp op;
  ChainOperand kind;
  int operand;  // a value; -1 for none
};
struct TileStep {
  int value;
  ChainPrimitive chain = nullptr;
  std::vector<ChainPart> parts = {};
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
  int value = 0, mask = -1;
  StoreMode mode = StoreMode::Write;
  bool is_direct = false;  // the value is computed into memory
  AccessPlan access;
  TileStore dense_store = nullptr;
  TilePrimitive combine = nullptr;
};

struct ReducePlan {
  const ReduceBody* body;
  std::vector<int> values;
  int first_state;
  Part part;
  int number;  // of its run
  BodyProgram lift, combine, finish;
  size_t lift_offset, finish_offset;
};

// Memory that begins at a line of the cache, so that registers of tiles do not cross lines. Not
// cleared.
struct FreeLines {
  void operator()(char* p) const { ::operator delete[](p, std::align_val_t(64)); }
};
using LineBytes = std::unique_ptr<char[], FreeLines>;
inline LineBytes make_line_bytes(size_t bytes) {
  return LineBytes(static_cast<char*>(::operator new[](bytes, std::align_val_t(64))));
}

// What the walk carries: symbols, states, scratch.
struct Walk {
  const LaunchArguments& arguments;
  std::vector<int64_t> symbols;
  std::vector<char*> buffers;      // local ones in `locals`
  std::vector<char> states;        // 16 bytes each
  std::vector<char*> state_tiles;  // of states that have an element per element of a tile
  LineBytes scratch, locals;
  std::vector<std::optional<TreeRun>> runs;  // by number of the reduction
  std::vector<std::vector<char>> results;    // of reductions side by side, by state

  char* state(int number) { return states.data() + 16 * number; }
  // Memory of a state's tile.
  char* tile_state(int number);
};

class Unit {
 public:
  // `along`: the axis of the tile, null for single elements. `tiled`: states that are tiles.
  Unit(PlanContext& context, Span<Step> steps, const Expr* along, const std::set<int>& tiled);

  // Values that change with the loops around, for tiles of at most `longest` elements.
  void enter(Walk& walk, int64_t longest) const {
    if (!position_.empty()) compute(walk, position_, longest);
  }
  // The values of n elements from `start` on, then what is stored of them.
  void evaluate(Walk& walk, int64_t start, int64_t n) const;
  void store(Walk& walk, int64_t start, int64_t n) const;
  void prepare(Walk& walk) const;
  const std::vector<ReducePlan>& reductions() const { return reductions_; }
  const std::vector<ReducePlan>& scans() const { return scans_; }
  // The present tiles of a reduction's values.
  void value_tiles(Walk& walk, const ReducePlan& plan, const char** values) const {
    for (size_t i = 0; i < plan.values.size(); ++i) values[i] = tiles(walk)[plan.values[i]];
  }
  // The states that the values of the present tile are: a tile per state.
  void lift(Walk& walk, const ReducePlan& plan, int64_t n, char** states) const;

 private:
  friend class UnitPlanner;
  // One element of each of some values, spread where tiles need it.
  void compute(Walk& walk, const std::vector<int>& values, int64_t longest) const;
  void compute_one(Walk& walk, const ValuePlan& value) const;
  void run_step(Walk& walk, const TileStep& step, int64_t start, int64_t n) const;
  void run_chain(Walk& walk, const TileStep& step, int64_t start, int64_t n, char* out) const;
  // Pointers to the present tile of each value.
  char** tiles(Walk& walk) const {
    return reinterpret_cast<char**>(walk.scratch.get() + tiles_offset_);
  }
  int64_t* indices(Walk& walk) const {
    return reinterpret_cast<int64_t*>(walk.scratch.get() + indices_offset_);
  }
  char* address(Walk& walk, const AccessPlan& access, int64_t start) const;
  char* load(Walk& walk, const ValuePlan& value, int64_t start, int64_t n, char* out) const;
  void load_masked(const ValuePlan& value, const char* memory, const int64_t* at, int64_t n,
                   char* const* operands, char* out) const;
  void write_index(Walk& walk, const ValuePlan& value, int64_t start, int64_t n, char* out) const;
  void check(Walk& walk, const IndirectPlan& plan, const char* values, int64_t n) const;
  // The index of each element of a tile.
  const int64_t* index_tile(Walk& walk, const AccessPlan& access, int64_t start, int64_t n) const;
  void store_one(Walk& walk, const StorePlan& plan, int64_t start, int64_t n) const;
  void store_each(Walk& walk, const StorePlan& plan, const int64_t* at, int64_t n) const;

  std::vector<ValuePlan> values_;
  std::vector<int> launch_, position_;  // values of these paces
  std::vector<TileStep> steps_;
  std::vector<IndirectPlan> indirects_;
  std::vector<StorePlan> stores_;
  std::vector<ReducePlan> reductions_, scans_;
  int along_ = -1;  // the place of the tile's axis
  size_t tiles_offset_ = 0, indices_offset_ = 0;
};

}  // namespace taeda::kernel
