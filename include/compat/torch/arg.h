// TORCH_ARG: fields of options structs.
#pragma once

#include "taeda/nn/arg.h"

#define TORCH_ARG(T, name) TAEDA_ARG(T, name)
