// Checks of arguments.
#pragma once

#include "ATen/ATen.h"
