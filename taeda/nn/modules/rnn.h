// Recurrent layers over sequences, and their cells, which take one step.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "taeda/nn/layer.h"
#include "taeda/nn/options/rnn.h"
#include "taeda/nn/utils/rnn.h"

namespace taeda::nn {

using TwoTensors = std::tuple<Tensor, Tensor>;

namespace detail {

// What recurrent layers share: the parameters of each layer and direction, checks and the walk from
// padded or packed input to the operator. A state is a tensor, or a pair of tensors for LSTM.
template <class Derived>
class TAEDA_API RNNImplBase : public Cloneable<Derived> {
 public:
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  // PyTorch's request to put the parameters into one block; there is nothing to do.
  void flatten_parameters() {}
  std::vector<Tensor> all_weights() const;

  RNNOptionsBase options_base;

 protected:
  using PackedSequence = utils::rnn::PackedSequence;
  // The operator on a padded input, or on a packed one with batch sizes.
  using States = std::vector<Tensor>;

  explicit RNNImplBase(const RNNOptionsBase& options);
  // (output, state...) of an input (length, batch, size); states may be empty for zeros.
  std::vector<Tensor> run(const Tensor& input, States states);
  std::pair<PackedSequence, States> run_packed(const PackedSequence& input, States states);

 private:
  std::vector<std::pair<std::string, SymIntVec>> shapes(int64_t layer) const;
  std::vector<Tensor> call(const Tensor& input, const Tensor& batch_sizes, const States& states);
  void prepare(const Tensor& input, const Tensor& batch_sizes, States& states) const;
  int64_t num_directions() const { return options_base.bidirectional() ? 2 : 1; }
  int64_t output_size() const {
    return options_base.proj_size() > 0 ? options_base.proj_size() : options_base.hidden_size();
  }

  std::vector<std::string> weight_names_;
};

}  // namespace detail

// h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu in its place.
class TAEDA_API RNNImpl : public detail::RNNImplBase<RNNImpl> {
 public:
  TAEDA_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())})

  RNNImpl(int64_t input_size, int64_t hidden_size) : RNNImpl(RNNOptions(input_size, hidden_size)) {}
  explicit RNNImpl(const RNNOptions& options);
  std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {});
  std::tuple<PackedSequence, Tensor> forward_with_packed_input(const PackedSequence& packed_input,
                                                               Tensor hx = {});

  RNNOptions options;
};
TAEDA_MODULE(RNN);

// Gates around a cell state; the state is a pair.
class TAEDA_API LSTMImpl : public detail::RNNImplBase<LSTMImpl> {
 public:
  TAEDA_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<TwoTensors>())})

  LSTMImpl(int64_t input_size, int64_t hidden_size)
      : LSTMImpl(LSTMOptions(input_size, hidden_size)) {}
  explicit LSTMImpl(const LSTMOptions& options);
  std::tuple<Tensor, TwoTensors> forward(const Tensor& input,
                                         std::optional<TwoTensors> hx_opt = {});
  std::tuple<PackedSequence, TwoTensors> forward_with_packed_input(
      const PackedSequence& packed_input, std::optional<TwoTensors> hx_opt = {});

  LSTMOptions options;
};
TAEDA_MODULE(LSTM);

// Gates that reset and update the hidden state.
class TAEDA_API GRUImpl : public detail::RNNImplBase<GRUImpl> {
 public:
  TAEDA_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())})

  GRUImpl(int64_t input_size, int64_t hidden_size) : GRUImpl(GRUOptions(input_size, hidden_size)) {}
  explicit GRUImpl(const GRUOptions& options);
  std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {});
  std::tuple<PackedSequence, Tensor> forward_with_packed_input(const PackedSequence& packed_input,
                                                               Tensor hx = {});

  GRUOptions options;
};
TAEDA_MODULE(GRU);

namespace detail {

// What cells share: the four parameters, with `gates` vectors of the hidden size each.
template <class Derived, class Options, int64_t gates>
class TAEDA_API RNNCellImplBase : public OptionModule<Derived, Options> {
 public:
  RNNCellImplBase(int64_t input_size, int64_t hidden_size)
      : RNNCellImplBase(Options(input_size, hidden_size)) {}
  explicit RNNCellImplBase(const Options& options);
  void reset() override;
  void reset_parameters();

  Tensor weight_ih, weight_hh, bias_ih, bias_hh;

 protected:
  void check_forward_input(const Tensor& input, const std::string& name) const;
  // The state that a step starts from where none is given.
  Tensor zeros_for(const Tensor& input) const;
};

}  // namespace detail

class TAEDA_API RNNCellImpl : public detail::RNNCellImplBase<RNNCellImpl, RNNCellOptions, 1> {
 public:
  TAEDA_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())})

  using RNNCellImplBase::RNNCellImplBase;
  Tensor forward(const Tensor& input, const Tensor& hx = {});
};
TAEDA_MODULE(RNNCell);

class TAEDA_API LSTMCellImpl : public detail::RNNCellImplBase<LSTMCellImpl, LSTMCellOptions, 4> {
 public:
  TAEDA_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<TwoTensors>())})

  using RNNCellImplBase::RNNCellImplBase;
  TwoTensors forward(const Tensor& input, std::optional<TwoTensors> hx_opt = {});
};
TAEDA_MODULE(LSTMCell);

class TAEDA_API GRUCellImpl : public detail::RNNCellImplBase<GRUCellImpl, GRUCellOptions, 3> {
 public:
  TAEDA_FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(Tensor())})

  using RNNCellImplBase::RNNCellImplBase;
  Tensor forward(const Tensor& input, const Tensor& hx = {});
};
TAEDA_MODULE(GRUCell);

}  // namespace taeda::nn
