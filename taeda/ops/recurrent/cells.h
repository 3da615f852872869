// Steps of recurrent layers, made of other operators.
#pragma once

#include <tuple>

#include "taeda/core/tensor.h"

namespace taeda::recurrent {

// The weights of one layer in one direction; biases and the projection may be absent.
struct CellParams {
  Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
};

// The gates of long short-term memory, as functions of what they are made of.
struct LstmGates {
  Tensor in, forget, cell, out;
  LstmGates(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& input_bias,
            const Tensor& hidden_bias);
};

// The gates of a gated recurrent unit; `hidden` is what the reset gate scales.
struct GruGates {
  Tensor reset, update, hidden, candidate;
  GruGates(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& input_bias,
           const Tensor& hidden_bias);
};

// The new hidden and cell state of a step from the products with its weights. Where dtypes differ,
// as they do under autocast, or are complex, each operator in it promotes as PyTorch's does.
std::tuple<Tensor, Tensor> lstm_states(const Tensor& from_input, const Tensor& from_hidden,
                                       const Tensor& cell);
Tensor gru_state(const Tensor& from_input, const Tensor& from_hidden, const Tensor& hidden);

Tensor add_bias(const Tensor& gates, const Tensor& bias);

}  // namespace taeda::recurrent
