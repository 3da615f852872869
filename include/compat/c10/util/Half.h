// c10::Half.
#pragma once

#include "ATen/core_names.h"
