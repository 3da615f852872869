// Registration of operators by torch::RegisterOperators.
#pragma once

#include "torch/all.h"
