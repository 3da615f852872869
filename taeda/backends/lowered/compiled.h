// Compiled kernels of devices: made once per key, kept for the life of the process.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "taeda/backends/device_registry.h"
#include "taeda/base/function_ref.h"
#include "taeda/kernel/ir/kernel.h"

namespace taeda::lowered {

// One outermost loop of a kernel: a function of its own, with the extent of its first axis.
struct Stage {
  void* function;
  const kernel::Expr* extent;
  bool is_check;  // tests indices and writes nothing
  TaedaLaunch shape{};
};

struct CompiledKernel {
  kernel::Kernel kernel;  // as it was scheduled
  std::vector<Stage> stages;
  bool has_checks = false;
};

// What a launch passes beside the kernel.
struct Arguments {
  const std::vector<char*>& buffers;
  const std::vector<int64_t>& params;
  const std::vector<std::array<char, 16>>& numbers;
};

// An index out of range; `check` counts from 1, 0 where all were within.
struct BadIndex {
  int check = 0;
  int64_t index = 0;
};

// The kernel of a key on a device, made by `make` if it is new. Thread-safe; lives for ever.
const CompiledKernel& compiled_kernel(const devices::Runtime& runtime, int device,
                                      const std::string& key, FunctionRef<kernel::Kernel()> make);

// Runs the stages in order. Stops after a stage that found an index out of range: a kernel tests
// its indices before it writes.
BadIndex launch(const devices::Runtime& runtime, int device, const CompiledKernel& compiled,
                const Arguments& arguments);

// Since the process started, on all devices.
struct KernelCounts {
  int64_t made = 0, from_disk = 0, launched = 0;
};
TAEDA_API KernelCounts kernel_counts();

}  // namespace taeda::lowered
