// One step of a recurrence.
#include <cmath>

#include "taeda/nn/init.h"
#include "taeda/nn/modules/rnn.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/recurrent/functions.h"

namespace taeda::nn {
namespace detail {

template <class Derived, class Options, int64_t gates>
RNNCellImplBase<Derived, Options, gates>::RNNCellImplBase(const Options& options)
    : OptionModule<Derived, Options>(options) {
  RNNCellImplBase::reset();
}

template <class Derived, class Options, int64_t gates>
void RNNCellImplBase<Derived, Options, gates>::reset() {
  const SymInt rows = gates * this->options.hidden_size();
  const SymInt input = this->options.input_size(), hidden = this->options.hidden_size();
  const bool has_bias = this->options.bias();
  weight_ih = this->register_parameter("weight_ih", taeda::empty({rows, input}));
  weight_hh = this->register_parameter("weight_hh", taeda::empty({rows, hidden}));
  bias_ih = this->register_parameter("bias_ih", has_bias ? taeda::empty({rows}) : Tensor());
  bias_hh = this->register_parameter("bias_hh", has_bias ? taeda::empty({rows}) : Tensor());
  reset_parameters();
}

template <class Derived, class Options, int64_t gates>
void RNNCellImplBase<Derived, Options, gates>::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(this->options.hidden_size()));
  for (const Tensor& weight : this->parameters()) init::uniform_(weight, -bound, bound);
}

template <class Derived, class Options, int64_t gates>
void RNNCellImplBase<Derived, Options, gates>::check_forward_input(const Tensor& input,
                                                                   const std::string& name) const {
  TAEDA_CHECK(input.dim() == 1 || input.dim() == 2, "Expected ", name, " to be 1D or 2D, got ",
              input.dim(), "D instead");
}

template <class Derived, class Options, int64_t gates>
Tensor RNNCellImplBase<Derived, Options, gates>::zeros_for(const Tensor& input) const {
  return taeda::zeros({SymInt(input.size(0)), SymInt(this->options.hidden_size())}, input.dtype(),
                      std::nullopt, input.device());
}

template class RNNCellImplBase<RNNCellImpl, RNNCellOptions, 1>;
template class RNNCellImplBase<LSTMCellImpl, LSTMCellOptions, 4>;
template class RNNCellImplBase<GRUCellImpl, GRUCellOptions, 3>;

}  // namespace detail

namespace {

using Step = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                        const Tensor&);

Tensor as_batch(const Tensor& tensor, bool is_batched) {
  return is_batched ? tensor : tensor.unsqueeze(0);
}

}  // namespace

Tensor RNNCellImpl::forward(const Tensor& input, const Tensor& hx) {
  check_forward_input(input, "input");
  if (hx.defined()) check_forward_input(hx, "hidden");
  const bool is_batched = input.dim() == 2;
  const Tensor batch = as_batch(input, is_batched);
  const Tensor state = hx.defined() ? as_batch(hx, is_batched) : zeros_for(batch);
  const bool is_tanh = std::holds_alternative<enumtype::kTanh>(options.nonlinearity());
  const Step step = is_tanh ? taeda::rnn_tanh_cell : taeda::rnn_relu_cell;
  const Tensor result = step(batch, state, weight_ih, weight_hh, bias_ih, bias_hh);
  return is_batched ? result : result.squeeze(0);
}

TwoTensors LSTMCellImpl::forward(const Tensor& input, std::optional<TwoTensors> hx_opt) {
  check_forward_input(input, "input");
  const bool is_batched = input.dim() == 2;
  const Tensor batch = as_batch(input, is_batched);
  std::vector<Tensor> states;
  if (hx_opt) {
    check_forward_input(std::get<0>(*hx_opt), "hx[0]");
    check_forward_input(std::get<1>(*hx_opt), "hx[1]");
    states = {as_batch(std::get<0>(*hx_opt), is_batched),
              as_batch(std::get<1>(*hx_opt), is_batched)};
  } else {
    states.assign(2, zeros_for(batch));
  }
  auto [hidden, cell] = taeda::lstm_cell(batch, states, weight_ih, weight_hh, bias_ih, bias_hh);
  if (is_batched) return {hidden, cell};
  return {hidden.squeeze(0), cell.squeeze(0)};
}

Tensor GRUCellImpl::forward(const Tensor& input, const Tensor& hx) {
  check_forward_input(input, "input");
  if (hx.defined()) check_forward_input(hx, "hidden");
  const bool is_batched = input.dim() == 2;
  const Tensor batch = as_batch(input, is_batched);
  const Tensor state = hx.defined() ? as_batch(hx, is_batched) : zeros_for(batch);
  const Tensor result = taeda::gru_cell(batch, state, weight_ih, weight_hh, bias_ih, bias_hh);
  return is_batched ? result : result.squeeze(0);
}

}  // namespace taeda::nn
