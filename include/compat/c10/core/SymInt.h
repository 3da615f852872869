// c10::SymInt.
#pragma once

#include "ATen/core_names.h"
