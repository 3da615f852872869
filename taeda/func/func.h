// Function transforms: grad, grad_and_value, vjp, jvp and vmap.
#pragma once

#include "taeda/func/grad.h"
#include "taeda/func/jvp.h"
#include "taeda/func/vjp.h"
#include "taeda/func/vmap.h"
