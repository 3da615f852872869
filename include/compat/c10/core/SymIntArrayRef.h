// c10::SymIntArrayRef.
#pragma once

#include "ATen/core_names.h"
