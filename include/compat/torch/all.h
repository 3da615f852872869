// Everything of torch that needs no Python.
#pragma once

#include "ATen/core/op_registration/op_registration.h"
#include "c10/util/Logging.h"
#include "torch/autograd.h"
#include "torch/cuda.h"
#include "torch/data.h"
#include "torch/library.h"
#include "torch/linalg.h"
#include "torch/nn.h"
#include "torch/optim.h"
#include "torch/serialize.h"
#include "torch/special.h"
#include "torch/types.h"
#include "torch/utils.h"
#include "torch/version.h"
