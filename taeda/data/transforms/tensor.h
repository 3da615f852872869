// Transforms of the tensor in an example; its target passes by.
#pragma once

#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include "taeda/base/span.h"
#include "taeda/core/constants.h"
#include "taeda/data/example.h"
#include "taeda/data/transforms/transform.h"
#include "taeda/ops/factory/tensor_data.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/member_functions.h"

namespace taeda::data::transforms {

template <class Target = Tensor>
class TensorTransform : public Transform<Example<Tensor, Target>, Example<Tensor, Target>> {
 public:
  using E = Example<Tensor, Target>;

  virtual Tensor operator()(Tensor input) = 0;

  E apply(E input) override {
    input.data = (*this)(std::move(input.data));
    return input;
  }
};

// A function of one's own on the tensor.
template <class Target = Tensor>
class TensorLambda : public TensorTransform<Target> {
 public:
  using FunctionType = std::function<Tensor(Tensor)>;
  explicit TensorLambda(FunctionType function) : function_(std::move(function)) {}
  Tensor operator()(Tensor input) override { return function_(std::move(input)); }

 private:
  FunctionType function_;
};

// One number for all channels of an image, or one for each.
struct PerChannel {
  PerChannel(double value) : values{value} {}
  PerChannel(std::initializer_list<double> list) : values(list) {}
  PerChannel(Span<double> list) : values(list.begin(), list.end()) {}
  PerChannel(const std::vector<double>& list) : values(list) {}

  Tensor as_column() const { return tensor(values, kFloat).view({-1, 1, 1}); }

  std::vector<double> values;
};

// Subtracts the mean and divides by the standard deviation of images (channels, rows, columns).
template <class Target = Tensor>
struct Normalize : TensorTransform<Target> {
  Normalize(const PerChannel& mean, const PerChannel& stddev)
      : mean(mean.as_column()), stddev(stddev.as_column()) {}

  Tensor operator()(Tensor input) override { return input.sub(mean).div(stddev); }

  Tensor mean, stddev;
};

}  // namespace taeda::data::transforms
