// Rows of a table by index.
#include "taeda/nn/modules/embedding.h"

#include "taeda/autograd/guards.h"
#include "taeda/nn/init.h"
#include "taeda/ops/embedding/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::nn {

EmbeddingImpl::EmbeddingImpl(EmbeddingOptions options) : options(std::move(options)) {
  EmbeddingImpl::reset();
}

void EmbeddingImpl::reset() {
  const int64_t rows = options.num_embeddings();
  if (options.padding_idx()) {
    int64_t& padding = *options.padding_idx();
    TAEDA_CHECK(padding < rows && padding >= -rows, "Padding_idx must be within num_embeddings");
    if (padding < 0) padding += rows;
  }
  const Tensor& given = options._weight();
  if (given.defined()) {
    TAEDA_CHECK(
        given.dim() == 2 && given.size(0) == rows && given.size(1) == options.embedding_dim(),
        "Shape of _weight does not match num_embeddings and embedding_dim");
    weight = register_parameter("weight", given);
    return;
  }
  weight =
      register_parameter("weight", taeda::empty({SymInt(rows), SymInt(options.embedding_dim())}));
  reset_parameters();
}

void EmbeddingImpl::reset_parameters() {
  init::normal_(weight);
  if (!options.padding_idx()) return;
  const NoGradGuard no_grad;
  weight.select(0, *options.padding_idx()).fill_(0);
}

void EmbeddingImpl::pretty_print(std::ostream& stream) const {
  print_layer(stream, "Embedding", std::pair("num_embeddings", options.num_embeddings()),
              std::pair("embedding_dim", options.embedding_dim()));
}

Tensor EmbeddingImpl::forward(const Tensor& indices) {
  if (options.max_norm()) {
    const NoGradGuard no_grad;
    taeda::embedding_renorm_(weight, indices.contiguous(), *options.max_norm(),
                             options.norm_type());
  }
  return taeda::embedding(weight, indices, options.padding_idx().value_or(-1),
                          options.scale_grad_by_freq(), options.sparse());
}

}  // namespace taeda::nn
