// The thread's grad mode; on in a new thread.
#include "taeda/autograd/grad_mode.h"

namespace taeda::autograd::autograd_detail {

thread_local constinit bool grad_mode = true;

}  // namespace taeda::autograd::autograd_detail
