// What one tile computes: the steps of a loop between which there is no other loop.
//
// Values are split by how often they change. Those that do not move along the tile's axis are
// computed as single elements, and spread only where a primitive needs them in every element.
// Operations that follow each other run as one chain (chain.h), with the conversions of bfloat16 at
// its ends and reductions behind it; tiles share scratch memory where one is done before the other
// begins.
//
// Note [Lines]. A tile may have several lines: indices of the axis around the tile's one, for which
// the steps are the same and every access moves evenly. What a step costs beside its arithmetic is
// paid once for all of them.
#pragma once

#include <algorithm>
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

// Lines that one block can have, whole registers of them.
constexpr int64_t kMaxLines = 64;
// Elements of a block: several lines stay in the caches next to the core.
constexpr int64_t kBlock = 8192;

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
  std::set<int> private_locals = {};           // buffers that each line of a block has for itself
};

// The axes of a unit: of the elements of a tile, and of the lines that a tile may have; null for
// none.
struct UnitAxes {
  const Expr* along = nullptr;
  const Expr* line = nullptr;
  bool is_one_run = false;  // tiles begin at multiples of kTile of a reduction
};

// A tile: n elements from `start` on of some lines. `line` counts from the first line of the block
// that the unit was entered for; the symbol of the axis of lines stands at that line.
struct TileRange {
  int64_t start, n, line = 0, lines = 1;
};

// Where the elements of a tile lie.
struct Tile {
  char* data;
  int64_t pitch;  // bytes from line to line
  char* at(int64_t line) const { return data + line * pitch; }
};

// How often a value is computed: once per launch, per position of the loops around (for all lines
// of a block at once), or per tile.
enum class Pace : uint8_t { Launch, Position, Tile };

// An access of memory: its index, and how it moves along the tile.
struct AccessPlan {
  int buffer = 0;
  int64_t item = 0;
  bool is_even = false;     // the index moves by `stride`
  bool is_dense = false;    // by one
  bool is_plain = false;    // memory holds the value as it is
  bool is_private = false;  // a local buffer of each line
  bool is_sum = false;      // the index moves by `stride` and by multiples of `parts`
  IndexProgram at, stride, line_stride;
  struct Part {
    int indirect;  // of the unit
    IndexProgram factor;
  };
  std::vector<Part> parts;  // indices from memory, which are 0 in `at`
  const StoragePrimitives* storage = nullptr;
};

struct ValuePlan {
  Op op;
  Type type;
  Pace pace = Pace::Launch;
  bool is_spread = false;    // a primitive needs it in every element
  bool is_absorbed = false;  // in a chain: has no tile
  bool is_lined = false;     // State: lines have elements of their own
  bool is_padded = false;    // may be computed for more lines than there are
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
  int operand;  // a value, or a reduction by its number; -1 for none
};
struct TileStep {
  int value;
  ChainPrimitive chain = nullptr;
  std::vector<ChainPart> parts = {};
  std::vector<ChainPart> folds = {};  // into reductions, after the value is stored
  bool is_stored = true;
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
  bool is_chained = false;  // a chain folds its value
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
  LineBytes states;                // 16 bytes per line of a block
  std::vector<char*> state_tiles;  // of states that have an element per element of a tile
  LineBytes scratch, locals;
  std::vector<std::optional<TreeRun>> runs;  // by number of the reduction
  std::vector<std::vector<char>> results;    // of reductions side by side, by state

  char* state(int number) { return states.get() + 16 * kMaxLines * number; }
  // Memory of a state's tile.
  char* tile_state(int number);
};

class Unit {
 public:
  // `tiled`: states with an element per element of a tile, or per line where tiles have lines.
  Unit(PlanContext& context, Span<Step> steps, const UnitAxes& axes, const std::set<int>& tiled);

