// Calls that set a mode of the thread, as a tracer before autograd writes them down.
//
//   m = builtin::_set_grad_enabled(False)
//   c = builtin::_enter_autocast("cpu", dtype.bf16, True, True)
//   e = builtin::_exit_autocast(c)
//
// A graph with such calls is open: what they set would outlast a run that fails.
// passes/mode_scopes.h makes scopes of them.
#pragma once

#include "taeda/fx/builtins.h"

namespace taeda::fx {

TAEDA_API Span<Builtin> mode_builtins();

TAEDA_API bool sets_grad_mode(const Builtin* function);
TAEDA_API bool enters_autocast(const Builtin* function);
TAEDA_API bool exits_autocast(const Builtin* function);

}  // namespace taeda::fx
