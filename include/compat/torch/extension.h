// The usual header of extensions: torch, and bindings to Python.
#pragma once

#include "torch/python.h"

#include "torch/all.h"
