// torch::serialize archives.
#pragma once

#include "torch/serialize.h"
