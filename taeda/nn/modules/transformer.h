// The transformer: layers of attention and of two linear maps, stacked to encoder and decoder.
#pragma once

#include <functional>
#include <variant>

#include "taeda/nn/modules/attention.h"
#include "taeda/nn/modules/container.h"
#include "taeda/nn/modules/dropout.h"
#include "taeda/nn/modules/linear.h"
#include "taeda/nn/modules/normalization.h"

namespace taeda::nn {

using activation_t =
    std::variant<enumtype::kReLU, enumtype::kGELU, std::function<Tensor(const Tensor&)>>;

struct TransformerLayerOptions {
  TransformerLayerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  TAEDA_ARG(int64_t, d_model);
  TAEDA_ARG(int64_t, nhead);
  TAEDA_ARG(int64_t, dim_feedforward) = 2048;
  TAEDA_ARG(double, dropout) = 0.1;
  TAEDA_ARG(activation_t, activation) = kReLU;
};
using TransformerEncoderLayerOptions = TransformerLayerOptions;
using TransformerDecoderLayerOptions = TransformerLayerOptions;

class TAEDA_API TransformerEncoderLayerImpl : public Cloneable<TransformerEncoderLayerImpl> {
 public:
  TAEDA_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())}, {2, AnyValue(Tensor())})

  TransformerEncoderLayerImpl(int64_t d_model, int64_t nhead)
      : TransformerEncoderLayerImpl(TransformerEncoderLayerOptions(d_model, nhead)) {}
  explicit TransformerEncoderLayerImpl(TransformerEncoderLayerOptions options);
  void reset() override;
  Tensor forward(const Tensor& src, const Tensor& src_mask = {},
                 const Tensor& src_key_padding_mask = {});

  TransformerEncoderLayerOptions options;
  MultiheadAttention self_attn = nullptr;
  Linear linear1 = nullptr;
  Dropout dropout = nullptr;
  Linear linear2 = nullptr;
  LayerNorm norm1 = nullptr, norm2 = nullptr;
  Dropout dropout1 = nullptr, dropout2 = nullptr;
};
TAEDA_MODULE(TransformerEncoderLayer);

class TAEDA_API TransformerDecoderLayerImpl : public Cloneable<TransformerDecoderLayerImpl> {
 public:
  TAEDA_FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(Tensor())}, {3, AnyValue(Tensor())},
                                 {4, AnyValue(Tensor())}, {5, AnyValue(Tensor())})

  TransformerDecoderLayerImpl(int64_t d_model, int64_t nhead)
      : TransformerDecoderLayerImpl(TransformerDecoderLayerOptions(d_model, nhead)) {}
  explicit TransformerDecoderLayerImpl(TransformerDecoderLayerOptions options);
  void reset() override;
  Tensor forward(Tensor tgt, const Tensor& memory, const Tensor& tgt_mask = {},
                 const Tensor& memory_mask = {}, const Tensor& tgt_key_padding_mask = {},
                 const Tensor& memory_key_padding_mask = {});

  TransformerDecoderLayerOptions options;
  MultiheadAttention self_attn = nullptr, multihead_attn = nullptr;
  Linear linear1 = nullptr;
  Dropout dropout = nullptr;
  Linear linear2 = nullptr;
  LayerNorm norm1 = nullptr, norm2 = nullptr, norm3 = nullptr;
  Dropout dropout1 = nullptr, dropout2 = nullptr, dropout3 = nullptr;
};
TAEDA_MODULE(TransformerDecoderLayer);

// Options of stacks of copies of a layer.
struct TransformerEncoderOptions {
  TransformerEncoderOptions(TransformerEncoderLayer encoder_layer, int64_t num_layers)
      : encoder_layer_(std::move(encoder_layer)), num_layers_(num_layers) {}
  TransformerEncoderOptions(const TransformerEncoderLayerOptions& encoder_layer_options,
                            int64_t num_layers)
      : encoder_layer_(encoder_layer_options), num_layers_(num_layers) {}
  TAEDA_ARG(TransformerEncoderLayer, encoder_layer);
  TAEDA_ARG(int64_t, num_layers);
  TAEDA_ARG(AnyModule, norm) = {};
};

