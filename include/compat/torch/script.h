// Operators and classes of one's own; there is no TorchScript.
#pragma once

#include <deque>
#include <iostream>
#include <mutex>

#include "torch/all.h"
