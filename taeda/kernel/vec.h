// Everything an eager kernel needs: Vec, Mask, the body vocabulary and run_tile.
#pragma once

#include "taeda/kernel/body.h"
#include "taeda/kernel/tile.h"
#include "taeda/kernel/vec_complex.h"
#include "taeda/kernel/vec_real.h"
