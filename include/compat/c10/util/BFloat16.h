// c10::BFloat16.
#pragma once

#include "ATen/core_names.h"
