// Schedules: rewrites of a kernel's loops that keep every result, bit for bit.
//
// Loops are named by the variable of one of their axes; where several loops have that variable
// (stages over the same rows), `loop_of` finds the first, and each rewrite takes the loop itself.
// A rewrite that cannot keep the results throws ValueError and leaves the kernel as it was. New
// variables get names that the kernel does not use yet.
#pragma once

#include <string>
#include <vector>

#include "taeda/base/export.h"
#include "taeda/kernel/ir/kernel.h"

namespace taeda::kernel {

// Whether an operation costs more than a load and a store.
inline bool is_dear(Op op) {
  return op == Op::Pow || op == Op::Atan2 || op == Op::Div || op >= Op::Sqrt;
}

// The first loop, outermost first, with an axis of that name; ValueError where there is none.
TAEDA_API Loop& loop_of(Kernel& kernel, const std::string& axis);

// merge.cpp
//   loop i < rows, j < columns            loop ij < rows*columns
//     store y[columns*i + j]       to       store y[ij]
// The two axes follow each other in one loop and have one role. Accesses for which both move as
// one index keep a plain stride, others get a quotient and a remainder.
TAEDA_API const Expr* merge_axes(Kernel& kernel, Loop& loop, size_t first);
// Whether no access of the loop would get a quotient if the axis `near` came right after `far`.
TAEDA_API bool can_merge_plainly(const Kernel& kernel, const Loop& loop, size_t far, size_t near);

// split.cpp
//   loop i < n                            loop i_outer < (n + 63)//64, i_inner < Min(64, n -
//   64*i_outer)
//     store y[i]                   to       store y[64*i_outer + i_inner]
// For kept axes: the elements of a reduction stay where the tree has them.
TAEDA_API void split_axis(Kernel& kernel, Loop& loop, size_t axis, int64_t factor);

// quotients.cpp
//   loop i < n*m, j < k                   loop a < n, b < m, j < k
//     store y[k*i + j] =           to       store y[m*k*a + k*b + j] =
//       load x[n*(i % m) + i//m]              load x[n*b + a]
// What extents tell of quotients and remainders: those of axes that stay below the divisor go, and
// kept axes are split where a divisor divides their extent. Sizes may be symbols.
TAEDA_API void simplify_quotients(Kernel& kernel);

// cut.cpp
//   loop j < m + n                        loop j < m
//     store y[j] = where(j < m,             store y[j] = load a[j]
//       load a[j] if j < m,         to    loop j < n
//       load b[j - m] if j >= m)            store y[m + j] = load b[j]
// Cuts outermost loops that read memory under masks where comparisons of an axis with a number
// change, so that each loop reads what it needs, without a mask. Where a mask holds for every other
// index (up to every fourth), each residue is a loop.
TAEDA_API void cut_at_masks(Kernel& kernel);

// reorder.cpp
//   loop i < rows, j < columns     to     loop j < columns, i < rows
// For kept axes of a loop; order[k] is the present place of the axis that comes k-th. An extent
// must not use an axis that would come after it.
TAEDA_API void reorder_axes(Kernel& kernel, Loop& loop, const std::vector<size_t>& order);

// nest.cpp
//   loop i < rows, j < columns            loop i < rows
//     store y[columns*i + j]       to       loop j < columns
//                                             store y[columns*i + j]
// The axes from `first` on become a loop of their own.
TAEDA_API void nest_axes(Kernel& kernel, Loop& loop, size_t first);

// stage.cpp
// An axis of a staged tile. Its extent may be shorter than the tile, whose size is made of
// parameters.
struct StagedAxis {
  Axis axis;
  const Expr* size;
};
//   loop i < rows                         loop i < rows
//     loop j < columns                      loop j < columns
//       store y[columns*i + j] = %0  to       store x_tile[j] = load x[rows*j + i]
//                                           loop j < columns
//                                             store y[columns*i + j] = load x_tile[j]
// Reads a load's elements over some axes into a local buffer before a step of the loop; that step
// and those after it read the buffer. The last of the axes lies dense in it.
TAEDA_API void stage_load(Kernel& kernel, Loop& loop, size_t step, NodeId load,
                          const std::vector<StagedAxis>& axes);
//   loop j < columns reduced              loop j < columns reduced
//     reduce sum(%3) over j -> 1            store row[j] = %3
//   loop j < columns                to      reduce sum(%3) over j -> 1
//     store y[columns*i + j] = %5         loop j < columns
//                                           store y[columns*i + j] = %5 with row[j] for %3
// Keeps a value that one inner loop computes for the loops over the same axis after it.
TAEDA_API void keep_value(Kernel& kernel, Loop& loop, size_t step, NodeId value);

// partial.cpp
//   loop i < rows                         loop j_outer < (columns + 4095)//4096 parallel, i < rows
//     loop j < columns reduced              loop j_inner < Min(4096, ...) reduced
//       reduce sum(%0) over j -> 0            reduce sum(%0) over j_inner -> 1 partial
//     store y[i] = %1              to       store sum_part[...] = %2
//                                         barrier
//                                         loop i < rows
//                                           loop j_outer < (columns + 4095)//4096 reduced
//                                             reduce sum(%3) over j_outer -> 0 combining
//                                           store y[i] = %1
// Splits the reductions that an outermost loop begins with over threads. The states of the blocks
// go through new buffers, which the caller gives memory. A block is 4096 * 2^k elements.
TAEDA_API void split_reduction(Kernel& kernel, size_t step, int64_t size);

// bind.cpp
// Runs an axis in another way: the last one as a vector, the first one of an outermost loop in
// parallel, one with a constant extent unrolled.
TAEDA_API void bind_axis(Kernel& kernel, Loop& loop, size_t axis, Binding binding);

// automatic.cpp
// The usual schedule on the CPU: quotients simplified, loops cut where masks change, axes that move
// as one merged in the order of memory, the dense axis as a vector, blocks through local buffers
// where an operand is transposed, columns side by side where all of memory is dense across a
// reduction or rows are short, dear values of a row kept for the loops after, the first axis in
// parallel. Replaces the bindings that the loops had.
TAEDA_API void schedule_for_cpu(Kernel& kernel);

}  // namespace taeda::kernel
