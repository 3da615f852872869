// Layers and models in C++.
#pragma once

#include "taeda/nn/any_module.h"
#include "taeda/nn/init.h"
#include "taeda/nn/module.h"
#include "taeda/nn/module_holder.h"
#include "taeda/nn/modules/activation.h"
#include "taeda/nn/modules/container.h"
#include "taeda/nn/modules/dropout.h"
#include "taeda/nn/modules/embedding.h"
#include "taeda/nn/modules/linear.h"
#include "taeda/nn/modules/loss.h"
#include "taeda/nn/modules/normalization.h"
