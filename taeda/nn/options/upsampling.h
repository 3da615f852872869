// Options of interpolation.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "taeda/nn/layer.h"

namespace taeda::nn {

struct UpsampleOptions {
  using mode_t = std::variant<enumtype::kNearest, enumtype::kLinear, enumtype::kBilinear,
                              enumtype::kBicubic, enumtype::kTrilinear>;
  TAEDA_ARG(std::optional<std::vector<int64_t>>, size) = std::nullopt;
  TAEDA_ARG(std::optional<std::vector<double>>, scale_factor) = std::nullopt;
  TAEDA_ARG(mode_t, mode) = kNearest;
  TAEDA_ARG(std::optional<bool>, align_corners) = std::nullopt;

 public:
  auto fields() const {
    const bool is_scaled = scale_factor().has_value();
    return std::tuple(
        Field{"scale_factor", scale_factor().value_or(std::vector<double>()), is_scaled},
        Field{"size", size().value_or(std::vector<int64_t>()), !is_scaled}, Field{"mode", mode()});
  }
};

namespace functional {

struct InterpolateFuncOptions {
  using mode_t =
      std::variant<enumtype::kNearest, enumtype::kLinear, enumtype::kBilinear, enumtype::kBicubic,
                   enumtype::kTrilinear, enumtype::kArea, enumtype::kNearestExact>;
  TAEDA_ARG(std::optional<std::vector<int64_t>>, size) = std::nullopt;
  TAEDA_ARG(std::optional<std::vector<double>>, scale_factor) = std::nullopt;
  TAEDA_ARG(mode_t, mode) = kNearest;
  TAEDA_ARG(std::optional<bool>, align_corners) = std::nullopt;
  TAEDA_ARG(std::optional<bool>, recompute_scale_factor) = std::nullopt;
  TAEDA_ARG(bool, antialias) = false;
};

struct GridSampleFuncOptions {
  using mode_t = std::variant<enumtype::kBilinear, enumtype::kNearest, enumtype::kBicubic>;
  using padding_mode_t = std::variant<enumtype::kZeros, enumtype::kBorder, enumtype::kReflection>;
  TAEDA_ARG(mode_t, mode) = kBilinear;
  TAEDA_ARG(padding_mode_t, padding_mode) = kZeros;
  TAEDA_ARG(std::optional<bool>, align_corners) = std::nullopt;
};

}  // namespace functional
}  // namespace taeda::nn
