// Layers and models in C++.
#pragma once

#include "taeda/nn/any_module.h"
#include "taeda/nn/enum.h"
#include "taeda/nn/functional.h"
#include "taeda/nn/init.h"
#include "taeda/nn/module.h"
#include "taeda/nn/module_holder.h"
#include "taeda/nn/modules.h"
#include "taeda/nn/serialize.h"
#include "taeda/nn/utils.h"
