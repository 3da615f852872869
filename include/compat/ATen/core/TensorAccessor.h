// Accessors: elements by index.
#pragma once

#include "ATen/core_names.h"
