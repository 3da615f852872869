// The forms of attention, by the numbers of PyTorch's SDPBackend, and the switches of the process
// that say which of them may be taken.
#pragma once

#include <cstdint>

#include "taeda/base/export.h"

namespace taeda::attention {

// Composed and OnePass exist. The switches of the others are kept for programs that set them.
enum class Form : int64_t {
  None = -1,
  Composed = 0,
  OnePass = 1,
  Efficient = 2,
  Cudnn = 3,
  Overrideable = 4
};

// All forms are enabled at first. Any thread may read and set the switches; a call that runs
// meanwhile sees the old value or the new one.
TAEDA_API bool is_enabled(Form form);
TAEDA_API void set_enabled(Form form, bool value);
// All switches, a bit per form.
TAEDA_API uint32_t enabled_forms();
TAEDA_API void set_enabled_forms(uint32_t forms);
// "math", "flash", ...: the name in PyTorch's functions.
TAEDA_API const char* name_of(Form form);

}  // namespace taeda::attention
