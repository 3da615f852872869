// Starting and ending the levels of grad and jvp; see dispatch/levels.h.
#pragma once

#include "taeda/base/export.h"

#include <cstdint>

namespace taeda::autograd {

// Recording is on inside, whatever holds outside; the outside's modes come back with exit.
TAEDA_API uint64_t enter_grad_level();
TAEDA_API uint64_t enter_jvp_level();
TAEDA_API void exit_level(uint64_t id);

}  // namespace taeda::autograd
