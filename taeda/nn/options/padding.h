// Options of padding: numbers before and after each dimension, the last dimension first.
#pragma once

#include <tuple>
#include <vector>

#include "taeda/nn/layer.h"

namespace taeda::nn {

template <size_t D>
struct PadOptions {
  PadOptions(ExpandingArray<2 * D> padding) : padding_(padding) {}  // NOLINT: converts
  TAEDA_ARG(ExpandingArray<2 * D>, padding);

 public:
  auto fields() const { return std::tuple(Field{"padding", padding()}); }
};
using ReflectionPad1dOptions = PadOptions<1>;
using ReflectionPad2dOptions = PadOptions<2>;
using ReflectionPad3dOptions = PadOptions<3>;
using ReplicationPad1dOptions = PadOptions<1>;
using ReplicationPad2dOptions = PadOptions<2>;
using ReplicationPad3dOptions = PadOptions<3>;
using CircularPad1dOptions = PadOptions<1>;
using CircularPad2dOptions = PadOptions<2>;
using CircularPad3dOptions = PadOptions<3>;
using ZeroPad1dOptions = PadOptions<1>;
using ZeroPad2dOptions = PadOptions<2>;
using ZeroPad3dOptions = PadOptions<3>;

template <size_t D>
struct ConstantPadOptions {
  ConstantPadOptions(ExpandingArray<2 * D> padding, double value)
      : padding_(padding), value_(value) {}
  TAEDA_ARG(ExpandingArray<2 * D>, padding);
  TAEDA_ARG(double, value);

 public:
  auto fields() const { return std::tuple(Field{"padding", padding()}, Field{"value", value()}); }
};
using ConstantPad1dOptions = ConstantPadOptions<1>;
using ConstantPad2dOptions = ConstantPadOptions<2>;
using ConstantPad3dOptions = ConstantPadOptions<3>;

namespace functional {

struct PadFuncOptions {
  using mode_t = std::variant<enumtype::kConstant, enumtype::kReflect, enumtype::kReplicate,
                              enumtype::kCircular>;
  PadFuncOptions(std::vector<int64_t> pad) : pad_(std::move(pad)) {}  // NOLINT: converts
  TAEDA_ARG(std::vector<int64_t>, pad);
  TAEDA_ARG(mode_t, mode) = kConstant;
  TAEDA_ARG(double, value) = 0;
};

}  // namespace functional
}  // namespace taeda::nn
