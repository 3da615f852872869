// c10::Scalar.
#pragma once

#include "ATen/core_names.h"
