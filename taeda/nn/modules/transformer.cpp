// The transformer.
#include "taeda/nn/modules/transformer.h"

#include <limits>

#include "taeda/core/generator.h"
#include "taeda/nn/functional/activation.h"
#include "taeda/nn/init.h"
#include "taeda/ops/functions.h"

namespace taeda::nn {
namespace {

Tensor activated(const activation_t& activation, const Tensor& input) {
  if (std::holds_alternative<enumtype::kReLU>(activation)) return functional::relu(input);
  if (std::holds_alternative<enumtype::kGELU>(activation)) return functional::gelu(input);
  return std::get<std::function<Tensor(const Tensor&)>>(activation)(input);
}

MultiheadAttention attention_of(const TransformerLayerOptions& options) {
  return MultiheadAttention(
      MultiheadAttentionOptions(options.d_model(), options.nhead()).dropout(options.dropout()));
}

LayerNorm norm_of(int64_t size) { return LayerNorm(LayerNormOptions({size})); }

// The output alone, of one input as keys and values.
Tensor attended(MultiheadAttention& attention, const Tensor& query, const Tensor& memory,
                const Tensor& mask, const Tensor& padding_mask) {
  return std::get<0>(
      attention->forward(query, memory, memory, padding_mask, /*need_weights=*/false, mask));
}

// Modules that a stack of `count` copies of a layer holds. A copy is made with initial values of
// its own before it takes the layer's; the stream of random numbers goes back to before them, so
// that what follows draws the numbers it draws in Python.
template <class Layer>
ModuleList copies_of(const Layer& layer, int64_t count) {
  const GeneratorImpl::State before = default_cpu_generator().get_state();
  ModuleList list;
  for (int64_t i = 0; i < count; ++i) list->push_back(layer->clone());
  default_cpu_generator().set_state(before);
  return list;
}

}  // namespace

TransformerEncoderLayerImpl::TransformerEncoderLayerImpl(TransformerEncoderLayerOptions given)
    : options(std::move(given)) {
  TransformerEncoderLayerImpl::reset();
}

void TransformerEncoderLayerImpl::reset() {
  const int64_t size = options.d_model(), inner = options.dim_feedforward();
  self_attn = register_module("self_attn", attention_of(options));
  linear1 = register_module("linear1", Linear(size, inner));
  dropout = register_module("dropout", Dropout(options.dropout()));
  linear2 = register_module("linear2", Linear(inner, size));
  norm1 = register_module("norm1", norm_of(size));
  norm2 = register_module("norm2", norm_of(size));
  dropout1 = register_module("dropout1", Dropout(options.dropout()));
  dropout2 = register_module("dropout2", Dropout(options.dropout()));
}

Tensor TransformerEncoderLayerImpl::forward(const Tensor& src, const Tensor& src_mask,
                                            const Tensor& src_key_padding_mask) {
  const Tensor seen = attended(self_attn, src, src, src_mask, src_key_padding_mask);
  const Tensor x = norm1(src + dropout1(seen));
  const Tensor mapped = linear2(dropout(activated(options.activation(), linear1(x))));
  return norm2(x + dropout2(mapped));
}

TransformerDecoderLayerImpl::TransformerDecoderLayerImpl(TransformerDecoderLayerOptions given)
    : options(std::move(given)) {
  TransformerDecoderLayerImpl::reset();
}

void TransformerDecoderLayerImpl::reset() {
  const int64_t size = options.d_model(), inner = options.dim_feedforward();
  self_attn = register_module("self_attn", attention_of(options));
  multihead_attn = register_module("multihead_attn", attention_of(options));
  linear1 = register_module("linear1", Linear(size, inner));
  dropout = register_module("dropout", Dropout(options.dropout()));
  linear2 = register_module("linear2", Linear(inner, size));
  norm1 = register_module("norm1", norm_of(size));
  norm2 = register_module("norm2", norm_of(size));
  norm3 = register_module("norm3", norm_of(size));
  dropout1 = register_module("dropout1", Dropout(options.dropout()));
  dropout2 = register_module("dropout2", Dropout(options.dropout()));
  dropout3 = register_module("dropout3", Dropout(options.dropout()));
}

Tensor TransformerDecoderLayerImpl::forward(Tensor tgt, const Tensor& memory,
                                            const Tensor& tgt_mask, const Tensor& memory_mask,
                                            const Tensor& tgt_key_padding_mask,
                                            const Tensor& memory_key_padding_mask) {
  const Tensor own = attended(self_attn, tgt, tgt, tgt_mask, tgt_key_padding_mask);
  Tensor x = norm1(tgt + dropout1(own));
  const Tensor other = attended(multihead_attn, x, memory, memory_mask, memory_key_padding_mask);
  x = norm2(x + dropout2(other));
  const Tensor mapped = linear2(dropout(activated(options.activation(), linear1(x))));
  return norm3(x + dropout3(mapped));
}

TransformerEncoderImpl::TransformerEncoderImpl(TransformerEncoderOptions given)
    : options(std::move(given)) {
  TransformerEncoderImpl::reset();
}

void TransformerEncoderImpl::reset() {
  layers = register_module("layers", copies_of(options.encoder_layer(), options.num_layers()));
  norm = options.norm().clone();
  if (!norm.is_empty()) register_module("norm", norm.ptr());
}

Tensor TransformerEncoderImpl::forward(const Tensor& src, const Tensor& src_mask,
                                       const Tensor& src_key_padding_mask) {
  Tensor output = src;
  for (size_t i = 0; i < layers->size(); ++i) {
    output =
        layers->at<TransformerEncoderLayerImpl>(i).forward(output, src_mask, src_key_padding_mask);
  }
  return norm.is_empty() ? output : norm.forward<Tensor>(output);
}

TransformerDecoderImpl::TransformerDecoderImpl(TransformerDecoderOptions given)
    : options(std::move(given)) {
  TransformerDecoderImpl::reset();
}

void TransformerDecoderImpl::reset() {
  layers = register_module("layers", copies_of(options.decoder_layer(), options.num_layers()));
  norm = options.norm().clone();
  if (!norm.is_empty()) register_module("norm", norm.ptr());
}

Tensor TransformerDecoderImpl::forward(const Tensor& tgt, const Tensor& memory,
                                       const Tensor& tgt_mask, const Tensor& memory_mask,
                                       const Tensor& tgt_key_padding_mask,
                                       const Tensor& memory_key_padding_mask) {
  Tensor output = tgt;
  for (size_t i = 0; i < layers->size(); ++i) {
    output = layers->at<TransformerDecoderLayerImpl>(i).forward(
        output, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask);
  }
  return norm.is_empty() ? output : norm.forward<Tensor>(output);
}

TransformerImpl::TransformerImpl(TransformerOptions given) : options(std::move(given)) {
  TransformerImpl::reset();
}

void TransformerImpl::reset() {
  const auto layer = TransformerLayerOptions(options.d_model(), options.nhead())
                         .dim_feedforward(options.dim_feedforward())
                         .dropout(options.dropout())
                         .activation(options.activation());
  const auto norm = [&] { return AnyModule(norm_of(options.d_model())); };
  encoder = options.custom_encoder().clone();
  if (encoder.is_empty()) {
    encoder = AnyModule(TransformerEncoder(
        TransformerEncoderOptions(layer, options.num_encoder_layers()).norm(norm())));
  }
  register_module("encoder", encoder.ptr());
  decoder = options.custom_decoder().clone();
  if (decoder.is_empty()) {
    decoder = AnyModule(TransformerDecoder(
        TransformerDecoderOptions(layer, options.num_decoder_layers()).norm(norm())));
  }
  register_module("decoder", decoder.ptr());
  reset_parameters();
}

void TransformerImpl::reset_parameters() {
  for (const Tensor& parameter : parameters()) {
    if (parameter.dim() > 1) init::xavier_uniform_(parameter);
  }
}

Tensor TransformerImpl::forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask,
                                const Tensor& tgt_mask, const Tensor& memory_mask,
                                const Tensor& src_key_padding_mask,
                                const Tensor& tgt_key_padding_mask,
                                const Tensor& memory_key_padding_mask) {
  TAEDA_CHECK(src.dim() != 3 || src.size(1) == tgt.size(1),
              "the batch number of src and tgt must be equal");
  TAEDA_CHECK(src.size(-1) == options.d_model() && tgt.size(-1) == options.d_model(),
              "the feature number of src and tgt must be equal to d_model");
  const Tensor memory = encoder.forward<Tensor>(src, src_mask, src_key_padding_mask);
  return decoder.forward<Tensor>(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
                                 memory_key_padding_mask);
}

Tensor TransformerImpl::generate_square_subsequent_mask(int64_t sz) {
  TAEDA_CHECK(sz >= 0,
              "Input size must be non-negative to generate a valid square subsequent mask, "
              "but got ",
              sz);
  const double infinity = std::numeric_limits<double>::infinity();
  return taeda::full({SymInt(sz), SymInt(sz)}, -infinity).triu(1);
}

}  // namespace taeda::nn
