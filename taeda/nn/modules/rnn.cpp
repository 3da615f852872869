// Recurrent layers over sequences.
#include "taeda/nn/modules/rnn.h"

#include <cmath>

#include "taeda/base/log.h"
#include "taeda/base/str.h"
#include "taeda/nn/init.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/recurrent/functions.h"

namespace taeda::nn {
namespace detail {
namespace {

using Mode = RNNOptionsBase::rnn_options_base_mode_t;

// How many vectors of the hidden size the weights of a step make.
int64_t gates_of(const Mode& mode) {
  if (std::holds_alternative<enumtype::kLSTM>(mode)) return 4;
  return std::holds_alternative<enumtype::kGRU>(mode) ? 3 : 1;
}

void check(const RNNOptionsBase& options) {
  TAEDA_CHECK(options.dropout() >= 0 && options.dropout() <= 1,
              "dropout should be a number in range [0, 1] representing the probability of an "
              "element being zeroed");
  TAEDA_CHECK(options.hidden_size() > 0, "hidden_size must be greater than zero");
  TAEDA_CHECK(options.num_layers() > 0, "num_layers must be greater than zero");
  TAEDA_CHECK(options.proj_size() >= 0 && options.proj_size() < options.hidden_size(),
              "proj_size has to be a positive integer, smaller than hidden_size or zero to disable "
              "projections");
  if (options.dropout() > 0 && options.num_layers() == 1) {
    warn(
        str("dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            "expects num_layers greater than 1, but got dropout=",
            options.dropout(), " and num_layers=", options.num_layers()));
  }
}

std::vector<Tensor> in_order(const std::vector<Tensor>& states, const Tensor& permutation) {
  if (!permutation.defined()) return states;
  std::vector<Tensor> out;
  for (const Tensor& state : states) out.push_back(state.index_select(1, permutation));
  return out;
}

}  // namespace

template <class Derived>
RNNImplBase<Derived>::RNNImplBase(const RNNOptionsBase& options) : options_base(options) {
  RNNImplBase::reset();
}

template <class Derived>
std::vector<std::pair<std::string, SymIntVec>> RNNImplBase<Derived>::shapes(int64_t layer) const {
  const int64_t gates = gates_of(options_base.mode()) * options_base.hidden_size();
  const int64_t input = layer == 0 ? options_base.input_size() : output_size() * num_directions();
  std::vector<std::pair<std::string, SymIntVec>> out;
  out.emplace_back("weight_ih", SymIntVec{gates, input});
  out.emplace_back("weight_hh", SymIntVec{gates, output_size()});
  if (options_base.bias()) {
    out.emplace_back("bias_ih", SymIntVec{gates});
    out.emplace_back("bias_hh", SymIntVec{gates});
  }
  if (options_base.proj_size() > 0) {
    out.emplace_back("weight_hr", SymIntVec{options_base.proj_size(), options_base.hidden_size()});
  }
  return out;
}

template <class Derived>
void RNNImplBase<Derived>::reset() {
  check(options_base);
  weight_names_.clear();
  for (int64_t layer = 0; layer < options_base.num_layers(); ++layer) {
    for (int64_t direction = 0; direction < num_directions(); ++direction) {
      const std::string suffix = str("_l", layer, direction == 0 ? "" : "_reverse");
      for (const auto& [name, shape] : shapes(layer)) {
        weight_names_.push_back(name + suffix);
        this->register_parameter(weight_names_.back(), taeda::empty(shape));
      }
    }
  }
  reset_parameters();
}

template <class Derived>
void RNNImplBase<Derived>::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(options_base.hidden_size()));
  for (const Tensor& weight : this->parameters()) init::uniform_(weight, -bound, bound);
}

template <class Derived>
std::vector<Tensor> RNNImplBase<Derived>::all_weights() const {
  std::vector<Tensor> out;
  for (const std::string& name : weight_names_) out.push_back(this->parameters_[name]);
  return out;
}

