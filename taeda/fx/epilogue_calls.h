// Calls that epilogues alone make (Note [Epilogue]): what autograd knows of tensors, and no
// operator sets.
#pragma once

#include "taeda/fx/builtins.h"

namespace taeda::fx {

// _count_write(t): the version of the tensor counts one write more; nothing is written.
// _data(t): the same memory without history, whose writes are counted apart, as `t.data` has it.
// _view_with_history(view, value, origin): the same view with the history of the value, where that
// is a tensor that has one, and with this ViewOrigin.
// _write_with_history(t, value): t.copy_(value), recorded. A tensor that is no view gets the place
// of the value in the history, so that hooks of it and gradients by it are those of the value.
TAEDA_API Span<Builtin> epilogue_builtins();

}  // namespace taeda::fx
