// c10::intrusive_ptr.
#pragma once

#include "ATen/core_names.h"
