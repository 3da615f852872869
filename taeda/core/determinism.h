// The wish for results that do not change from run to run: a setting of the process.
//
// The CPU's kernels give the same bits for the same arguments, whatever the number of threads, so
// that there is nothing to refuse. What the wish changes is memory that nobody has written to.
#pragma once

#include <atomic>

#include "taeda/base/export.h"

namespace taeda {

struct Determinism {
  std::atomic<bool> is_required = false, is_warning_enough = false, fills_memory = true;

  // Whether operators that make memory fill it, with NaN or the largest number.
  bool fills_new_memory() const { return is_required && fills_memory; }
};

TAEDA_API Determinism& determinism();

}  // namespace taeda
