// The usual header of C++ programs.
#pragma once

#include "torch/all.h"
