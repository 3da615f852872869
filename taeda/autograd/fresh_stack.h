// Runs that nest too deep for one stack go on in another thread.
#pragma once

#include "taeda/base/function_ref.h"

namespace taeda::autograd {

// Calls `work` in a new thread that has this one's modes (grad, inference, dispatch keys, hooks on
// saved tensors), waits for it, and passes its exception on.
void call_on_fresh_stack(FunctionRef<void()> work);

}  // namespace taeda::autograd
