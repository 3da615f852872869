// Compiled kernels of devices: made once per key, kept for the life of the process.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "taeda/backends/device_registry.h"
#include "taeda/base/function_ref.h"
#include "taeda/kernel/interpret/index_program.h"
#include "taeda/kernel/ir/kernel.h"
#include "taeda/kernel/print.h"

namespace taeda::lowered {

// A product of extents, evaluated at each launch.
using Extents = std::vector<kernel::IndexProgram>;

// One outermost loop of a kernel: a function of its own.
struct Stage {
  void* function;
  bool is_check;   // tests indices and writes nothing
  Extents extent;  // of its axes; dialects that split the first axis have that alone
  // CUDA: how blocks lie over them.
  kernel::GridShape grid = kernel::GridShape::Elements;
  Extents length = {};  // of a row
  int state_bytes = 0;
};

// Memory between the stages of a launch.
struct Scratch {
  kernel::IndexProgram numel;
  int64_t item;
};

struct CompiledKernel {
  std::vector<Stage> stages;
  std::vector<Scratch> scratch;
  Extents indexed;  // of dimensions that indices go along
  bool is_cuda = false, has_stores = false;
};

// What a launch passes beside the kernel.
struct Arguments {
  const std::vector<char*>& buffers;
  const std::vector<int64_t>& params;
  const std::vector<std::array<char, 16>>& numbers;
};

// Rows of which each is worth several blocks of threads.
bool are_few_and_long(int64_t rows, int64_t length);
// Whether a dialect reduces rows in parts: few long ones keep few threads busy.
bool splits_rows(std::string_view dialect, int64_t rows, int64_t length);

// The kernel of a key on a device, made by `make` if it is new; `has_parts`: its reduction
// is split. Thread-safe; lives for ever. Others wait while one of them makes the kernel of their
// key; different kernels are made side by side.
TAEDA_API const CompiledKernel& compiled_kernel(const devices::Runtime& runtime, int device,
                                                const std::string& key, bool has_parts,
                                                FunctionRef<kernel::Kernel()> make);

// Runs the stages in order. Stops after a stage of checks that found an index out of range and
// calls `raise`: a kernel tests its indices before it writes, or its caller has done so and `raise`
// is empty. A device that defers its checks calls `raise` when the host waits for it.
TAEDA_API void launch(const devices::Runtime& runtime, int device, const CompiledKernel& compiled,
                      const Arguments& arguments, const devices::RaiseCheck& raise);

// Since the process started, on all devices.
struct KernelCounts {
  int64_t made = 0, from_disk = 0, launched = 0;
};
TAEDA_API KernelCounts kernel_counts();

}  // namespace taeda::lowered
