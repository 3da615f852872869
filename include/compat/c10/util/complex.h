// c10::complex.
#pragma once

#include "ATen/core_names.h"
