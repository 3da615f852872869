// A kernel of a plan over memory of the program.
#pragma once

#include <algorithm>

#include "taeda/base/function_ref.h"
#include "taeda/inductor/kernel_form.h"

namespace taeda::inductor {

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
class KernelStep {
 public:
  // Temporary memory beside that of the program's values, by its place among memories.
  using AddMemory = FunctionRef<int(DType dtype, const Expr* numel)>;
  KernelStep(GroupKernel made, const std::vector<const Expr*>& symbols, KernelForms& forms,
             AddMemory add_memory);

  // Takes the members of a kernel whose form has the same key; it is no more.
  void join(KernelStep&& other);
  size_t num_members() const { return members_.size(); }

  // What all members run by. Steps of equal kernels have the same.
  KernelForm& form() { return *members_[0]; }
  const KernelForm& form() const { return *members_[0]; }

  KernelLaunch launch(const int64_t* symbols) const {
    return KernelForm::launch(members_, symbols);
  }
  bool has_empty_extent(const int64_t* symbols) const {
    return std::any_of(members_.begin(), members_.end(),
                       [&](const auto& member) { return member->has_empty_extent(symbols); });
  }
  // `memories`: those of the run. False where an index that was read lies outside of its dimension.
  bool run(char* const* memories, const KernelLaunch& launch, const RunNumber* numbers) const {
    return run_as(true, memories, launch, numbers);
  }
  // `may_be_native`: not interpreted where it is native.
  bool run_as(bool may_be_native, char* const* memories, const KernelLaunch& launch,
              const RunNumber* numbers) const;
  // The same on this thread alone, for symbols that change from block to block: those of the
  // program, then those of the block (Note [Finished blocks]). `to`, where it is not null, is where
  // the kernel writes, in place of its memory.
  bool run_block(bool may_be_native, char* const* memories, const int64_t* symbols,
                 const RunNumber* numbers, void* to = nullptr) const;

  // Of the program, in the order of the kernel's buffers, member by member; and those that it
  // writes.
  const std::vector<int>& memories() const { return memories_; }
  const std::vector<int>& written() const { return written_; }

 private:
  std::vector<std::shared_ptr<KernelForm>> members_;
  std::vector<int> memories_, written_;
};

}  // namespace taeda::inductor
