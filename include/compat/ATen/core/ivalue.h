// c10::IValue: a boxed argument or result.
#pragma once

#include "ATen/core_names.h"
