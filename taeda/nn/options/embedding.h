// Options of embeddings.
#pragma once

#include <optional>
#include <tuple>

#include "taeda/core/tensor.h"
#include "taeda/nn/layer.h"

namespace taeda::nn {

using EmbeddingBagMode = std::variant<enumtype::kSum, enumtype::kMean, enumtype::kMax>;

struct EmbeddingOptions {
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  TAEDA_ARG(int64_t, num_embeddings);
  TAEDA_ARG(int64_t, embedding_dim);
  TAEDA_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  TAEDA_ARG(std::optional<double>, max_norm) = std::nullopt;
  TAEDA_ARG(double, norm_type) = 2.0;
  TAEDA_ARG(bool, scale_grad_by_freq) = false;
  TAEDA_ARG(bool, sparse) = false;
  TAEDA_ARG(Tensor, _weight) = {};

 public:
  auto fields() const {
    return std::tuple(
        Field{"num_embeddings", num_embeddings()}, Field{"embedding_dim", embedding_dim()},
        Field{"padding_idx", padding_idx().value_or(0), padding_idx().has_value()},
        Field{"max_norm", max_norm().value_or(0), max_norm().has_value()},
        Field{"norm_type", norm_type(), norm_type() != 2},
        Field{"scale_grad_by_freq", true, scale_grad_by_freq()}, Field{"sparse", true, sparse()});
  }
};

// Of a table that is given; `freeze` keeps it as it is.
struct EmbeddingFromPretrainedOptions {
  TAEDA_ARG(bool, freeze) = true;
  TAEDA_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  TAEDA_ARG(std::optional<double>, max_norm) = std::nullopt;
  TAEDA_ARG(double, norm_type) = 2.0;
  TAEDA_ARG(bool, scale_grad_by_freq) = false;
  TAEDA_ARG(bool, sparse) = false;
};

struct EmbeddingBagOptions {
  EmbeddingBagOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  TAEDA_ARG(int64_t, num_embeddings);
  TAEDA_ARG(int64_t, embedding_dim);
  TAEDA_ARG(std::optional<double>, max_norm) = std::nullopt;
  TAEDA_ARG(double, norm_type) = 2.0;
  TAEDA_ARG(bool, scale_grad_by_freq) = false;
  TAEDA_ARG(EmbeddingBagMode, mode) = kMean;
  TAEDA_ARG(bool, sparse) = false;
  TAEDA_ARG(Tensor, _weight) = {};
  TAEDA_ARG(bool, include_last_offset) = false;
  TAEDA_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;

 public:
  auto fields() const {
    return std::tuple(
        Field{"num_embeddings", num_embeddings()}, Field{"embedding_dim", embedding_dim()},
        Field{"max_norm", max_norm().value_or(0), max_norm().has_value()},
        Field{"norm_type", norm_type(), norm_type() != 2},
        Field{"scale_grad_by_freq", true, scale_grad_by_freq()}, Field{"sparse", true, sparse()},
        Field{"mode", mode(), !std::holds_alternative<enumtype::kMean>(mode())},
        Field{"include_last_offset", true, include_last_offset()},
        Field{"padding_idx", padding_idx().value_or(0), padding_idx().has_value()});
  }
};

struct EmbeddingBagFromPretrainedOptions {
  TAEDA_ARG(bool, freeze) = true;
  TAEDA_ARG(std::optional<double>, max_norm) = std::nullopt;
  TAEDA_ARG(double, norm_type) = 2.0;
  TAEDA_ARG(bool, scale_grad_by_freq) = false;
  TAEDA_ARG(EmbeddingBagMode, mode) = kMean;
  TAEDA_ARG(bool, sparse) = false;
  TAEDA_ARG(bool, include_last_offset) = false;
  TAEDA_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
};

namespace functional {

struct EmbeddingFuncOptions {
  TAEDA_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
  TAEDA_ARG(std::optional<double>, max_norm) = std::nullopt;
  TAEDA_ARG(double, norm_type) = 2.0;
  TAEDA_ARG(bool, scale_grad_by_freq) = false;
  TAEDA_ARG(bool, sparse) = false;
};
struct EmbeddingBagFuncOptions {
  TAEDA_ARG(Tensor, offsets) = {};
  TAEDA_ARG(std::optional<double>, max_norm) = std::nullopt;
  TAEDA_ARG(double, norm_type) = 2.0;
  TAEDA_ARG(bool, scale_grad_by_freq) = false;
  TAEDA_ARG(EmbeddingBagMode, mode) = kMean;
  TAEDA_ARG(bool, sparse) = false;
  TAEDA_ARG(Tensor, per_sample_weights) = {};
  TAEDA_ARG(bool, include_last_offset) = false;
  TAEDA_ARG(std::optional<int64_t>, padding_idx) = std::nullopt;
};

}  // namespace functional
}  // namespace taeda::nn