template <class Derived>
void RNNImplBase<Derived>::pretty_print(std::ostream& stream) const {
  const RNNOptionsBase& o = options_base;
  print_layer(stream, *this, Field{"input_size", o.input_size()},
              Field{"hidden_size", o.hidden_size()}, Field{"num_layers", o.num_layers()},
              Field{"bias", o.bias()}, Field{"batch_first", o.batch_first()},
              Field{"dropout", o.dropout()}, Field{"bidirectional", o.bidirectional()},
              Field{"proj_size", o.proj_size(), o.proj_size() > 0});
}

// Checks the input and the states; states that are missing become zeros.
template <class Derived>
void RNNImplBase<Derived>::prepare(const Tensor& input, const Tensor& batch_sizes,
                                   States& states) const {
  const int64_t rank = batch_sizes.defined() ? 2 : 3;
  TAEDA_CHECK(input.dim() == rank, "input must have ", rank, " dimensions, got ", input.dim());
  TAEDA_CHECK(options_base.input_size() == input.size(-1),
              "input.size(-1) must be equal to input_size. Expected ", options_base.input_size(),
              ", got ", input.size(-1));
  const int64_t batch = batch_sizes.defined() ? batch_sizes[0].template item<int64_t>()
                                              : input.size(options_base.batch_first() ? 0 : 1);
  const int64_t count = options_base.num_layers() * num_directions();
  const bool is_lstm = std::holds_alternative<enumtype::kLSTM>(options_base.mode());
  const bool are_given = !states.empty();
  for (size_t i = 0; i < (is_lstm ? 2 : 1); ++i) {
    // A cell state is never projected.
    const SymIntVec shape{count, batch, i == 0 ? output_size() : options_base.hidden_size()};
    if (!are_given) {
      states.push_back(taeda::zeros(shape, input.dtype(), std::nullopt, input.device()));
    }
    TAEDA_CHECK(states[i].sym_sizes() == SymIntList(shape), "Expected hidden",
                is_lstm ? str("[", i, "]") : std::string(), " size ", as_int(shape), ", got ",
                states[i].sizes());
  }
}

template <class Derived>
std::vector<Tensor> RNNImplBase<Derived>::call(const Tensor& input, const Tensor& batch_sizes,
                                               const States& states) {
  const RNNOptionsBase& o = options_base;
  const std::vector<Tensor> weights = all_weights();
  const auto any = [&](auto&& operation, const auto& state) {
    return batch_sizes.defined()
               ? operation(input, batch_sizes, state, weights, o.bias(), o.num_layers(),
                           o.dropout(), this->is_training(), o.bidirectional())
               : operation(input, state, weights, o.bias(), o.num_layers(), o.dropout(),
                           this->is_training(), o.bidirectional(), o.batch_first());
  };
  if (std::holds_alternative<enumtype::kLSTM>(o.mode())) {
    auto [output, hidden, cell] = any([](auto&&... args) { return taeda::lstm(args...); }, states);
    return {output, hidden, cell};
  }
  const auto [output, hidden] =
      std::holds_alternative<enumtype::kGRU>(o.mode())
          ? any([](auto&&... args) { return taeda::gru(args...); }, states[0])
      : std::holds_alternative<enumtype::kRNN_TANH>(o.mode())
          ? any([](auto&&... args) { return taeda::rnn_tanh(args...); }, states[0])
          : any([](auto&&... args) { return taeda::rnn_relu(args...); }, states[0]);
  return {output, hidden};
}

template <class Derived>
std::vector<Tensor> RNNImplBase<Derived>::run(const Tensor& input, States states) {
  TAEDA_CHECK(input.dim() == 2 || input.dim() == 3, "Expected input to be 2D or 3D, got ",
              input.dim(), "D instead");
  if (input.dim() == 3) {
    prepare(input, Tensor(), states);
    return call(input, Tensor(), states);
  }
  // One sequence is a batch of one.
  const int64_t batch_dim = options_base.batch_first() ? 0 : 1;
  for (Tensor& state : states) {
    TAEDA_CHECK(state.dim() == 2, "For unbatched 2-D input, hx should also be 2-D but got ",
                state.dim(), "-D tensor");
    state = state.unsqueeze(1);
  }
  const Tensor batch = input.unsqueeze(batch_dim);
  prepare(batch, Tensor(), states);
  std::vector<Tensor> results = call(batch, Tensor(), states);
  for (size_t i = 0; i < results.size(); ++i) results[i] = results[i].squeeze(i ? 1 : batch_dim);
  return results;
}

