// The parts of a reduction body as programs over tiles.
#pragma once

#include <cstring>
#include <vector>

#include "taeda/kernel/interpret/primitives.h"
#include "taeda/kernel/ir/reduce_body.h"

namespace taeda::kernel {

// Elements per tile, a multiple of the lanes of every reduction tree.
constexpr int64_t kTile = 1024;

// One element of 1, 4, 8 or 16 bytes.
inline void copy_element(char* to, const char* from, size_t size) {
  switch (size) {
    case 1: *to = *from; break;
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    default: std::memcpy(to, from, 16);
  }
}
// The bytes of a Constant node as one element.
void write_constant(Type type, const uint64_t* bits, char* to);

// Some roots of a body's DAG over inputs. Needs scratch of its own per thread.
class BodyProgram {
 public:
  BodyProgram() = default;
  BodyProgram(const ReduceBody& body, const std::vector<NodeId>& roots);

  size_t scratch_bytes() const { return scratch_bytes_; }
  // Constants for kTile elements; before the first run.
  void prepare(char* scratch) const;
  // Where the roots' tiles of n elements are: in scratch, or inputs themselves.
  void run(char* const* inputs, int64_t n, char* scratch, char** outputs) const;
  // The same into other tiles, which may be those of inputs.
  void run_into(char* const* inputs, int64_t n, char* scratch, char* const* targets) const;

 private:
  struct Step {
    TilePrimitive run;
    int args[3];  // place of an operand: an input, or ~(step)
    size_t offset;
    Type type;
    bool is_constant;
    uint64_t bits[2];
  };
  char* at(int place, char* const* inputs, char* scratch) const {
    return place >= 0 ? inputs[place] : scratch + steps_[~place].offset;
  }

  std::vector<Step> steps_;
  std::vector<int> outputs_;
  std::vector<size_t> output_sizes_;
  size_t scratch_bytes_ = 0;
};

}  // namespace taeda::kernel
