// Rows of a table by index.
#pragma once

#include <optional>

#include "taeda/nn/option_module.h"

namespace taeda::nn {

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
  TAEDA_ARG(Tensor, _weight) = Tensor();
};

class TAEDA_API EmbeddingImpl : public Cloneable<EmbeddingImpl> {
 public:
  EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim)
      : EmbeddingImpl(EmbeddingOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingImpl(EmbeddingOptions options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& indices);

  EmbeddingOptions options;
  Tensor weight;
};
TAEDA_MODULE(Embedding);

}  // namespace taeda::nn
