// THO_DISPATCH_*: a block compiled for each of some dtypes; see ATen/Dispatch.h.
#pragma once

#include "ATen/Dispatch.h"
#include "torch/headeronly/core/ScalarType.h"

#define THO_DISPATCH_CASE(enumerator, ...) AT_DISPATCH_CASE(enumerator, __VA_ARGS__)
#define THO_DISPATCH_SWITCH(TYPE, NAME, ...) AT_DISPATCH_SWITCH(TYPE, NAME, __VA_ARGS__)
