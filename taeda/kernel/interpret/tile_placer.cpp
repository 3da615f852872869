// Gives the tiles of a unit room in scratch memory.
#include "taeda/kernel/interpret/tile_placer.h"

#include <algorithm>

namespace taeda::kernel {

size_t take_scratch(size_t& bytes, size_t count) {
  const size_t at = bytes;
  bytes += (count + 63) / 64 * 64;
  return at;
}

void TilePlacer::place() {
  spread_operands();
  place_tiles();
  const auto chains = std::count_if(unit_.steps_.begin(), unit_.steps_.end(),
                                    [](const TileStep& step) { return step.chain != nullptr; });
  unit_.is_one_chain_ = !unit_.has_tiles_ && unit_.indirects_.empty() && chains == 1;
}

void TilePlacer::spread(int value) { values()[value].is_spread |= !values()[value].is_moving(); }

void TilePlacer::spread_operands() {
  for (const TileStep& step : unit_.steps_)
    if (!step.chain)
      for (int i = 0; i < values()[step.value].num_args(); ++i)
        spread(values()[step.value].args[i]);
  for (const StorePlan& store : unit_.stores_) {
    unit_.has_tiles_ |= !store.is_direct;
    spread(store.value);
    if (store.mask >= 0) spread(store.mask);
  }
  for (const auto* plans : {&unit_.reductions_, &unit_.scans_})
    for (const ReducePlan& plan : *plans)
      for (int value : plan.values) spread(value);
  for (size_t v = 0; v < values().size(); ++v) {
    ValuePlan& value = values()[v];
    if (!value.is_spread) continue;
    value.spread_offset = take_scratch(scratch_bytes_, kTile * value.size);
    (value.pace == Pace::Launch ? unit_.spread_launch_ : unit_.spread_position_)
        .push_back(static_cast<int>(v));
    unit_.has_tiles_ = true;
  }
}

// The last step that reads each value; all steps for those that are read after the steps.
std::vector<size_t> TilePlacer::last_reads() {
  std::vector<size_t> last(values().size(), 0);
  for (size_t i = 0; i < unit_.steps_.size(); ++i) {
    const TileStep& step = unit_.steps_[i];
    for (const ChainPart& part : step.parts)
      if (part.operand >= 0) last[part.operand] = i;
    if (!step.chain)
      for (int k = 0; k < values()[step.value].num_args(); ++k)
        last[values()[step.value].args[k]] = i;
  }
  const size_t end = unit_.steps_.size();
  for (const StorePlan& store : unit_.stores_) {
    last[store.value] = end;
    if (store.mask >= 0) last[store.mask] = end;
  }
  for (const auto* plans : {&unit_.reductions_, &unit_.scans_})
    for (const ReducePlan& plan : *plans)
      for (int value : plan.values)
        if (!plan.is_chained) last[value] = end;
  return last;
}

// A tile takes the memory of one of its size that is not read any more, by its own step at last.
void TilePlacer::place_tiles() {
  const std::vector<size_t> last = last_reads();
  std::map<size_t, std::vector<size_t>> free;
  for (size_t i = 0; i < unit_.steps_.size(); ++i) {
    for (size_t k = 0; k <= i; ++k) {
      const ValuePlan& done = values()[unit_.steps_[k].value];
      if (k < i && unit_.steps_[k].is_stored && last[unit_.steps_[k].value] == i)
        free[done.size].push_back(done.offset);
    }
    if (!unit_.steps_[i].is_stored) continue;
    ValuePlan& value = values()[unit_.steps_[i].value];
    unit_.has_tiles_ |= !is_in_memory(value);
    auto& known = free[value.size];
    if (known.empty()) {
      value.offset = take_scratch(scratch_bytes_, kTile * value.size);
    } else {
      value.offset = known.back();
      known.pop_back();
    }
  }
}

// Whether the tile of a step is memory of a buffer.
bool TilePlacer::is_in_memory(const ValuePlan& value) const {
  return value.store >= 0 || (value.op == Op::Load && value.args[0] < 0 && value.access.is_dense &&
                              value.access.is_plain && !value.is_copied);
}

}  // namespace taeda::kernel
