// What equal kernels of a plan share: the kernel as it is launched, interpreted or native.
#pragma once

#include <atomic>
#include <unordered_map>

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

// The swap to the native form changes no bit. Runs on any number of threads at once.
class KernelForm {
 public:
  KernelForm(kernel::Kernel kernel, const std::vector<const Expr*>& symbols);

  // The launch of kernels with equal keys, whose forms these are (Note [Joined kernels]).
  static KernelLaunch launch(const std::vector<std::shared_ptr<KernelForm>>& members,
                             const int64_t* symbols);
  // `buffers`: memory by buffer, `num_buffers` of each member. False where an index that was read
  // lies outside of its dimension.
  bool run(bool may_be_native, char* const* buffers, size_t num_buffers, const KernelLaunch& launch,
           const RunNumber* numbers) const;
  // The same on this thread alone, for symbols that change from block to block.
  bool run_block(bool may_be_native, char* const* buffers, const int64_t* symbols,
                 const RunNumber* numbers) const;

  // The kernel, scheduled, over the sizes of the program.
  const std::string& text() const { return text_; }
  // As it is compiled, under a name that all kernels share: equal ones have equal keys.
  const std::string& key() const { return key_; }
  // Its functions as C++, under another name.
  std::string source(const std::string& name);
  // Whether an index is read of a dimension without elements. Indices out of range are read as 0,
  // where such memory has nothing to read.
  bool has_empty_extent(const int64_t* symbols) const;
  // Whether each of its loops has one index, whatever the sizes are.
  bool has_one_element() const;
  // To be called before the first run.
  void make_interpreter();
  // Buffers of the program that it writes.
  const std::vector<int>& written() const { return written_; }
  // Memory that it needs beside the program's: buffers behind those.
  struct Scratch {
    DType dtype;
    const Expr* numel;
  };
  const std::vector<Scratch>& scratch() const { return scratch_; }

  bool is_native() const { return native_.load(std::memory_order_acquire) != nullptr; }
  // Uses functions of a loaded object from now on; nothing where it has some.
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
  const Native* native(bool may_be_native) const {
    return may_be_native ? native_.load(std::memory_order_acquire) : nullptr;
  }
  // Indices of a loop of one member.
  void run_part(const Native* native, size_t loop, const kernel::LaunchArguments& arguments,
                int64_t begin, int64_t end) const;

  kernel::Kernel kernel_;
  std::string text_, key_;
  std::vector<int> written_;
  std::vector<Scratch> scratch_;
  std::vector<LoopInfo> loops_;
  std::vector<IndexProgram> params_;
  std::vector<IndexProgram> index_extents_;  // those that may be 0
  std::unique_ptr<kernel::TileInterpreter> interpreter_;
  std::unique_ptr<Native> owned_;
  std::atomic<const Native*> native_{nullptr};
};

// The forms of one plan. Layers that repeat give equal kernels, which are scheduled once.
class KernelForms {
 public:
  // `symbols`: in the same order for all kernels with the same parameters.
  std::shared_ptr<KernelForm> of(kernel::Kernel kernel, const std::vector<const Expr*>& symbols);

 private:
  std::unordered_map<std::string, std::shared_ptr<KernelForm>> made_;
};

}  // namespace taeda::inductor
