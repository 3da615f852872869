// All layers.
#pragma once

#include "taeda/nn/modules/activation.h"
#include "taeda/nn/modules/adaptive.h"
#include "taeda/nn/modules/attention.h"
#include "taeda/nn/modules/container.h"
#include "taeda/nn/modules/conv.h"
#include "taeda/nn/modules/dropout.h"
#include "taeda/nn/modules/embedding.h"
#include "taeda/nn/modules/fold.h"
#include "taeda/nn/modules/linear.h"
#include "taeda/nn/modules/loss.h"
#include "taeda/nn/modules/normalization.h"
#include "taeda/nn/modules/padding.h"
#include "taeda/nn/modules/pooling.h"
#include "taeda/nn/modules/rnn.h"
#include "taeda/nn/modules/transformer.h"
#include "taeda/nn/modules/upsampling.h"
