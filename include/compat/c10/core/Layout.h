// c10::Layout.
#pragma once

#include "ATen/core_names.h"
