// FORWARD_HAS_DEFAULT_ARGS: default arguments of a module in a Sequential.
#pragma once

#include "taeda/nn/any_value.h"

#define FORWARD_HAS_DEFAULT_ARGS(...) TAEDA_FORWARD_HAS_DEFAULT_ARGS(__VA_ARGS__)