template <class Derived>
std::pair<utils::rnn::PackedSequence, std::vector<Tensor>> RNNImplBase<Derived>::run_packed(
    const PackedSequence& input, States states) {
  states = in_order(states, input.sorted_indices());
  prepare(input.data(), input.batch_sizes(), states);
  std::vector<Tensor> results = call(input.data(), input.batch_sizes(), states);
  PackedSequence output(results[0], input.batch_sizes(), input.sorted_indices(),
                        input.unsorted_indices());
  results.erase(results.begin());
  return {std::move(output), in_order(results, input.unsorted_indices())};
}

template class RNNImplBase<RNNImpl>;
template class RNNImplBase<LSTMImpl>;
template class RNNImplBase<GRUImpl>;

}  // namespace detail

namespace {

std::vector<Tensor> listed(const Tensor& state) {
  return state.defined() ? std::vector<Tensor>{state} : std::vector<Tensor>();
}

std::vector<Tensor> listed(const std::optional<TwoTensors>& state) {
  if (!state) return {};
  return {std::get<0>(*state), std::get<1>(*state)};
}

template <class Options>
detail::RNNOptionsBase shared_options(detail::RNNOptionsBase::rnn_options_base_mode_t mode,
                                      const Options& options) {
  auto shared = detail::RNNOptionsBase(mode, options.input_size(), options.hidden_size())
                    .num_layers(options.num_layers())
                    .bias(options.bias())
                    .batch_first(options.batch_first())
                    .dropout(options.dropout())
                    .bidirectional(options.bidirectional());
  if constexpr (requires { options.proj_size(); }) shared.proj_size(options.proj_size());
  return shared;
}

detail::RNNOptionsBase::rnn_options_base_mode_t mode_of(const RNNOptions& options) {
  if (std::holds_alternative<enumtype::kTanh>(options.nonlinearity())) return kRNN_TANH;
  return kRNN_RELU;
}

}  // namespace

RNNImpl::RNNImpl(const RNNOptions& options)
    : RNNImplBase(shared_options(mode_of(options), options)), options(options) {}

std::tuple<Tensor, Tensor> RNNImpl::forward(const Tensor& input, Tensor hx) {
  const std::vector<Tensor> results = run(input, listed(hx));
  return {results[0], results[1]};
}

std::tuple<utils::rnn::PackedSequence, Tensor> RNNImpl::forward_with_packed_input(
    const PackedSequence& packed_input, Tensor hx) {
  auto [output, states] = run_packed(packed_input, listed(hx));
  return {output, states[0]};
}

LSTMImpl::LSTMImpl(const LSTMOptions& options)
    : RNNImplBase(shared_options(kLSTM, options)), options(options) {}

std::tuple<Tensor, TwoTensors> LSTMImpl::forward(const Tensor& input,
                                                 std::optional<TwoTensors> hx_opt) {
  const std::vector<Tensor> results = run(input, listed(hx_opt));
  return {results[0], {results[1], results[2]}};
}

std::tuple<utils::rnn::PackedSequence, TwoTensors> LSTMImpl::forward_with_packed_input(
    const PackedSequence& packed_input, std::optional<TwoTensors> hx_opt) {
  auto [output, states] = run_packed(packed_input, listed(hx_opt));
  return {output, {states[0], states[1]}};
}

GRUImpl::GRUImpl(const GRUOptions& options)
    : RNNImplBase(shared_options(kGRU, options)), options(options) {}

std::tuple<Tensor, Tensor> GRUImpl::forward(const Tensor& input, Tensor hx) {
  const std::vector<Tensor> results = run(input, listed(hx));
  return {results[0], results[1]};
}

std::tuple<utils::rnn::PackedSequence, Tensor> GRUImpl::forward_with_packed_input(
    const PackedSequence& packed_input, Tensor hx) {
  auto [output, states] = run_packed(packed_input, listed(hx));
  return {output, states[0]};
}

}  // namespace taeda::nn
