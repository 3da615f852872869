// The operators that a device which compiles kernels gets from the records.
#pragma once

#include "taeda/base/function_ref.h"
#include "taeda/base/span.h"
#include "taeda/core/device.h"
#include "taeda/dispatch/operator.h"

namespace taeda::lowered {

// An operator and its function of the operator's own signature. A pointwise one also names the
// functional operator that a compiler computes by it.
struct Form {
  dispatch::Operator* op;
  void* function;
  dispatch::Operator* fused;
};

// Generated: all of them, family by family.
TAEDA_API void for_each_form(FunctionRef<void(const Form&)> visit);

// Gives a device type every form for which it has no kernel of its own.
void register_forms(DeviceType type);

}  // namespace taeda::lowered
