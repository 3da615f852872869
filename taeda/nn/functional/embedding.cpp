// Rows of tables by index as functions.
#include "taeda/nn/functional/embedding.h"

#include "taeda/autograd/guards.h"
#include "taeda/ops/embedding/functions.h"
#include "taeda/ops/functions.h"

namespace taeda::nn::functional {
namespace {

// Rows that are too long are shortened in the table itself.
void limit_norms(const Tensor& weight, const Tensor& indices, std::optional<double> max_norm,
                 double norm_type) {
  if (!max_norm) return;
  const NoGradGuard no_grad;
  Tensor table = weight;
  taeda::embedding_renorm_(table, indices.contiguous(), *max_norm, norm_type);
}

}  // namespace

Tensor one_hot(const Tensor& tensor, int64_t num_classes) {
  return taeda::one_hot(tensor, num_classes);
}

Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options) {
  const int64_t rows = weight.size(0);
  int64_t padding = options.padding_idx().value_or(-1);
  if (options.padding_idx()) {
    TAEDA_CHECK(padding < rows && padding >= -rows, "Padding_idx must be within num_embeddings");
    if (padding < 0) padding += rows;
  }
  limit_norms(weight, input, options.max_norm(), options.norm_type());
  return taeda::embedding(weight, input, padding, options.scale_grad_by_freq(), options.sparse());
}

Tensor embedding_bag(const Tensor& input, const Tensor& weight,
                     const EmbeddingBagFuncOptions& options) {
  Tensor indices = input, offsets = options.offsets(), weights = options.per_sample_weights();
  TAEDA_CHECK(!weights.defined() || input.sizes() == weights.sizes(),
              "embedding_bag: If per_sample_weights (",
              weights.defined() ? weights.sizes() : IntList(),
              ") is not null, then it must have the same shape as the input (", input.sizes(), ")");
  if (input.dim() == 2) {
    TAEDA_CHECK(!offsets.defined(),
                "If input is 2D, then offsets has to be null, as input is treated is a mini-batch "
                "of fixed length sequences. However, found offsets of type Tensor");
    offsets =
        taeda::arange(0, input.numel(), input.size(1), DType::Int64, std::nullopt, input.device());
    indices = input.reshape({-1});
    if (weights.defined()) weights = weights.reshape({-1});
  } else {
    TAEDA_CHECK(input.dim() == 1, "input has to be 1D or 2D Tensor, but got Tensor of dimension ",
                input.dim());
    TAEDA_CHECK(offsets.defined(), "offsets has to be a 1D Tensor but got null");
    TAEDA_CHECK(offsets.dim() == 1, "offsets has to be a 1D Tensor");
  }
  const bool is_sum = std::holds_alternative<enumtype::kSum>(options.mode());
  TAEDA_CHECK(!weights.defined() || is_sum,
              "embedding_bag: per_sample_weights was not null. per_sample_weights is only "
              "supported for mode='kSum' (got mode='",
              enumtype::get_enum_name(options.mode()),
              "').Please open a feature request on GitHub.");
  limit_norms(weight, indices, options.max_norm(), options.norm_type());
  return std::get<0>(taeda::embedding_bag(
      weight, indices, offsets, options.scale_grad_by_freq(),
      static_cast<int64_t>(options.mode().index()), options.sparse(), weights,
      options.include_last_offset() && input.dim() == 1, options.padding_idx()));
}

}  // namespace taeda::nn::functional
