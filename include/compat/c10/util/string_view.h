// c10::string_view.
#pragma once

#include "ATen/core_names.h"
