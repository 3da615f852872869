// The plan of a compiled graph: a list of kernels and calls, run over memory of its own.
#pragma once

#include <atomic>
#include <future>
#include <mutex>

#include "taeda/fx/compiler.h"
#include "taeda/inductor/memory.h"
#include "taeda/inductor/write_kernel.h"
#include "taeda/kernel/interpret/index_program.h"
#include "taeda/kernel/interpret/interpret.h"
#include "taeda/kernel/native/module.h"

namespace taeda::inductor {

using dispatch::Value;

// A kernel that is interpreted until its native form is there; the swap changes no bit.
class KernelStep {
 public:
  KernelStep(GroupKernel made, const std::vector<const Expr*>& symbols);

  // False where an index that was read lies outside of its dimension.
  bool run(char* const* memories, const int64_t* symbols) const;

  // The kernel, scheduled, under a name that all kernels share: equal ones have equal texts.
  const std::string& text() const { return text_; }
  // Its functions as C++, under another name.
  std::string source(const std::string& name);
  const std::vector<int>& memories() const { return memories_; }
  bool is_native() const { return native_.load(std::memory_order_acquire) != nullptr; }
  // Uses functions of a loaded object from now on.
  void set_native(std::shared_ptr<kernel::NativeModule> module, const std::string& name);

 private:
  using NativeFn = void (*)(char* const*, const int64_t*, const void*, int64_t*, int64_t, int64_t);
  struct LoopInfo {
    kernel::IndexProgram extent, work;  // of the first axis; elements per index of it
    bool is_parallel;
  };
  struct Native {
    std::shared_ptr<kernel::NativeModule> module;
    std::vector<NativeFn> functions;
  };
  kernel::Kernel kernel_;
  std::string text_;
  std::vector<int> memories_;
  std::vector<LoopInfo> loops_;
  std::unique_ptr<kernel::TileInterpreter> interpreter_;
  std::unique_ptr<Native> owned_;
  std::atomic<const Native*> native_{nullptr};
};

// What a plan consists of and how it ran.
struct PlanReport {
  int kernels = 0, native = 0, calls = 0;
  int64_t arena_bytes = 0;  // of the last run
  std::vector<std::string> called;
};

// One plan may run on several threads at once: each run has memory of its own.
class TAEDA_API CompiledGraph {
 public:
  // Calls `raise` on the inputs where a run finds an index out of range: it throws eager's error.
  CompiledGraph(std::unique_ptr<Program> program, fx::CompiledFn raise);
  ~CompiledGraph();

  size_t num_inputs() const;
  // Tensors and integers as the graph's placeholders have them. Throws where an input is not like
  // the one that was traced: rank, dtype, device, or a size that the trace took as a constant.
  std::vector<Value> run(const std::vector<Value>& inputs);

  // Has the system's compiler build every kernel in the background. Each is interpreted until its
  // native form is there, and for ever where the compiler fails; that is told by one warning.
  void start_native();
  // The same, and waits for it. Throws where a kernel could not be compiled.
  void compile_native();
  PlanReport report() const;
  // The kernels and calls in the order in which they run.
  std::string text() const;

  struct Parts;

 private:
  std::unique_ptr<Parts> parts_;
};

}  // namespace taeda::inductor
