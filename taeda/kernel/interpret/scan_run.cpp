// Combines the elements of a scan one after another.
#include "taeda/kernel/interpret/scan_run.h"

#include <cstring>

namespace taeda::kernel {

ScanRun::ScanRun(const ReducePlan& plan, Walk& walk)
    : plan_(plan),
      walk_(walk),
      scan_(find_scan(*plan.body)),
      combine_scratch_(plan.combine.scratch_bytes()) {
  plan.combine.prepare(combine_scratch_.data());
  const ReduceBody& body = *plan.body;
  for (size_t s = 0; s < body.state_types.size(); ++s) {
    const Node& node = body.graph.node(body.identity[s]);
    write_constant(node.type, node.bits, states_[s]);
  }
  for (size_t i = 0; i < body.result_types.size(); ++i) {
    tiles_.emplace_back(kTile * type_size(body.result_types[i]));
    walk.state_tiles[plan.first_state + i] = tiles_.back().data();
  }
}

void ScanRun::add(const char* values, char* const* lifted, int64_t n) {
  const ReduceBody& body = *plan_.body;
  const size_t count = body.state_types.size();
  char *inputs[16], *outputs[8], *results[8];
  if (scan_) {
    for (size_t s = 0; s < count; ++s) inputs[s] = states_[s];
    for (size_t i = 0; i < tiles_.size(); ++i) results[i] = tiles_[i].data();
    return scan_(inputs, values, n, results);
  }
  for (int64_t k = 0; k < n; ++k) {
    for (size_t s = 0; s < count; ++s) {
      inputs[s] = states_[s];
      inputs[count + s] = lifted[s] + k * type_size(body.state_types[s]);
    }
    plan_.combine.run(inputs, 1, combine_scratch_.data(), outputs);
    for (size_t s = 0; s < count; ++s)
      if (outputs[s] != states_[s])
        std::memcpy(states_[s], outputs[s], type_size(body.state_types[s]));
    plan_.finish.run(inputs, 1, walk_.scratch.get() + plan_.finish_offset, results);
    for (size_t i = 0; i < tiles_.size(); ++i) {
      const size_t size = type_size(body.result_types[i]);
      std::memcpy(tiles_[i].data() + k * size, results[i], size);
    }
  }
}

}  // namespace taeda::kernel