struct TransformerDecoderOptions {
  TransformerDecoderOptions(TransformerDecoderLayer decoder_layer, int64_t num_layers)
      : decoder_layer_(std::move(decoder_layer)), num_layers_(num_layers) {}
  TransformerDecoderOptions(const TransformerDecoderLayerOptions& decoder_layer_options,
                            int64_t num_layers)
      : decoder_layer_(decoder_layer_options), num_layers_(num_layers) {}
  TAEDA_ARG(TransformerDecoderLayer, decoder_layer);
  TAEDA_ARG(int64_t, num_layers);
  TAEDA_ARG(AnyModule, norm) = {};
};

class TAEDA_API TransformerEncoderImpl : public Cloneable<TransformerEncoderImpl> {
 public:
  TAEDA_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())}, {2, AnyValue(Tensor())})

  TransformerEncoderImpl(TransformerEncoderLayer encoder_layer, int64_t num_layers)
      : TransformerEncoderImpl(TransformerEncoderOptions(std::move(encoder_layer), num_layers)) {}
  explicit TransformerEncoderImpl(TransformerEncoderOptions options);
  void reset() override;
  Tensor forward(const Tensor& src, const Tensor& src_mask = {},
                 const Tensor& src_key_padding_mask = {});

  TransformerEncoderOptions options;
  ModuleList layers = nullptr;
  AnyModule norm;
};
TAEDA_MODULE(TransformerEncoder);

class TAEDA_API TransformerDecoderImpl : public Cloneable<TransformerDecoderImpl> {
 public:
  TAEDA_FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(Tensor())}, {3, AnyValue(Tensor())},
                                 {4, AnyValue(Tensor())}, {5, AnyValue(Tensor())})

  TransformerDecoderImpl(TransformerDecoderLayer decoder_layer, int64_t num_layers)
      : TransformerDecoderImpl(TransformerDecoderOptions(std::move(decoder_layer), num_layers)) {}
  explicit TransformerDecoderImpl(TransformerDecoderOptions options);
  void reset() override;
  Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {},
                 const Tensor& memory_mask = {}, const Tensor& tgt_key_padding_mask = {},
                 const Tensor& memory_key_padding_mask = {});

  TransformerDecoderOptions options;
  ModuleList layers = nullptr;
  AnyModule norm;
};
TAEDA_MODULE(TransformerDecoder);

struct TransformerOptions {
  TransformerOptions() = default;
  TransformerOptions(int64_t d_model, int64_t nhead) : d_model_(d_model), nhead_(nhead) {}
  TransformerOptions(int64_t d_model, int64_t nhead, int64_t num_encoder_layers,
                     int64_t num_decoder_layers)
      : d_model_(d_model),
        nhead_(nhead),
        num_encoder_layers_(num_encoder_layers),
        num_decoder_layers_(num_decoder_layers) {}
  TAEDA_ARG(int64_t, d_model) = 512;
  TAEDA_ARG(int64_t, nhead) = 8;
  TAEDA_ARG(int64_t, num_encoder_layers) = 6;
  TAEDA_ARG(int64_t, num_decoder_layers) = 6;
  TAEDA_ARG(int64_t, dim_feedforward) = 2048;
  TAEDA_ARG(double, dropout) = 0.1;
  TAEDA_ARG(activation_t, activation) = kReLU;
  TAEDA_ARG(AnyModule, custom_encoder) = {};
  TAEDA_ARG(AnyModule, custom_decoder) = {};
};

class TAEDA_API TransformerImpl : public Cloneable<TransformerImpl> {
 public:
  TAEDA_FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(Tensor())}, {3, AnyValue(Tensor())},
                                 {4, AnyValue(Tensor())}, {5, AnyValue(Tensor())},
                                 {6, AnyValue(Tensor())}, {7, AnyValue(Tensor())})

  explicit TransformerImpl(TransformerOptions options = {});
  void reset() override;
  void reset_parameters();
  Tensor forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask = {},
                 const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                 const Tensor& src_key_padding_mask = {}, const Tensor& tgt_key_padding_mask = {},
                 const Tensor& memory_key_padding_mask = {});
  // Minus infinity above the diagonal: a place sees those before it.
  static Tensor generate_square_subsequent_mask(int64_t sz);

  TransformerOptions options;
  AnyModule encoder, decoder;
};
TAEDA_MODULE(Transformer);

}  // namespace taeda::nn
