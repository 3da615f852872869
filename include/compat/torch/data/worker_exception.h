// PyTorch's header of this name: errors of workers.
#pragma once

#include "taeda/data/worker_exception.h"
#include "torch/types.h"
