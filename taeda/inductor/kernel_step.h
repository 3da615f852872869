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
  int64_t extent;  // indices; of a joined kernel, elements of all members
  int64_t grain;   // as many as a thread is worth; the loop is serial where it is 0
  // Of a joined kernel, by member: the element that its first index begins with, and elements per
  // index.
  std::vector<int64_t> starts = {}, works = {};
};

// What a kernel takes of a run of known sizes.
struct KernelLaunch {
  std::vector<LoopRange> loops;
  std::vector<std::vector<int64_t>> params;  // by member: Note [Lifted sizes]
};

// A number of a run, as kernels read them.
struct alignas(16) RunNumber {
  uint64_t value;
};

// Note [Joined kernels]: kernels that are equal but for their memory and the numbers of their
// launch (the steps of an optimizer over its parameters) are one kernel of several members: one
// body, and a table of pointers and numbers with a row per member.
//
//   kernel0(b0..b6, p0 = 768)                      member 0 | 1 | ...       b0..b6 and p0 of each
//   kernel1(b0..b6, p0 = 589824)      ->  kernel0  elements 0 .. 768 .. 590592 .. of one range
//   ...
//
// A loop runs over the elements of all members as over one range, which threads share out evenly,
// whatever the members' sizes are. Each loop is done for all members before the next one begins.
// Kernels of one element need no threads, and run in the launch of a kernel next to them.

// The swap to the native form changes no bit. Runs on any number of threads at once.
class KernelStep {
 public:
  // Temporary memory beside that of the program's values, by its place among memories.
  using AddMemory = FunctionRef<int(DType dtype, const Expr* numel)>;
  KernelStep(GroupKernel made, const std::vector<const Expr*>& symbols, AddMemory add_memory);

  // Takes the members of an equal kernel (key()), which is no more.
  void join(KernelStep&& other);
  // To be called before the first run, when all members are there.
  void make_interpreter();

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
  size_t num_members() const { return members_.size(); }
  // Whether each of its loops has one index, whatever the sizes are.
  bool has_one_element() const;
  // Of the program, in the order of the kernel's buffers, member by member; and those that it
  // writes.
  const std::vector<int>& memories() const { return memories_; }
  const std::vector<int>& written() const { return written_; }
  bool is_native() const { return native_.load(std::memory_order_acquire) != nullptr; }
  // Uses functions of a loaded object from now on.
  void set_native(std::shared_ptr<kernel::NativeModule> module, const std::string& name);

 private:
  using NativeFn = void (*)(char* const*, const int64_t*, const void*, int64_t*, int64_t, int64_t);
  struct LoopInfo {
    IndexProgram extent, work;  // of the first axis; elements per index of it
  };
  struct Member {
    std::vector<LoopInfo> loops;
    std::vector<IndexProgram> params;
  };
  struct Native {
    std::shared_ptr<kernel::NativeModule> module;
    std::vector<NativeFn> functions;
  };
  LoopRange range_of(size_t loop, const int64_t* symbols) const;
  // Indices of a loop of one member.
  void run_part(const Native* native, size_t loop, const kernel::LaunchArguments& arguments,
                int64_t begin, int64_t end) const;
  bool run_form(const Native* native, char* const* memories, const KernelLaunch& launch,
                const RunNumber* numbers) const;

  kernel::Kernel kernel_;
  std::string text_, key_;
  std::vector<int> memories_, written_;
  std::vector<bool> is_parallel_;  // by loop
  std::vector<Member> members_;
  std::unique_ptr<kernel::TileInterpreter> interpreter_;
  std::unique_ptr<Native> owned_;
  std::atomic<const Native*> native_{nullptr};
};

}  // namespace taeda::inductor
