// STD_TORCH_CHECK and its relatives.
#pragma once

#include "c10/util/Exception.h"
