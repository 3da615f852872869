// Optimizers and schedules in C++: the namespace optim.
#pragma once

#include "taeda/optim/optim.h"
