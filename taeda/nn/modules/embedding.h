// Rows of a table by index, and sums, means or maxima of rows.
#pragma once

#include "taeda/nn/functional/embedding.h"
#include "taeda/nn/layer.h"

namespace taeda::nn {

class TAEDA_API EmbeddingImpl : public OptionModule<EmbeddingImpl, EmbeddingOptions> {
 public:
  EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim)
      : EmbeddingImpl(EmbeddingOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingImpl(EmbeddingOptions options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& indices);

  Tensor weight;
};

class TAEDA_API Embedding : public ModuleHolder<EmbeddingImpl> {
 public:
  using ModuleHolder::ModuleHolder;
  using Impl = EmbeddingImpl;
  static Embedding from_pretrained(const Tensor& embeddings,
                                   const EmbeddingFromPretrainedOptions& options = {});
};

class TAEDA_API EmbeddingBagImpl : public OptionModule<EmbeddingBagImpl, EmbeddingBagOptions> {
 public:
  TAEDA_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())}, {2, AnyValue(Tensor())})

  EmbeddingBagImpl(int64_t num_embeddings, int64_t embedding_dim)
      : EmbeddingBagImpl(EmbeddingBagOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingBagImpl(EmbeddingBagOptions options);
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& input, const Tensor& offsets = {},
                 const Tensor& per_sample_weights = {});

  Tensor weight;
};

class TAEDA_API EmbeddingBag : public ModuleHolder<EmbeddingBagImpl> {
 public:
  using ModuleHolder::ModuleHolder;
  using Impl = EmbeddingBagImpl;
  static EmbeddingBag from_pretrained(const Tensor& embeddings,
                                      const EmbeddingBagFromPretrainedOptions& options = {});
};

}  // namespace taeda::nn
