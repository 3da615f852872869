// c10::DeviceType.
#pragma once

#include "ATen/core_names.h"
