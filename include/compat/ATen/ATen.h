// Everything of at.
#pragma once

#include "ATen/Context.h"
#include "ATen/DimVector.h"
#include "ATen/Dispatch.h"
#include "ATen/Functions.h"
#include "ATen/Operators.h"
#include "ATen/Parallel.h"
#include "ATen/core/Dict.h"
#include "ATen/core/List.h"
#include "c10/core/DeviceGuard.h"
#include "c10/core/DeviceType.h"
#include "c10/core/ScalarType.h"
#include "c10/util/Exception.h"
#include "c10/util/accumulate.h"
#include "c10/util/complex.h"
#include "c10/util/irange.h"

namespace at {
struct AutoDispatchBelowADInplaceOrView : ::taeda::BelowADInplaceOrView {};
struct AutoDispatchBelowAutograd : ::taeda::BelowAutograd {};
using AutoNonVariableTypeMode = AutoDispatchBelowAutograd;
}  // namespace at
