// Rows of a table by index, and sums, means or maxima of rows.
#include "taeda/nn/modules/embedding.h"

#include "taeda/autograd/guards.h"
#include "taeda/nn/init.h"
#include "taeda/ops/functions.h"

namespace taeda::nn {
namespace {

// The table that was given, or an empty one; a padding row is counted from the first.
template <class Options>
Tensor table_of(Options& options) {
  const int64_t rows = options.num_embeddings(), columns = options.embedding_dim();
  if (options.padding_idx()) {
    int64_t& padding = *options.padding_idx();
    TAEDA_CHECK(padding < rows && padding >= -rows, "Padding_idx must be within num_embeddings");
    if (padding < 0) padding += rows;
  }
  const Tensor& given = options._weight();
  if (!given.defined()) return taeda::empty({SymInt(rows), SymInt(columns)});
  TAEDA_CHECK(given.dim() == 2 && given.size(0) == rows && given.size(1) == columns,
              "Shape of _weight does not match num_embeddings and embedding_dim");
  return given;
}

void draw_rows(Tensor& weight, std::optional<int64_t> padding_idx) {
  init::normal_(weight);
  if (!padding_idx) return;
  const NoGradGuard no_grad;
  weight.select(0, *padding_idx).fill_(0);
}

void check_table(const Tensor& embeddings) {
  TAEDA_CHECK(embeddings.dim() == 2, "Embeddings parameter is expected to be 2-dimensional");
}

}  // namespace

EmbeddingImpl::EmbeddingImpl(EmbeddingOptions options) : OptionModule(std::move(options)) {
  EmbeddingImpl::reset();
}

void EmbeddingImpl::reset() {
  weight = register_parameter("weight", table_of(options));
  if (!options._weight().defined()) reset_parameters();
}

void EmbeddingImpl::reset_parameters() { draw_rows(weight, options.padding_idx()); }

Tensor EmbeddingImpl::forward(const Tensor& indices) {
  return functional::embedding(indices, weight,
                               functional::EmbeddingFuncOptions()
                                   .padding_idx(options.padding_idx())
                                   .max_norm(options.max_norm())
                                   .norm_type(options.norm_type())
                                   .scale_grad_by_freq(options.scale_grad_by_freq())
                                   .sparse(options.sparse()));
}

Embedding Embedding::from_pretrained(const Tensor& embeddings,
                                     const EmbeddingFromPretrainedOptions& options) {
  check_table(embeddings);
  Embedding layer(EmbeddingOptions(embeddings.size(0), embeddings.size(1))
                      ._weight(embeddings)
                      .padding_idx(options.padding_idx())
                      .max_norm(options.max_norm())
                      .norm_type(options.norm_type())
                      .scale_grad_by_freq(options.scale_grad_by_freq())
                      .sparse(options.sparse()));
  layer->weight.set_requires_grad(!options.freeze());
  return layer;
}

EmbeddingBagImpl::EmbeddingBagImpl(EmbeddingBagOptions options) : OptionModule(std::move(options)) {
  EmbeddingBagImpl::reset();
}

void EmbeddingBagImpl::reset() {
  weight = register_parameter("weight", table_of(options));
  if (!options._weight().defined()) reset_parameters();
}

void EmbeddingBagImpl::reset_parameters() { draw_rows(weight, options.padding_idx()); }

Tensor EmbeddingBagImpl::forward(const Tensor& input, const Tensor& offsets,
                                 const Tensor& per_sample_weights) {
  return functional::embedding_bag(input, weight,
                                   functional::EmbeddingBagFuncOptions()
                                       .offsets(offsets)
                                       .max_norm(options.max_norm())
                                       .norm_type(options.norm_type())
                                       .scale_grad_by_freq(options.scale_grad_by_freq())
                                       .mode(options.mode())
                                       .sparse(options.sparse())
                                       .per_sample_weights(per_sample_weights)
                                       .include_last_offset(options.include_last_offset())
                                       .padding_idx(options.padding_idx()));
}

EmbeddingBag EmbeddingBag::from_pretrained(const Tensor& embeddings,
                                           const EmbeddingBagFromPretrainedOptions& options) {
  check_table(embeddings);
  EmbeddingBag layer(EmbeddingBagOptions(embeddings.size(0), embeddings.size(1))
                         ._weight(embeddings)
                         .max_norm(options.max_norm())
                         .norm_type(options.norm_type())
                         .scale_grad_by_freq(options.scale_grad_by_freq())
                         .mode(options.mode())
                         .sparse(options.sparse())
                         .include_last_offset(options.include_last_offset())
                         .padding_idx(options.padding_idx()));
  layer->weight.set_requires_grad(!options.freeze());
  return layer;
}

}  // namespace taeda::nn
