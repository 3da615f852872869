// Layers as functions: F::relu(x), F::max_pool2d(x, F::MaxPool2dFuncOptions(2)).
#pragma once

#include "taeda/nn/functional/activation.h"
#include "taeda/nn/functional/attention.h"
#include "taeda/nn/functional/conv.h"
#include "taeda/nn/functional/dropout.h"
#include "taeda/nn/functional/embedding.h"
#include "taeda/nn/functional/fold.h"
#include "taeda/nn/functional/linear.h"
#include "taeda/nn/functional/loss.h"
#include "taeda/nn/functional/normalization.h"
#include "taeda/nn/functional/padding.h"
#include "taeda/nn/functional/pooling.h"
#include "taeda/nn/functional/upsampling.h"
