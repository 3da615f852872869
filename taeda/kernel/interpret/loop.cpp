// Plans and walks loops.
#include "taeda/kernel/interpret/loop.h"

#include <algorithm>
#include <cstring>

#include "taeda/kernel/interpret/line_block.h"
#include "taeda/kernel/ir/transposition.h"

namespace taeda::kernel {

namespace {

// Elements side by side: their lanes of a reduction stay in the L1 cache.
constexpr int64_t kAcross = 256;

bool has_loop(const Loop& loop) {
  return std::any_of(loop.steps.begin(), loop.steps.end(),
                     [](const Step& step) { return std::holds_alternative<Loop>(step); });
}

// The states of all reductions in the loops inside.
void collect_states(const Loop& loop, std::set<int>& states) {
  for (const Step& step : loop.steps) {
    if (const auto* inner = std::get_if<Loop>(&step)) collect_states(*inner, states);
    if (const auto* reduce = std::get_if<Reduce>(&step))
      for (size_t i = 0; i < state_types(*reduce).size(); ++i)
        states.insert(reduce->first_state + static_cast<int>(i));
    if (const auto* scan = std::get_if<Scan>(&step))
      for (size_t i = 0; i < scan->body->result_types.size(); ++i)
        states.insert(scan->first_state + static_cast<int>(i));
  }
}

}  // namespace

// ---- plans ----
InterpretedLoop::InterpretedLoop(PlanContext& context, const Loop& loop, const LoopPlace& around)
    : is_reduced_(loop.axes[0].role == Role::Reduced), has_two_launched_(num_launched(loop) == 2) {
  for (const Axis& axis : loop.axes) {
    vars_.push_back(context.places.of(axis.var));
    extents_.push_back(context.places.program(axis.extent));
    is_steady_.push_back(vars_.size() < 2 ||
                         !uses_symbol(axis.extent, loop.axes[vars_.size() - 2].var));
  }
  LoopPlace place = around;
  UnitAxes axes{around.across};
  plan_form(context, loop, place, axes);
  if (form_ != Form::Transposition) add_members(context, loop, axes, place);
}

void InterpretedLoop::plan_form(PlanContext& context, const Loop& loop, LoopPlace& place,
                                UnitAxes& axes) {
  const size_t last = loop.axes.size() - 1;
  const Expr* var = loop.axes[last].var;
  if (place.across) {
    form_ = Form::Inside;
  } else if (const auto found = find_transposition(context.kernel, loop)) {
    form_ = Form::Transposition;
    SymbolPlaces& places = context.places;
    transposed_ = TransposePlan{found->from,
                                found->to,
                                found->item,
                                found->a + 1 == loop.axes.size(),
                                places.program(found->from_at),
                                places.program(found->to_at),
                                places.program(found->from_stride),
                                places.program(found->to_stride),
                                find_transpose(found->item)};
  } else if (!has_loop(loop)) {
    const bool is_scan = loop.axes[last].role == Role::Scanned;
    form_ = is_scan ? Form::Scan : is_reduced_ ? Form::Reduction : Form::Tiles;
    if (is_scan) collect_states(loop, place.tiled);
    axes = {var, place.line, form_ == Form::Reduction && last == 0};
    has_lines_ = form_ == Form::Tiles && last > 0 && plan_lines(context, loop, last - 1);
    if (has_lines_) axes.line = loop.axes[last - 1].var;
  } else if (loop.axes[last].binding == Binding::Vector) {
    form_ = Form::Across;
    axes.along = place.across = var;
    collect_states(loop, place.tiled);
  } else if (plan_lines(context, loop, last)) {
    form_ = Form::Blocks;
    axes.along = place.line = var;
    collect_states(loop, place.tiled);
  }
}

bool InterpretedLoop::plan_lines(PlanContext& context, const Loop& loop, size_t axis) {
  const auto found = find_private_locals(context.kernel, loop, axis);
  if (!found) return false;
  for (int buffer : *found) {
    context.private_locals.insert(buffer);
    private_numels_.push_back(context.places.program(context.kernel.buffers[buffer].numel));
  }
  return true;
}

void InterpretedLoop::add_members(PlanContext& context, const Loop& loop, const UnitAxes& axes,
                                  const LoopPlace& place) {
  for (size_t i = 0; i < loop.steps.size();) {
    if (const auto* inner = std::get_if<Loop>(&loop.steps[i])) {
      members_.push_back({std::make_unique<InterpretedLoop>(context, *inner, place), nullptr});
      ++i;
      continue;
    }
    // A scan is a unit of its own: the steps after it read its states.
    size_t end = i + 1;
    const bool is_scan = std::holds_alternative<Scan>(loop.steps[i]);
    while (!is_scan && end < loop.steps.size() && !std::holds_alternative<Loop>(loop.steps[end]) &&
           !std::holds_alternative<Scan>(loop.steps[end]))
      ++end;
    const Span<Step> steps(loop.steps.data() + i, end - i);
    members_.push_back({nullptr, std::make_unique<Unit>(context, steps, axes, place.tiled)});
    i = end;
  }
}

void InterpretedLoop::prepare(Walk& walk) const {
  for (const Member& member : members_) {
    if (member.loop) {
      member.loop->prepare(walk);
      continue;
    }
    member.unit->prepare(walk);
    for (const ReducePlan& plan : member.unit->reductions())
      walk.runs[plan.number].emplace(*plan.body, plan.combine, plan.part);
  }
}

// ---- walks ----
void InterpretedLoop::run(Walk& walk, int64_t begin, int64_t end) const {
  if (!has_two_launched_) return walk_axes(walk, 0, begin, end);
  if (begin >= end) return;
  const int64_t row = extent(walk, 1);
  for (int64_t at = begin / row; at * row < end; ++at) {
    walk.symbols[vars_[0]] = at;
    walk_axes(walk, 1, std::max<int64_t>(begin - at * row, 0), std::min(end - at * row, row));
  }
}

void InterpretedLoop::run_whole(Walk& walk) const { walk_axes(walk, 0, 0, extent(walk, 0)); }

void InterpretedLoop::walk_axes(Walk& walk, size_t depth, int64_t begin, int64_t end) const {
  if (form_ == Form::Reduction) return run_reduction(walk, {});
  if (has_lines_ && depth + 2 == vars_.size()) {
    const int64_t length = extent(walk, depth + 1);
    return each_block(walk, vars_[depth], length, begin, end,
                      [&](const LineBlock& block) { run_tiles(walk, block, 0, length); });
  }
  if (form_ == Form::Transposition && depth + 2 == vars_.size())
    return run_transposition(walk, begin, end);
  if (depth + 1 == vars_.size()) {
    if (begin >= end) return;
    switch (form_) {
      case Form::Tiles: return run_tiles(walk, {}, begin, end);
      case Form::Blocks: return run_blocks(walk, begin, end);
      case Form::Scan: return run_scan(walk, begin, end);
      case Form::Across: return run_across(walk, begin, end);
      default: return run_points(walk, begin, end);
    }
  }
  const int64_t steady = is_steady_[depth + 1] ? extent(walk, depth + 1) : -1;
  for (int64_t at = begin; at < end; ++at) {
    walk.symbols[vars_[depth]] = at;
    walk_axes(walk, depth + 1, 0, steady >= 0 ? steady : extent(walk, depth + 1));
  }
}

void InterpretedLoop::run_points(Walk& walk, int64_t begin, int64_t end) const {
  for (int64_t at = begin; at < end; ++at) {
    walk.symbols[vars_.back()] = at;
    for (const Member& member : members_) {
      if (member.loop) {
        member.loop->run_whole(walk);
        continue;
      }
      member.unit->enter(walk, 1);
      member.unit->evaluate(walk, {0, 1});
      member.unit->store(walk, {0, 1});
    }
  }
}

// Blocks of lines of at most `longest` elements each.
template <class F>
void InterpretedLoop::each_block(Walk& walk, int place, int64_t longest, int64_t begin, int64_t end,
                                 F run) const {
  for (const IndexProgram& numel : private_numels_)
    longest = std::max(longest, numel(walk.symbols.data()));
  const int64_t most = std::clamp<int64_t>(kBlock / std::max<int64_t>(longest, 1), 1, kMaxLines);
  for (int64_t at = begin; at < end; at += most) {
    walk.symbols[place] = at;
    run(LineBlock{place, at, std::min(most, end - at)});
  }
}

void InterpretedLoop::run_blocks(Walk& walk, int64_t begin, int64_t end) const {
  int64_t longest = 0;
  for (const Member& member : members_)
    if (member.loop) longest = std::max(longest, member.loop->extent(walk, 0));
  each_block(walk, vars_.back(), longest, begin, end, [&](const LineBlock& block) {
    for (const Member& member : members_) {
      if (!member.loop) {
        const TileRange range{block.first, block.lines};
        member.unit->enter(walk, range.n);
        member.unit->evaluate(walk, range);
        member.unit->store(walk, range);
        walk.symbols[block.place] = block.first;
      } else if (member.loop->form_ == Form::Reduction) {
        member.loop->run_reduction(walk, block);
      } else {
        member.loop->run_tiles(walk, block, 0, member.loop->extent(walk, 0));
      }
    }
  });
}

// n elements of each line of a block, in as many parts as scratch memory has room for.
void InterpretedLoop::run_tile(Walk& walk, const Unit& unit, const LineBlock& block, int64_t at,
                               int64_t n) const {
  const int64_t most = unit.lines_at_once(n);
  for (int64_t line = 0; line < block.lines; line += most) {
    if (block.place >= 0) walk.symbols[block.place] = block.first + line;
    const TileRange range{at, n, line, std::min(most, block.lines - line)};
    unit.evaluate(walk, range);
    reduce_tile(walk, unit, range, block.lines);
    unit.store(walk, range);
  }
  if (block.place >= 0) walk.symbols[block.place] = block.first;
}

void InterpretedLoop::reduce_tile(Walk& walk, const Unit& unit, const TileRange& range,
                                  int64_t lines) const {
  for (const ReducePlan& plan : unit.reductions()) {
    if (plan.is_chained) continue;
    TreeRun& run = *walk.runs[plan.number];
    for (int64_t l = 0; l < range.lines; ++l) {
      char* tiles[8];
      if (lines > 1) run.select(range.line + l, range.start);
      if (run.is_folded()) {
        unit.value_tiles(walk, plan, l, tiles);
        run.fold(tiles, range.n);
      } else {
        unit.lift(walk, plan, l, range.n, tiles);
        run.add(tiles, range.n);
      }
    }
  }
}

void InterpretedLoop::run_tiles(Walk& walk, const LineBlock& block, int64_t begin,
                                int64_t end) const {
  for (const Member& member : members_) {
    member.unit->enter(walk, end - begin, block.lines);
    for (int64_t at = begin, n; at < end; at += n) {
      n = std::min(member.unit->longest_tile(), end - at);
      run_tile(walk, *member.unit, block, at, n);
    }
  }
}

// Calls line(extent of axis `last`) for each index of the axes before it.
template <class F>
void InterpretedLoop::each_line(Walk& walk, size_t depth, size_t last, F line) const {
  const int64_t count = extent(walk, depth);
  if (depth == last) return line(count);
  for (int64_t at = 0; at < count; ++at) {
    walk.symbols[vars_[depth]] = at;
    each_line(walk, depth + 1, last, line);
  }
}

template <class F>
void InterpretedLoop::each_reduction(F f) const {
  for (const Member& member : members_)
    for (const ReducePlan& plan : member.unit->reductions()) f(*member.unit, plan);
}

namespace {

// Results of n reductions side by side, from a tile per state.
void write_results(Walk& walk, const ReducePlan& plan, char* const* states, int64_t n,
                   FunctionRef<char*(int state)> place) {
  char* results[8];
  std::copy(states, states + plan.body->state_types.size(), results);
  if (plan.part != Part::Partial)
    plan.finish.run(states, n, walk.scratch.get() + plan.finish_offset, results);
  const std::vector<Type>& types =
      plan.part == Part::Partial ? plan.body->state_types : plan.body->result_types;
  for (size_t i = 0; i < types.size(); ++i) {
    char* to = place(plan.first_state + static_cast<int>(i));
    if (n == 1)
      copy_element(to, results[i], type_size(types[i]));
    else
      std::memcpy(to, results[i], n * type_size(types[i]));
  }
}

}  // namespace

void InterpretedLoop::reduce_lines(Walk& walk, const LineBlock& block, int64_t extent) const {
  if (extent == 0) return;
  for (const Member& member : members_) member.unit->enter(walk, extent, block.lines);
  for (int64_t at = 0; at < extent; at += kTile)
    for (const Member& member : members_)
      run_tile(walk, *member.unit, block, at, std::min(kTile, extent - at));
}

void InterpretedLoop::run_reduction(Walk& walk, const LineBlock& block) const {
  each_reduction(
      [&](const Unit&, const ReducePlan& plan) { walk.runs[plan.number]->start(1, block.lines); });
  each_line(walk, 0, vars_.size() - 1, [&](int64_t count) { reduce_lines(walk, block, count); });
  each_reduction([&](const Unit&, const ReducePlan& plan) {
    char* states[8];
    walk.runs[plan.number]->finish(states);
    write_results(walk, plan, states, block.lines,
                  [&](int state) { return walk.state_tiles[state] = walk.state(state); });
  });
}

// Lifted by tiles, combined element by element; the steps after a scan see a tile of its states.
void InterpretedLoop::run_scan(Walk& walk, int64_t begin, int64_t end) const {
  std::vector<ScanRun> runs;
  for (const Member& member : members_)
    for (const ReducePlan& plan : member.unit->scans()) runs.emplace_back(plan, walk);
  for (const Member& member : members_) member.unit->enter(walk, end - begin);
  for (int64_t at = begin; at < end; at += kTile) {
    const int64_t n = std::min(kTile, end - at);
    size_t next = 0;
    for (const Member& member : members_) {
      member.unit->evaluate(walk, {at, n});
      for (const ReducePlan& plan : member.unit->scans()) {
        char *values[8], *lifted[8];
        member.unit->value_tiles(walk, plan, 0, values);
        member.unit->lift(walk, plan, 0, n, lifted);
        runs[next++].add(values[0], lifted, n);
      }
      member.unit->store(walk, {at, n});
    }
  }
}

// Tiles along the last axis, through all loops inside.
void InterpretedLoop::run_across(Walk& walk, int64_t begin, int64_t end) const {
  for (int64_t at = begin; at < end; at += kAcross) {
    const int64_t n = std::min(kAcross, end - at);
    for (const Member& member : members_) {
      if (member.loop) {
        member.loop->run_inside(walk, at, n);
        continue;
      }
      member.unit->enter(walk, n);
      member.unit->evaluate(walk, {at, n});
      member.unit->store(walk, {at, n});
    }
  }
}

// All indices of a loop for n elements side by side of the axis around it.
void InterpretedLoop::run_inside(Walk& walk, int64_t start, int64_t n) const {
  each_reduction([&](const Unit&, const ReducePlan& plan) { walk.runs[plan.number]->start(n); });
  auto point = [&] {
    for (const Member& member : members_) {
      member.unit->enter(walk, n);
      member.unit->evaluate(walk, {start, n});
      for (const ReducePlan& plan : member.unit->reductions()) {
        char* states[8];
        member.unit->lift(walk, plan, 0, n, states);
        walk.runs[plan.number]->add_across(states);
      }
      member.unit->store(walk, {start, n});
    }
  };
  each_line(walk, 0, vars_.size() - 1, [&](int64_t count) {
    for (int64_t at = 0; at < count; ++at) {
      walk.symbols[vars_.back()] = at;
      point();
    }
  });
  each_reduction([&](const Unit&, const ReducePlan& plan) {
    char* states[8];
    walk.runs[plan.number]->finish(states);
    write_results(walk, plan, states, n, [&](int state) { return walk.tile_state(state); });
  });
}

void InterpretedLoop::run_transposition(Walk& walk, int64_t begin, int64_t end) const {
  const TransposePlan& plan = *transposed_;
  const size_t first = vars_.size() - 2;
  walk.symbols[vars_[first]] = begin;
  walk.symbols[vars_[first + 1]] = 0;
  const int64_t lines = end - begin, length = extent(walk, first + 1);
  const int64_t m = plan.is_a_last ? length : lines, n = plan.is_a_last ? lines : length;
  if (m <= 0 || n <= 0) return;
  const int64_t* symbols = walk.symbols.data();
  plan.run(walk.buffers[plan.from] + plan.from_at(symbols) * plan.item, plan.from_stride(symbols),
           walk.buffers[plan.to] + plan.to_at(symbols) * plan.item, plan.to_stride(symbols), m, n);
}

}  // namespace taeda::kernel
