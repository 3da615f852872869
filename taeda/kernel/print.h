// Printers: expressions, tile functions and kernels as C++ for the CPU and as CUDA.
//
// A translation unit is a prelude followed by any number of printed functions. CPU code is compiled
// with `-std=c++20 -O2 -ffp-contract=off -fno-math-errno -fwrapv` for the instruction set of the
// eager kernels, CUDA with `--std=c++17 --fmad=false`; then both return the bits of eager code.
#pragma once

#include <string>

#include "taeda/base/export.h"
#include "taeda/kernel/expr.h"
#include "taeda/kernel/ir/kernel.h"
#include "taeda/kernel/sym.h"

namespace taeda::kernel {

// math.h and its includes as one text without #include lines.
TAEDA_API std::string cpu_prelude();
TAEDA_API std::string cuda_prelude();
// The text of the functions of called/ that values call, which stands before what is printed of
// them. A source may hold it several times.
std::string called_text(const ExprGraph& graph, const std::vector<NodeId>& roots);
std::string called_text(const Kernel& kernel);

// extern "C" void name(char* const* ptrs, long n, const void* scalars): run_tile of the traced
// body.
TAEDA_API std::string print_cpu_tile(const ExprGraph& graph, const TracedBody& body,
                                     const std::string& name);

// One function per outermost loop, numbered in their order:
//   extern "C" void name_0(char* const* ptrs, const long* params, const void* scalars, long* error,
//                          long begin, long end)
// runs indices begin .. end of the loop's first axis. ptrs holds the buffers in order; uniform k is
// element k of scalars, an array of 16-byte slots. An index out of range sets error[0] to the
// number of its check (from 1) and error[1] to the index. Throws where the kernel breaks a rule.
TAEDA_API std::string print_cpu_kernel(const Kernel& kernel);

// How the blocks of a CUDA function lie over the first loop's indices: a thread per element, or
// rows per block with lanes along x (Rows) or along y (Columns).
enum class GridShape : uint8_t { Elements, Rows, Columns };
struct CudaStage {
  GridShape shape;
  std::vector<const Expr*> extents;  // of the outermost loop's axes
  std::vector<const Expr*> length;   // of the last loop inside
  int state_bytes = 0;               // shared memory per thread
};
struct CudaKernel {
  std::string text;
  std::vector<CudaStage> stages;  // by outermost loop; function k is name_k
};
// Each function takes one struct by value: the buffers' addresses, the parameters (64 bits each),
// the address of the error words, then aligned to 16 bytes the numbers in slots of 16 bytes (at
// least one). Any grid with one dimension; blocks of rows have powers of two in both directions.
TAEDA_API CudaKernel print_cuda_kernel(const Kernel& kernel);

// extern "C" __global__ void name(out, inputs..., long long n, uniforms...), grid-stride, any
// launch shape with one dimension.
TAEDA_API std::string print_cuda_tile(const ExprGraph& graph, const TracedBody& body,
                                      const std::string& name);

}  // namespace taeda::kernel
