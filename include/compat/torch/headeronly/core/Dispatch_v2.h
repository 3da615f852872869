// THO_DISPATCH_V2: AT_DISPATCH_V2 by the name of the header-only library.
#pragma once

#include "ATen/Dispatch_v2.h"

#define THO_DISPATCH_V2(TYPE, NAME, BODY, ...) AT_DISPATCH_V2(TYPE, NAME, BODY, __VA_ARGS__)
