// Composite operators as one call, for levels and modes that want them whole.
//
// Note [Composites]: an operator made of others has no kernel at TransformFront: what levels and
// modes see is its parts. Once show_composites has been called, its calls stop there too. A level
// that keeps composites, or a mode before autograd (modes.h), then takes them; for the others the
// operator's body runs, as before.
#pragma once

#include "taeda/dispatch/operator.h"

namespace taeda::dispatch {

// Other levels pay one boxed call per composite from now on. Cannot be undone.
TAEDA_API void show_composites();
// The level, which is active on this thread, takes composites whole.
TAEDA_API void keep_composites(uint64_t level);
// What runs at TransformFront for operators without a kernel of their own there: the innermost
// level, or a mode before autograd.
TAEDA_API void run_at_front(const Operator& op, KeySet keys, Stack& stack, void* context);
// Calls the operator from below TransformFront on: a composite's parts meet the same level.
TAEDA_API void call_below_front(Operator& op, Stack& stack);

}  // namespace taeda::dispatch