  // Values that change with the loops around, for a block of lines and tiles of at most `longest`
  // elements.
  void enter(Walk& walk, int64_t longest, int64_t lines = 1) const;
  // Elements of a line that a tile may have. Where one chain does all, from memory to memory, no
  // tile has to stay in the caches.
  int64_t longest_tile() const { return is_one_chain_ ? INT64_MAX : kTile; }
  // Lines that a tile of n elements per line may have.
  int64_t lines_at_once(int64_t n) const {
    return has_tiles_ ? std::max<int64_t>(1, kTile / n) : kMaxLines;
  }
  // The values of a tile, then what is stored of them.
  void evaluate(Walk& walk, const TileRange& range) const;
  void store(Walk& walk, const TileRange& range) const;
  void prepare(Walk& walk) const;
  const std::vector<ReducePlan>& reductions() const { return reductions_; }
  const std::vector<ReducePlan>& scans() const { return scans_; }
  // A line of the present tiles of a reduction's values.
  void value_tiles(Walk& walk, const ReducePlan& plan, int64_t line, char** values) const {
    for (size_t i = 0; i < plan.values.size(); ++i)
      values[i] = tiles(walk)[plan.values[i]].at(line);
  }
  // The states that the values of a line of the present tile are: a tile per state.
  void lift(Walk& walk, const ReducePlan& plan, int64_t line, int64_t n, char** states) const;

 private:
  friend class UnitPlanner;
  friend class TilePlacer;
  // One element per line of a value that does not move along the tile.
  void compute(Walk& walk, const ValuePlan& value, int64_t lines) const;
  // Such a value in every element of a tile.
  void spread(Walk& walk, int value, const TileRange& range) const;
  void run_step(Walk& walk, const TileStep& step, const TileRange& range) const;
  void run_chain(Walk& walk, const TileStep& step, const TileRange& range, Tile out) const;
  void run_primitive(Walk& walk, const ValuePlan& value, const TileRange& range, Tile out) const;
  // The present tile of each value.
  Tile* tiles(Walk& walk) const {
    return reinterpret_cast<Tile*>(walk.scratch.get() + tiles_offset_);
  }
  int64_t* indices(Walk& walk) const {
    return reinterpret_cast<int64_t*>(walk.scratch.get() + indices_offset_);
  }
  // Memory from the first element of a tile on.
  Tile address(Walk& walk, const AccessPlan& access, const TileRange& range) const;
  Tile load(Walk& walk, const ValuePlan& value, const TileRange& range, Tile out) const;
  void load_masked(const ValuePlan& value, const char* memory, const int64_t* at, int64_t n,
                   char* const* operands, char* out) const;
  const int64_t* index_in_memory(Walk& walk, const AccessPlan& access, const TileRange& range,
                                 int64_t* start) const;
  void check(Walk& walk, const IndirectPlan& plan, const char* values, int64_t n) const;
  // Of an index that does not move, for a tile.
  void report(Walk& walk, const IndirectPlan& plan, const TileRange& range) const;
  // The index of each element of a tile, and of one element per line.
  // Indices of a tile. They count from `start` where the caller has one, else from the beginning.
  const int64_t* index_tile(Walk& walk, const AccessPlan& access, const TileRange& range,
                            int64_t* start = nullptr) const;
  const int64_t* index_lines(Walk& walk, const AccessPlan& access, int64_t lines) const;
  void write_line(Walk& walk, const AccessPlan& access, const TileRange& range, int64_t* to) const;
  void store_one(Walk& walk, const StorePlan& plan, const TileRange& range) const;
  void store_each(Walk& walk, const StorePlan& plan, const TileRange& range) const;
  static void combine_dense(const StorePlan& plan, const int64_t* at, const char* tile, size_t size,
                            int64_t n, char* memory);

  std::vector<ValuePlan> values_;
  std::vector<int> launch_, position_;  // values of these paces
  std::vector<int> spread_launch_, spread_position_;
  std::vector<TileStep> steps_;
  std::vector<IndirectPlan> indirects_;
  std::vector<StorePlan> stores_;
  std::vector<ReducePlan> reductions_, scans_;
  int along_ = -1, line_ = -1;  // the places of the axes
  bool has_tiles_ = false;      // in scratch memory
  bool is_one_chain_ = false;   // beside it, loads that are memory
  size_t tiles_offset_ = 0, indices_offset_ = 0;
};

}  // namespace taeda::kernel
