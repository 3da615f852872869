// Which values of a unit need tiles in scratch memory, and where they are.
#pragma once

#include <vector>

#include "taeda/kernel/interpret/unit.h"

namespace taeda::kernel {

// Room in the scratch memory of a walk.
size_t take_scratch(size_t& bytes, size_t count);

// The last step of planning a unit.
class TilePlacer {
 public:
  TilePlacer(Unit& unit, size_t& scratch_bytes) : unit_(unit), scratch_bytes_(scratch_bytes) {}
  void place();

 private:
  std::vector<ValuePlan>& values() { return unit_.values_; }
  void spread(int value);
  void spread_operands();
  std::vector<size_t> last_reads();
  void place_tiles();
  bool is_in_memory(const ValuePlan& value) const;

  Unit& unit_;
  size_t& scratch_bytes_;
};

}  // namespace taeda::kernel
