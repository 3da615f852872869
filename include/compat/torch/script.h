// Operators and classes of one's own; there is no TorchScript.
#pragma once

#include "torch/all.h"
