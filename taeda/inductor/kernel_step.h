// A kernel of a plan over memory of the program.
#pragma once

#include "taeda/base/function_ref.h"
#include "taeda/inductor/kernel_form.h"

namespace taeda::inductor {

class KernelStep {
 public:
  // Temporary memory beside that of the program's values, by its place among memories.
  using AddMemory = FunctionRef<int(DType dtype, const Expr* numel)>;
  KernelStep(GroupKernel made, const std::vector<const Expr*>& symbols, KernelForms& forms,
             AddMemory add_memory);

  // Steps of equal kernels have the same.
  KernelForm& form() { return *form_; }
  const KernelForm& form() const { return *form_; }

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

  // Of the program, in the order of the kernel's buffers; and those that it writes.
  const std::vector<int>& memories() const { return memories_; }
  const std::vector<int>& written() const { return written_; }

 private:
  std::shared_ptr<KernelForm> form_;
  std::vector<int> memories_, written_;
};

}  // namespace taeda::inductor
