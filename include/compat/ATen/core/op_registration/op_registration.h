// Registration of operators.
#pragma once

#include "torch/library.h"
