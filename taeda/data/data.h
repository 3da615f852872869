// Everything of the namespace data.
#pragma once

#include "taeda/data/data_loader.h"
#include "taeda/data/datasets/chunk.h"
#include "taeda/data/datasets/dataset.h"
#include "taeda/data/datasets/mnist.h"
#include "taeda/data/datasets/shared.h"
#include "taeda/data/datasets/stateful.h"
#include "taeda/data/datasets/tensor.h"
#include "taeda/data/samplers/distributed.h"
#include "taeda/data/samplers/random.h"
#include "taeda/data/samplers/sequential.h"
#include "taeda/data/samplers/stream.h"
#include "taeda/data/transforms/stack.h"
#include "taeda/data/transforms/tensor.h"
#include "taeda/data/transforms/transform.h"

namespace taeda::data {
using datasets::BatchDataset;
using datasets::Dataset;
}  // namespace taeda::data
