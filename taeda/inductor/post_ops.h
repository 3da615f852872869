// The work behind a product in the words of a library that may compute it.
//
//   kernel: y = gelu(p * scale + r)   to   mul by scale, add r, gelu
//
// A kernel that finishes blocks (Note [Finished blocks]) and writes one value in the place of the
// product is read as a chain: the product's element, and operations with one value each. The kernel
// stays: it runs wherever no library does the chain (Note [Post-ops]).
#pragma once

#include "taeda/backends/cpu/gemm/post_ops.h"
#include "taeda/inductor/kernel_step.h"

namespace taeda::inductor {

struct PlannedPostOp {
  cpu::PostOp op;
  int memory = -1;  // of an operand
  IndexProgram offset;
  std::vector<IndexProgram> strides;  // along the dimensions of the product
  int num_moving = 0;                 // dimensions along which it is not known to stand still
};

// The operations of a group's kernel over its axes, in their order; none where one of them has no
// such word.
std::vector<PlannedPostOp> find_post_ops(const Program& program, const Group& group,
                                         const GroupKernel& whole);

// As a run has them; `sizes` are those of the product. No library takes float64, so vectors of it,
// such as the scales of a batch norm, become float32 here.
class PostOpsOfRun {
 public:
  PostOpsOfRun(const std::vector<PlannedPostOp>& planned, char* const* memories,
               const int64_t* symbols, IntList sizes);
  PostOpsOfRun(const PostOpsOfRun&) = delete;
  const cpu::PostOps& get() const { return ops_; }

 private:
  void narrow(cpu::PostOp& op, IntList sizes);

  cpu::PostOps ops_;
  std::vector<std::vector<float>> narrowed_;
};

}  // namespace taeda::inductor
