// Options of linear layers, changes of shape and distances.
#pragma once

#include <tuple>
#include <vector>

#include "taeda/nn/layer.h"

namespace taeda::nn {

struct LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features)
      : in_features_(in_features), out_features_(out_features) {}
  TAEDA_ARG(int64_t, in_features);
  TAEDA_ARG(int64_t, out_features);
  TAEDA_ARG(bool, bias) = true;

 public:
  auto fields() const {
    return std::tuple(Field{"in_features", in_features()}, Field{"out_features", out_features()},
                      Field{"bias", bias()});
  }
};

struct BilinearOptions {
  BilinearOptions(int64_t in1_features, int64_t in2_features, int64_t out_features)
      : in1_features_(in1_features), in2_features_(in2_features), out_features_(out_features) {}
  TAEDA_ARG(int64_t, in1_features);
  TAEDA_ARG(int64_t, in2_features);
  TAEDA_ARG(int64_t, out_features);
  TAEDA_ARG(bool, bias) = true;

 public:
  auto fields() const {
    return std::tuple(Field{"in1_features", in1_features()}, Field{"in2_features", in2_features()},
                      Field{"out_features", out_features()}, Field{"bias", bias()});
  }
};

struct FlattenOptions {
  TAEDA_ARG(int64_t, start_dim) = 1;
  TAEDA_ARG(int64_t, end_dim) = -1;

 public:
  auto fields() const {
    return std::tuple(Field{"start_dim", start_dim()}, Field{"end_dim", end_dim()});
  }
};

struct UnflattenOptions {
  UnflattenOptions(int64_t dim, std::vector<int64_t> sizes) : dim_(dim), sizes_(std::move(sizes)) {}
  TAEDA_ARG(int64_t, dim);
  TAEDA_ARG(std::vector<int64_t>, sizes);

 public:
  auto fields() const {
    return std::tuple(Field{"dim", dim()}, Field{"unflattened_size", Braced{sizes()}});
  }
};

struct CosineSimilarityOptions {
  TAEDA_ARG(int64_t, dim) = 1;
  TAEDA_ARG(double, eps) = 1e-8;

 public:
  auto fields() const { return std::tuple(Field{"dim", dim()}, Field{"eps", eps()}); }
};

struct PairwiseDistanceOptions {
  TAEDA_ARG(double, p) = 2.0;
  TAEDA_ARG(double, eps) = 1e-6;
  TAEDA_ARG(bool, keepdim) = false;

 public:
  auto fields() const {
    return std::tuple(Field{"p", p()}, Field{"eps", eps()}, Field{"keepdim", keepdim()});
  }
};

namespace functional {
using CosineSimilarityFuncOptions = CosineSimilarityOptions;
using PairwiseDistanceFuncOptions = PairwiseDistanceOptions;
}  // namespace functional

}  // namespace taeda::nn
