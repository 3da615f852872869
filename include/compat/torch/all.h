// Everything of torch that needs no Python.
#pragma once

#include "torch/autograd.h"
#include "torch/library.h"
#include "torch/types.h"
