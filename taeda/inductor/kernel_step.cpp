// From memories of a run to buffers of a kernel.
#include "taeda/inductor/kernel_step.h"

#include <algorithm>

namespace taeda::inductor {

KernelStep::KernelStep(GroupKernel made, const std::vector<const Expr*>& symbols,
                       KernelForms& forms, AddMemory add_memory)
    : members_{forms.of(std::move(made.kernel), symbols)}, memories_(std::move(made.memories)) {
  for (const int buffer : form().written()) {
    const int memory = memories_.at(static_cast<size_t>(buffer));
    if (std::find(written_.begin(), written_.end(), memory) == written_.end())
      written_.push_back(memory);
  }
  for (const auto& [dtype, numel] : form().scratch()) memories_.push_back(add_memory(dtype, numel));
}

void KernelStep::join(KernelStep&& other) {
  TAEDA_INTERNAL_CHECK(form().key() == other.form().key(), "kernels that differ are joined");
  std::move(other.members_.begin(), other.members_.end(), std::back_inserter(members_));
  memories_.insert(memories_.end(), other.memories_.begin(), other.memories_.end());
  written_.insert(written_.end(), other.written_.begin(), other.written_.end());
}

bool KernelStep::run_as(bool may_be_native, char* const* memories, const KernelLaunch& launch,
                        const RunNumber* numbers) const {
  SmallVector<char*, 16> buffers;
  for (int memory : memories_) buffers.push_back(memories[memory]);
  return form().run(may_be_native, buffers.data(), memories_.size() / members_.size(), launch,
                    numbers);
}

bool KernelStep::run_block(bool may_be_native, char* const* memories, const int64_t* symbols,
                           const RunNumber* numbers, void* to) const {
  SmallVector<char*, 16> buffers;
  for (int memory : memories_)
    buffers.push_back(to && memory == written_[0] ? static_cast<char*>(to) : memories[memory]);
  return form().run_block(may_be_native, buffers.data(), symbols, numbers);
}

}  // namespace taeda::inductor
