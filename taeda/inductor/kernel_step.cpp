// From memories of a run to buffers of a kernel.
#include "taeda/inductor/kernel_step.h"

#include <algorithm>

namespace taeda::inductor {

KernelStep::KernelStep(GroupKernel made, const std::vector<const Expr*>& symbols,
                       KernelForms& forms, AddMemory add_memory)
    : form_(forms.of(std::move(made.kernel), symbols)), memories_(std::move(made.memories)) {
  for (const int buffer : form_->written()) {
    const int memory = memories_.at(static_cast<size_t>(buffer));
    if (std::find(written_.begin(), written_.end(), memory) == written_.end())
      written_.push_back(memory);
  }
  for (const auto& [dtype, numel] : form_->scratch()) memories_.push_back(add_memory(dtype, numel));
}

bool KernelStep::run_as(bool may_be_native, char* const* memories, const KernelLaunch& launch,
                        const RunNumber* numbers) const {
  SmallVector<char*, 16> buffers;
  for (int memory : memories_) buffers.push_back(memories[memory]);
  return form_->run(may_be_native, buffers.data(), launch, numbers);
}

bool KernelStep::run_block(bool may_be_native, char* const* memories, const int64_t* symbols,
                           const RunNumber* numbers, void* to) const {
  SmallVector<char*, 16> buffers;
  for (int memory : memories_)
    buffers.push_back(to && memory == written_[0] ? static_cast<char*>(to) : memories[memory]);
  return form_->run_block(may_be_native, buffers.data(), symbols, numbers);
}

}  // namespace taeda::inductor
