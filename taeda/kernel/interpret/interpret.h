// The tile interpreter: runs a kernel without a compiler, with the bits of its printed form.
//
// The innermost axis of a loop is walked in tiles that fit the L1 cache; for each tile the values
// run in order through prebuilt primitives (primitives.h) and chains of registers (chain.h), for
// several lines at a time (Note [Lines]). So memory is read and written as often as by the printed
// kernel, and only traffic of the caches next to the core is added.
#pragma once

#include <cstdint>
#include <memory>

#include "taeda/base/export.h"
#include "taeda/kernel/ir/kernel.h"

namespace taeda::kernel {

// What a launch is given: buffers in their order, parameters, an array of 16-byte slots for
// uniforms, and two words for errors (see print_cpu_kernel).
struct LaunchArguments {
  char* const* buffers;
  const int64_t* params;
  const void* scalars;
  int64_t* error;
};

struct InterpretedLaunch;

// Holds no reference to the kernel. Throws where the kernel breaks a rule or uses what the
// interpreter does not know.
class TAEDA_API TileInterpreter {
 public:
  explicit TileInterpreter(const Kernel& kernel);
  ~TileInterpreter();
  TileInterpreter(TileInterpreter&&) noexcept;

  int num_loops() const { return static_cast<int>(loops_.size()); }
  // Indices begin .. end of the launch of an outermost loop. Thread-safe.
  void run(int loop, const LaunchArguments& arguments, int64_t begin, int64_t end) const;

 private:
  std::vector<std::unique_ptr<InterpretedLaunch>> loops_;
};

}  // namespace taeda::kernel
