// A kernel of a plan: interpreted at once, native as soon as it is compiled.
#pragma once

#include <atomic>

#include "taeda/base/function_ref.h"
#include "taeda/inductor/write_kernel.h"
#include "taeda/kernel/interpret/index_program.h"
#include "taeda/kernel/interpret/interpret.h"
#include "taeda/kernel/native/module.h"

namespace taeda::inductor {

using kernel::IndexProgram;

// An expression of sizes as a program over the values of these symbols.
IndexProgram program_of(const Expr* e, const std::vector<const Expr*>& symbols);

// How an outermost loop runs in a run of known sizes.
struct LoopRange {
  int64_t extent;
  int64_t grain;  // indices that a thread is worth; the loop is serial where it is 0
};

// What a kernel takes of a run of known sizes.
struct KernelLaunch {
  std::vector<LoopRange> loops;
  std::vector<int64_t> params;  // Note [Lifted sizes]
};

// A number of a run, as kernels read them.
struct alignas(16) RunNumber {
  uint64_t value;
};

// The swap to the native form changes no bit. Runs on any number of threads at once.
class KernelStep {
 public:
  // Temporary memory beside that of the program's values, by its place among memories.
  using AddMemory = FunctionRef<int(DType dtype, const Expr* numel)>;
  KernelStep(GroupKernel made, const std::vector<const Expr*>& symbols, AddMemory add_memory);

  KernelLaunch launch(const int64_t* symbols) const;
  // `memories`: those of the run. False where an index that was read lies outside of its dimension.
  bool run(char* const* memories, const KernelLaunch& launch, const RunNumber* numbers) const;
  // Both forms on memory of their own kind; `is_native` says which.
  bool run_as(bool is_native, char* const* memories, const KernelLaunch& launch,
              const RunNumber* numbers) const;
  // The same on this thread alone, for symbols that change from block to block: those of the
  // program, then those of the block (Note [Finished blocks]). `to`, where it is not null, is where
  // the kernel writes, in place of its memory.
  bool run_block(bool may_be_native, char* const* memories, const int64_t* symbols,
                 const RunNumber* numbers, void* to = nullptr) const;

  // The kernel, scheduled, over the sizes of the program.
  const std::string& text() const { return text_; }
  // As it is compiled, under a name that all kernels share: equal ones have equal keys.
  const std::string& key() const { return key_; }
  // Its functions as C++, under another name.
  std::string source(const std::string& name);
  // Of the program, in the order of the kernel's buffers; and those that it writes.
  const std::vector<int>& memories() const { return memories_; }
  const std::vector<int>& written() const { return written_; }
  bool is_native() const { return native_.load(std::memory_order_acquire) != nullptr; }
  // Uses functions of a loaded object from now on.
  void set_native(std::shared_ptr<kernel::NativeModule> module, const std::string& name);

 private:
  using NativeFn = void (*)(char* const*, const int64_t*, const void*, int64_t*, int64_t, int64_t);
  struct LoopInfo {
    IndexProgram extent, work;  // of the first axis; elements per index of it
    bool is_parallel;
  };
  struct Native {
    std::shared_ptr<kernel::NativeModule> module;
    std::vector<NativeFn> functions;
  };
  bool run_form(const Native* native, char* const* memories, const KernelLaunch& launch,
                const RunNumber* numbers) const;

  kernel::Kernel kernel_;
  std::string text_, key_;
  std::vector<int> memories_, written_;
  std::vector<LoopInfo> loops_;
  std::vector<IndexProgram> params_;
  std::unique_ptr<kernel::TileInterpreter> interpreter_;
  std::unique_ptr<Native> owned_;
  std::atomic<const Native*> native_{nullptr};
};

}  // namespace taeda::inductor
