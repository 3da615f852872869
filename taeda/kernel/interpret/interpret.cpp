// Walks the loops of a kernel and runs their units by tiles.
#include "taeda/kernel/interpret/interpret.h"

#include <algorithm>
#include <cstring>

#include "taeda/base/error.h"
#include "taeda/kernel/interpret/unit.h"

namespace taeda::kernel {

namespace {

// One running scan: its states, and tiles of its results.
class ScanRun {
 public:
  ScanRun(const ReducePlan& plan, Walk& walk)
      : plan_(plan), walk_(walk), combine_scratch_(plan.combine.scratch_bytes()) {
    plan.combine.prepare(combine_scratch_.data());
    const ReduceBody& body = *plan.body;
    for (size_t s = 0; s < body.state_types.size(); ++s) {
      const Node& node = body.graph.node(body.identity[s]);
      write_constant(node.type, node.bits, states_[s]);
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

}  // namespace

// A loop and what it runs: other loops, units at one point, or a unit along its last axis.
class InterpretedLoop {
 public:
  InterpretedLoop(const Kernel& kernel, const Loop& loop, SymbolPlaces& places,
                  size_t& scratch_bytes);

  void run(Walk& walk, int64_t begin, int64_t end, bool is_outermost) const {
    walk_axes(walk, 0, begin, end, is_outermost);
  }
  void prepare(Walk& walk) const {
    for (const Member& member : members_) {
      if (member.loop) member.loop->prepare(walk);
      if (member.unit) member.unit->prepare(walk);
    }
  }

  // Filled in for the outermost loop.
  std::vector<int> params;
  size_t num_symbols = 0, scratch_bytes = 0;
  int num_states = 0;

 private:
  struct Member {
    std::unique_ptr<InterpretedLoop> loop;
    std::unique_ptr<Unit> unit;
  };
  void walk_axes(Walk& walk, size_t depth, int64_t begin, int64_t end, bool is_outermost) const;
  void run_members(Walk& walk) const;
  void run_reduction(Walk& walk) const;
  void run_scan(Walk& walk, int64_t begin, int64_t end) const;
  void write_results(Walk& walk, const ReducePlan& plan, char* const* states) const;
  template <class F>
  void each_line(Walk& walk, size_t depth, F line) const;

  Role role_;
  bool is_leaf_;
  std::vector<int> vars_;
  std::vector<IndexProgram> extents_;
  std::vector<Member> members_;
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
      members_.push_back(
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
    members_.push_back(
        {nullptr, std::make_unique<Unit>(kernel, Span<Step>(loop.steps.data() + i, end - i), along,
                                         places, scratch_bytes, scanned)});
    i = end;
  }
}

void InterpretedLoop::run_members(Walk& walk) const {
  for (const Member& member : members_) {
    if (member.loop) {
      member.loop->run(walk, 0, 0, false);
    } else {
      member.unit->enter(walk, 1);
      member.unit->run(walk, 0, 1);
    }
  }
}

void InterpretedLoop::walk_axes(Walk& walk, size_t depth, int64_t begin, int64_t end,
                                bool is_outermost) const {
  if (is_leaf_ && role_ == Role::Reduced && depth == 0) return run_reduction(walk);
  const bool is_given = is_outermost && depth == 0;
  const int64_t first = is_given ? begin : 0;
  const int64_t last = is_given ? end : extents_[depth](walk.symbols.data());
  if (is_leaf_ && depth + 1 == vars_.size()) {
    if (role_ == Role::Scanned) return run_scan(walk, first, last);
    if (first >= last) return;
    for (const Member& member : members_) member.unit->enter(walk, last - first);
    for (int64_t at = first; at < last; at += kTile)
      for (const Member& member : members_) member.unit->run(walk, at, std::min(kTile, last - at));
    return;
  }
  for (int64_t at = first; at < last; ++at) {
    walk.symbols[vars_[depth]] = at;
    if (depth + 1 == vars_.size())
      run_members(walk);
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

void InterpretedLoop::run_reduction(Walk& walk) const {
  std::vector<TreeRun> runs;
  for (const Member& member : members_)
    for (const ReducePlan& plan : member.unit->reductions())
      runs.emplace_back(*plan.body, plan.combine);
  each_line(walk, 0, [&](int64_t extent) {
    if (extent == 0) return;
    for (const Member& member : members_) member.unit->enter(walk, extent);
    for (int64_t at = 0; at < extent; at += kTile) {
      const int64_t n = std::min(kTile, extent - at);
      size_t next = 0;
      for (const Member& member : members_) {
        member.unit->run(walk, at, n);
        for (const ReducePlan& plan : member.unit->reductions()) {
          char* states[8];
          member.unit->lift(walk, plan, n, states);
          runs[next++].add(states, n);
        }
      }
    }
  });
  size_t next = 0;
  for (const Member& member : members_)
    for (const ReducePlan& plan : member.unit->reductions()) {
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
  for (const Member& member : members_)
    for (const ReducePlan& plan : member.unit->scans()) runs.emplace_back(plan, walk);
  for (const Member& member : members_) member.unit->enter(walk, end - begin);
  for (int64_t at = begin; at < end; at += kTile) {
    const int64_t n = std::min(kTile, end - at);
    size_t next = 0;
    for (const Member& member : members_) {
      member.unit->run(walk, at, n);
      for (const ReducePlan& plan : member.unit->scans()) {
        char* lifted[8];
        member.unit->lift(walk, plan, n, lifted);
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
