// Options of dropout.
#pragma once

#include <tuple>

#include "taeda/nn/layer.h"

namespace taeda::nn {

struct DropoutOptions {
  DropoutOptions(double p = 0.5) : p_(p) {}  // NOLINT: converts
  TAEDA_ARG(double, p);
  TAEDA_ARG(bool, inplace) = false;

 public:
  auto fields() const { return std::tuple(Field{"p", p()}, Field{"inplace", inplace()}); }
};
using Dropout1dOptions = DropoutOptions;
using Dropout2dOptions = DropoutOptions;
using Dropout3dOptions = DropoutOptions;
using AlphaDropoutOptions = DropoutOptions;
using FeatureAlphaDropoutOptions = DropoutOptions;

namespace functional {

struct DropoutFuncOptions {
  TAEDA_ARG(double, p) = 0.5;
  TAEDA_ARG(bool, training) = true;
  TAEDA_ARG(bool, inplace) = false;
};
using Dropout1dFuncOptions = DropoutFuncOptions;
using Dropout2dFuncOptions = DropoutFuncOptions;
using Dropout3dFuncOptions = DropoutFuncOptions;

struct AlphaDropoutFuncOptions {
  TAEDA_ARG(double, p) = 0.5;
  TAEDA_ARG(bool, training) = false;
  TAEDA_ARG(bool, inplace) = false;
};
using FeatureAlphaDropoutFuncOptions = AlphaDropoutFuncOptions;

}  // namespace functional
}  // namespace taeda::nn
