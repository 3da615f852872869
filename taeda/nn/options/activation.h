// Options of activations.
#pragma once

#include <optional>
#include <string>
#include <tuple>

#include "taeda/core/tensor.h"
#include "taeda/nn/layer.h"

namespace taeda::nn {

// Options of the functions that can only be told to write in place.
struct InplaceOptions {
  InplaceOptions(bool inplace = false) : inplace_(inplace) {}  // NOLINT: converts
  TAEDA_ARG(bool, inplace);

 public:
  auto fields() const { return std::tuple(Field{"inplace", inplace(), inplace()}); }
};
using ReLUOptions = InplaceOptions;
using ReLU6Options = InplaceOptions;
using SELUOptions = InplaceOptions;

struct AlphaOptions {
  TAEDA_ARG(double, alpha) = 1.0;
  TAEDA_ARG(bool, inplace) = false;

 public:
  auto fields() const {
    return std::tuple(Field{"alpha", alpha()}, Field{"inplace", inplace(), inplace()});
  }
};
using ELUOptions = AlphaOptions;
using CELUOptions = AlphaOptions;

struct LeakyReLUOptions {
  TAEDA_ARG(double, negative_slope) = 1e-2;
  TAEDA_ARG(bool, inplace) = false;

 public:
  auto fields() const {
    return std::tuple(Field{"negative_slope", negative_slope()},
                      Field{"inplace", inplace(), inplace()});
  }
};

struct RReLUOptions {
  TAEDA_ARG(double, lower) = 1.0 / 8.0;
  TAEDA_ARG(double, upper) = 1.0 / 3.0;
  TAEDA_ARG(bool, inplace) = false;

 public:
  auto fields() const {
    return std::tuple(Field{"lower", lower()}, Field{"upper", upper()},
                      Field{"inplace", inplace(), inplace()});
  }
};

struct HardtanhOptions {
  TAEDA_ARG(double, min_val) = -1.0;
  TAEDA_ARG(double, max_val) = 1.0;
  TAEDA_ARG(bool, inplace) = false;

 public:
  auto fields() const {
    return std::tuple(Field{"min_val", min_val()}, Field{"max_val", max_val()},
                      Field{"inplace", inplace(), inplace()});
  }
};

struct ThresholdOptions {
  ThresholdOptions(double threshold, double value) : threshold_(threshold), value_(value) {}
  TAEDA_ARG(double, threshold);
  TAEDA_ARG(double, value);
  TAEDA_ARG(bool, inplace) = false;

 public:
  auto fields() const {
    return std::tuple(Field{"threshold", threshold()}, Field{"value", value()},
                      Field{"inplace", inplace(), inplace()});
  }
};

struct ShrinkOptions {
  ShrinkOptions(double lambda = 0.5) : lambda_(lambda) {}  // NOLINT: converts
  TAEDA_ARG(double, lambda);

 public:
  auto fields() const { return std::tuple(Field{"", lambda()}); }
};
using HardshrinkOptions = ShrinkOptions;
using SoftshrinkOptions = ShrinkOptions;

struct SoftplusOptions {
  TAEDA_ARG(double, beta) = 1.0;
  TAEDA_ARG(double, threshold) = 20.0;

 public:
  auto fields() const { return std::tuple(Field{"beta", beta()}, Field{"threshold", threshold()}); }
};

struct GELUOptions {
  TAEDA_ARG(std::string, approximate) = "none";
};

struct GLUOptions {
  GLUOptions(int64_t dim = -1) : dim_(dim) {}  // NOLINT: converts
  TAEDA_ARG(int64_t, dim);

 public:
  auto fields() const { return std::tuple(Field{"dim", dim()}); }
};

// A dimension, which must be named.
struct DimOptions {
  DimOptions(int64_t dim) : dim_(dim) {}  // NOLINT: converts
  TAEDA_ARG(int64_t, dim);

 public:
  auto fields() const { return std::tuple(Field{"dim", dim()}); }
};
using SoftmaxOptions = DimOptions;
using SoftminOptions = DimOptions;
using LogSoftmaxOptions = DimOptions;

struct PReLUOptions {
  TAEDA_ARG(int64_t, num_parameters) = 1;
  TAEDA_ARG(double, init) = 0.25;

 public:
  auto fields() const { return std::tuple(Field{"num_parameters", num_parameters()}); }
};

namespace functional {
using ReLUFuncOptions = ReLUOptions;
using ReLU6FuncOptions = ReLU6Options;
using SELUFuncOptions = SELUOptions;
using ELUFuncOptions = ELUOptions;
using CELUFuncOptions = CELUOptions;
using LeakyReLUFuncOptions = LeakyReLUOptions;
using HardtanhFuncOptions = HardtanhOptions;
using ThresholdFuncOptions = ThresholdOptions;
using HardshrinkFuncOptions = HardshrinkOptions;
using SoftshrinkFuncOptions = SoftshrinkOptions;
using SoftplusFuncOptions = SoftplusOptions;
using GELUFuncOptions = GELUOptions;
using GLUFuncOptions = GLUOptions;

struct DimFuncOptions {
  DimFuncOptions(int64_t dim) : dim_(dim) {}                          // NOLINT: converts
  DimFuncOptions(const DimOptions& options) : dim_(options.dim()) {}  // NOLINT: converts
  TAEDA_ARG(int64_t, dim);
  TAEDA_ARG(std::optional<DType>, dtype) = std::nullopt;
};
using SoftmaxFuncOptions = DimFuncOptions;
using SoftminFuncOptions = DimFuncOptions;
using LogSoftmaxFuncOptions = DimFuncOptions;

struct RReLUFuncOptions {
  TAEDA_ARG(double, lower) = 1.0 / 8.0;
  TAEDA_ARG(double, upper) = 1.0 / 3.0;
  TAEDA_ARG(bool, training) = false;
  TAEDA_ARG(bool, inplace) = false;
};
struct GumbelSoftmaxFuncOptions {
  TAEDA_ARG(double, tau) = 1.0;
  TAEDA_ARG(bool, hard) = false;
  TAEDA_ARG(int, dim) = -1;
};
}  // namespace functional

}  // namespace taeda::nn
