// c10::MemoryFormat.
#pragma once

#include "ATen/core_names.h"
