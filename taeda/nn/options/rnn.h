// Options of recurrent layers and cells.
#pragma once

#include <tuple>

#include "taeda/nn/layer.h"

namespace taeda::nn {
namespace detail {

// What recurrent layers of all kinds hold.
struct RNNOptionsBase {
  using rnn_options_base_mode_t =
      std::variant<enumtype::kLSTM, enumtype::kGRU, enumtype::kRNN_TANH, enumtype::kRNN_RELU>;
  RNNOptionsBase(rnn_options_base_mode_t mode, int64_t input_size, int64_t hidden_size)
      : mode_(mode), input_size_(input_size), hidden_size_(hidden_size) {}
  TAEDA_ARG(rnn_options_base_mode_t, mode);
  TAEDA_ARG(int64_t, input_size);
  TAEDA_ARG(int64_t, hidden_size);
  TAEDA_ARG(int64_t, num_layers) = 1;
  TAEDA_ARG(bool, bias) = true;
  TAEDA_ARG(bool, batch_first) = false;
  TAEDA_ARG(double, dropout) = 0.0;
  TAEDA_ARG(bool, bidirectional) = false;
  TAEDA_ARG(int64_t, proj_size) = 0;
};

}  // namespace detail

struct RNNOptions {
  using nonlinearity_t = std::variant<enumtype::kTanh, enumtype::kReLU>;
  RNNOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  TAEDA_ARG(int64_t, input_size);
  TAEDA_ARG(int64_t, hidden_size);
  TAEDA_ARG(int64_t, num_layers) = 1;
  TAEDA_ARG(nonlinearity_t, nonlinearity) = kTanh;
  TAEDA_ARG(bool, bias) = true;
  TAEDA_ARG(bool, batch_first) = false;
  TAEDA_ARG(double, dropout) = 0.0;
  TAEDA_ARG(bool, bidirectional) = false;
};

// `proj_size` other than zero projects hidden states to that size.
struct LSTMOptions {
  LSTMOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  TAEDA_ARG(int64_t, input_size);
  TAEDA_ARG(int64_t, hidden_size);
  TAEDA_ARG(int64_t, num_layers) = 1;
  TAEDA_ARG(bool, bias) = true;
  TAEDA_ARG(bool, batch_first) = false;
  TAEDA_ARG(double, dropout) = 0.0;
  TAEDA_ARG(bool, bidirectional) = false;
  TAEDA_ARG(int64_t, proj_size) = 0;
};

struct GRUOptions {
  GRUOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  TAEDA_ARG(int64_t, input_size);
  TAEDA_ARG(int64_t, hidden_size);
  TAEDA_ARG(int64_t, num_layers) = 1;
  TAEDA_ARG(bool, bias) = true;
  TAEDA_ARG(bool, batch_first) = false;
  TAEDA_ARG(double, dropout) = 0.0;
  TAEDA_ARG(bool, bidirectional) = false;
};

struct TAEDA_API RNNCellOptions {
  using nonlinearity_t = std::variant<enumtype::kTanh, enumtype::kReLU>;
  RNNCellOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  TAEDA_ARG(int64_t, input_size);
  TAEDA_ARG(int64_t, hidden_size);
  TAEDA_ARG(bool, bias) = true;
  TAEDA_ARG(nonlinearity_t, nonlinearity) = kTanh;

 public:
  auto fields() const {
    const bool is_tanh = std::holds_alternative<enumtype::kTanh>(nonlinearity());
    return std::tuple(Field{"", input_size()}, Field{"", hidden_size()},
                      Field{"bias", bias(), !bias()},
                      Field{"nonlinearity", nonlinearity(), !is_tanh});
  }
};

// Of LSTM and GRU cells.
struct TAEDA_API GatedCellOptions {
  GatedCellOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  TAEDA_ARG(int64_t, input_size);
  TAEDA_ARG(int64_t, hidden_size);
  TAEDA_ARG(bool, bias) = true;

 public:
  auto fields() const {
    return std::tuple(Field{"", input_size()}, Field{"", hidden_size()},
                      Field{"bias", bias(), !bias()});
  }
};
using LSTMCellOptions = GatedCellOptions;
using GRUCellOptions = GatedCellOptions;

}  // namespace taeda::nn
