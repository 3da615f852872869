// Loops of a kernel as the tile interpreter walks them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "taeda/kernel/interpret/scan_run.h"
#include "taeda/kernel/interpret/unit.h"

namespace taeda::kernel {

// What stands around a loop: an axis whose elements are computed side by side, and the states that
// have an element for each of them; or the axis of lines.
struct LoopPlace {
  const Expr* across = nullptr;
  std::set<int> tiled = {};
  const Expr* line = nullptr;
};

// Some indices of an axis that run together.
struct LineBlock {
  int place = -1;  // of the axis; -1 for no axis
  int64_t first = 0, lines = 1;
};

// A loop and what it runs: other loops, units at one point, a unit along its last axis, or one
// transposition.
class InterpretedLoop {
 public:
  InterpretedLoop(PlanContext& context, const Loop& loop, const LoopPlace& place);

  // The given range of a launch.
  void run(Walk& walk, int64_t begin, int64_t end) const;
  // Constants, and the runs of reductions.
  void prepare(Walk& walk) const;

 private:
  struct Member {
    std::unique_ptr<InterpretedLoop> loop;
    std::unique_ptr<Unit> unit;
  };
  // How the innermost axis is run.
  enum class Form : uint8_t {
    Points,
    Blocks,
    Tiles,
    Reduction,
    Scan,
    Across,
    Inside,
    Transposition
  };
  struct TransposePlan {
    int from, to, item;
    bool is_a_last;
    IndexProgram from_at, to_at, from_stride, to_stride;
    TransposePrimitive run;
  };

  void plan_form(PlanContext& context, const Loop& loop, LoopPlace& place, UnitAxes& axes);
  bool plan_lines(PlanContext& context, const Loop& loop, size_t axis);
  void add_members(PlanContext& context, const Loop& loop, const UnitAxes& axes,
                   const LoopPlace& place);
  int64_t extent(Walk& walk, size_t depth) const { return extents_[depth](walk.symbols.data()); }
  void run_whole(Walk& walk) const;
  void walk_axes(Walk& walk, size_t depth, int64_t begin, int64_t end) const;
  void run_points(Walk& walk, int64_t begin, int64_t end) const;
  template <class F>
  void each_block(Walk& walk, int place, int64_t longest, int64_t begin, int64_t end, F run) const;
  void run_blocks(Walk& walk, int64_t begin, int64_t end) const;
  void run_tile(Walk& walk, const Unit& unit, const LineBlock& block, int64_t at, int64_t n) const;
  void reduce_tile(Walk& walk, const Unit& unit, const TileRange& range, int64_t lines) const;
  void run_tiles(Walk& walk, const LineBlock& block, int64_t begin, int64_t end) const;
  void run_reduction(Walk& walk, const LineBlock& block) const;
  void reduce_lines(Walk& walk, const LineBlock& block, int64_t extent) const;
  void run_scan(Walk& walk, int64_t begin, int64_t end) const;
  void run_across(Walk& walk, int64_t begin, int64_t end) const;
  void run_inside(Walk& walk, int64_t start, int64_t n) const;
  void run_transposition(Walk& walk, int64_t begin, int64_t end) const;
  template <class F>
  void each_line(Walk& walk, size_t depth, size_t last, F line) const;
  template <class F>
  void each_reduction(F f) const;

  Form form_ = Form::Points;
  bool is_reduced_ = false;
  bool has_lines_ = false;  // the axis before the last one is run in blocks
  bool has_two_launched_ = false;
  std::vector<int> vars_;
  std::vector<IndexProgram> extents_;
  std::vector<bool> is_steady_;  // the extent does not move with the axis before
  std::vector<Member> members_;
  std::vector<IndexProgram> private_numels_;  // of local buffers that each line has
  std::optional<TransposePlan> transposed_;
};

// An outermost loop with what a launch of it needs.
struct InterpretedLaunch {
  std::unique_ptr<InterpretedLoop> loop;
  std::vector<int> params;
  std::vector<IndexProgram> local_bytes;
  std::vector<bool> is_local;
  std::set<int> private_locals;
  size_t num_symbols = 0, scratch_bytes = 0, num_runs = 0;
  int num_states = 0;

  void place_buffers(Walk& walk) const;
};

}  // namespace taeda::kernel
