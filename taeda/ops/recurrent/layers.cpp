// Recurrent layers over whole sequences, padded or packed: stacks of layers in one or two
// directions. The product with a sequence's inputs is one, the steps have the rest.
#include <algorithm>
#include <functional>
#include <numeric>

#include "taeda/dispatch/levels.h"
#include "taeda/ops/dropout/functions.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/recurrent/cells.h"
#include "taeda/ops/recurrent/declarations.h"
#include "taeda/ops/recurrent/functions.h"
#include "taeda/ops/recurrent/packing.h"

namespace taeda::impl {
namespace {

using recurrent::CellParams;

// What goes from step to step: the hidden state, and the cell state of long short-term memory.
struct State {
  Tensor hidden, cell;
  State part(int64_t first, int64_t last) const {
    const auto cut = [&](const Tensor& t) {
      return t.defined() ? t.narrow(0, first, last - first) : t;
    };
    return {cut(hidden), cut(cell)};
  }
};

State joined(Span<State> states) {
  const auto join = [&](Tensor State::* part) {
    std::vector<Tensor> parts;
    for (const State& s : states) parts.push_back(s.*part);
    return parts[0].defined() ? taeda::cat(parts, 0) : Tensor();
  };
  return {join(&State::hidden), join(&State::cell)};
}

// A step from the product with its input.
using Step = State (*)(const Tensor& from_input, const State& state, const CellParams& params);

Tensor from_hidden(const State& state, const CellParams& params) {
  return taeda::linear(state.hidden, params.w_hh, params.b_hh);
}
State lstm_step(const Tensor& from_input, const State& state, const CellParams& params) {
  const auto [hy, cy] = recurrent::lstm_states(from_input, from_hidden(state, params), state.cell);
  return {params.w_hr.defined() ? taeda::linear(hy, params.w_hr, Tensor()) : hy, cy};
}
State gru_step(const Tensor& from_input, const State& state, const CellParams& params) {
  return {recurrent::gru_state(from_input, from_hidden(state, params), state.hidden), Tensor()};
}
State tanh_step(const Tensor& from_input, const State& state, const CellParams& params) {
  return {from_input.add(from_hidden(state, params)).tanh(), Tensor()};
}
State relu_step(const Tensor& from_input, const State& state, const CellParams& params) {
  return {from_input.add(from_hidden(state, params)).relu(), Tensor()};
}

struct CellKind {
  const char* name;  // of _recurrent_layer
  Step step;
};

struct LayerResult {
  Tensor outputs;
  State last;
};

// Whether autocast made the products of a layer, whose state is wider.
bool is_cast(const Tensor& from_input, const State& state) {
  return local_keys().include.has(Key::Autocast) && from_input.element_size() == 2 &&
         state.hidden.dtype() == DType::Float;
}

// Whether a layer is one operator (Note [Whole layers]), which has no rule for tangents and batches
// of transforms and takes one dtype; of layers without a cell state also what autocast casts.
bool is_whole(const Tensor& from_input, const State& state) {
  if (!from_input.sym_size(0).is_symbolic() || is_complex(from_input.dtype())) return false;
  if (dispatch::num_levels() > 0) return false;
  if (!state.cell.defined() && is_cast(from_input, state)) return true;
  return state.hidden.dtype() == from_input.dtype() &&
         (!state.cell.defined() || state.cell.dtype() == from_input.dtype());
}

LayerResult run_whole(const char* cell, const Tensor& from_input, const State& state,
                      const CellParams& params, bool is_reversed) {
  const bool casts = is_cast(from_input, state);
  const auto cast = [&](const Tensor& t) {
    return casts && t.defined() ? t.to(from_input.dtype()) : t;
  };
  // A gated unit adds to its state, which stays wide; others make it of products alone.
  const bool is_gated = std::string_view(cell) == "gru";
  const auto [outputs, cells, workspace] =
      taeda::_recurrent_layer(from_input, is_gated ? state.hidden : cast(state.hidden), state.cell,
                              cast(params.w_hh), cast(params.b_hh), params.w_hr, cell, is_reversed);
  const int64_t last = is_reversed ? 0 : -1;
  return {outputs,
          {outputs.select(0, last), state.cell.defined() ? cells.select(0, last) : Tensor()}};
}

// A layer in one direction over a padded sequence, (steps, batch, features).
LayerResult run_steps(const CellKind& kind, const Tensor& input, State state,
                      const CellParams& params, bool is_reversed) {
  const Tensor from_input = taeda::linear(input, params.w_ih, params.b_ih);
  if (is_whole(from_input, state))
    return run_whole(kind.name, from_input, state, params, is_reversed);
  std::vector<Tensor> steps = from_input.unbind(0), outputs;
  TAEDA_CHECK(!steps.empty(), "Expected sequence length to be larger than 0 in RNN");
  if (is_reversed) std::reverse(steps.begin(), steps.end());
  for (const Tensor& from_step : steps) {
    state = kind.step(from_step, state, params);
    outputs.push_back(state.hidden);
  }
  if (is_reversed) std::reverse(outputs.begin(), outputs.end());
  return {taeda::stack(outputs, 0), state};
}

// The same over a packed sequence. Sequences that end give their state back; backward they join
// when their last step comes.
LayerResult run_packed(Step step, const Tensor& data, Span<int64_t> batch_sizes, const State& given,
                       const CellParams& params, bool is_reversed) {
  const Tensor from_input = taeda::linear(data, params.w_ih, params.b_ih);
  const int64_t count = static_cast<int64_t>(batch_sizes.size());
  std::vector<Tensor> outputs;
  std::vector<State> ended;
  int64_t active = is_reversed ? batch_sizes[count - 1] : batch_sizes[0];
  int64_t offset =
      is_reversed ? std::accumulate(batch_sizes.begin(), batch_sizes.end(), int64_t{0}) : 0;
  State state = given.part(0, active);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t size = batch_sizes[is_reversed ? count - 1 - i : i];
    if (size < active) {
      ended.push_back(state.part(size, active));
      state = state.part(0, size);
    } else if (size > active) {
      const State both[] = {state, given.part(active, size)};
      state = joined(both);
    }
    active = size;
    if (is_reversed) offset -= size;
    state = step(from_input.narrow(0, offset, size), state, params);
    if (!is_reversed) offset += size;
    outputs.push_back(state.hidden);
  }
  ended.push_back(state);
  std::reverse(ended.begin(), ended.end());
  if (is_reversed) std::reverse(outputs.begin(), outputs.end());
  return {taeda::cat(outputs, 0), is_reversed ? state : joined(ended)};
}

std::vector<CellParams> gather_params(TensorList params, bool has_biases, bool has_projections) {
  const size_t each = 2 + (has_biases ? 2 : 0) + (has_projections ? 1 : 0);
  TAEDA_CHECK(params.size() % each == 0, "got an incorrect number of RNN parameters");
  std::vector<CellParams> cells;
  for (size_t i = 0; i < params.size(); i += each) {
    CellParams cell{params[i], params[i + 1], {}, {}, {}};
    if (has_biases) {
      cell.b_ih = params[i + 2];
      cell.b_hh = params[i + 3];
    }
    if (has_projections) cell.w_hr = params[i + each - 1];
    cells.push_back(cell);
  }
  return cells;
}

struct Stack {
  CellKind kind;
  std::vector<CellParams> params;
  int64_t num_layers;
  double dropout;
  bool is_training, is_bidirectional;
};

using RunLayer = std::function<LayerResult(const Tensor& input, const State& state,
                                           const CellParams& params, bool is_reversed)>;

// All layers: the last one's outputs, and the last states of all.
LayerResult run_stack(const Stack& s, Tensor input, const State& given, const RunLayer& run) {
  const std::vector<Tensor> hidden = given.hidden.unbind(0),
                            cell = given.cell.defined() ? given.cell.unbind(0)
                                                        : std::vector<Tensor>(hidden.size());
  const int64_t directions = s.is_bidirectional ? 2 : 1;
  TAEDA_CHECK(!s.is_bidirectional || (hidden.size() % 2 == 0 && s.params.size() % 2 == 0),
              "Odd number of params or hiddens given to a bidirectional RNN");
  TAEDA_CHECK(s.num_layers * directions == static_cast<int64_t>(hidden.size()),
              "Expected more hidden states in stacked_rnn");
  TAEDA_CHECK(s.num_layers * directions == static_cast<int64_t>(s.params.size()),
              "Expected more weights in stacked_rnn");
  std::vector<Tensor> last_hidden, last_cell;
  for (int64_t l = 0; l < s.num_layers; ++l) {
    std::vector<Tensor> outputs;
    for (int64_t d = 0; d < directions; ++d) {
      const size_t at = static_cast<size_t>(l * directions + d);
      const LayerResult made = run(input, {hidden[at], cell[at]}, s.params[at], d == 1);
      outputs.push_back(made.outputs);
      last_hidden.push_back(made.last.hidden);
      last_cell.push_back(made.last.cell);
    }
    input = directions == 1 ? outputs[0] : taeda::cat(outputs, -1);
    if (s.dropout != 0 && s.is_training && l < s.num_layers - 1)
      input = taeda::dropout(input, s.dropout, true);
  }
  return {
      input,
      {taeda::stack(last_hidden, 0), given.cell.defined() ? taeda::stack(last_cell, 0) : Tensor()}};
}

LayerResult run_padded_stack(const Stack& s, const Tensor& input, const State& given,
                             bool batch_first) {
  const RunLayer run = [&](const Tensor& x, const State& state, const CellParams& params,
                           bool is_reversed) {
    return run_steps(s.kind, x, state, params, is_reversed);
  };
  LayerResult made = run_stack(s, batch_first ? input.transpose(0, 1) : input, given, run);
  if (batch_first) made.outputs = made.outputs.transpose(0, 1);
  return made;
}

LayerResult run_packed_stack(const Stack& s, const Tensor& data, const Tensor& batch_sizes,
                             const State& given) {
  const std::vector<int64_t> sizes = recurrent::lengths_of(batch_sizes);
  TAEDA_CHECK(!sizes.empty(), "batch_sizes can not be empty");
  return run_stack(
      s, data, given,
      [&](const Tensor& x, const State& state, const CellParams& params, bool is_reversed) {
        return run_packed(s.kind.step, x, sizes, state, params, is_reversed);
      });
}

// Where the cell state is wider than the hidden one, the latter is projected.
Stack lstm_stack(TensorList hx, TensorList params, bool has_biases, int64_t num_layers,
                 double dropout, bool train, bool bidirectional) {
  TAEDA_CHECK(hx.size() == 2, "lstm expects two hidden states");
  const bool has_projections = hx[0].sym_size(2) != hx[1].sym_size(2);
  return {{"lstm", &lstm_step},
          gather_params(params, has_biases, has_projections),
          num_layers,
          dropout,
          train,
          bidirectional};
}

// Autocast casts what the steps take, so that dtypes may differ under it.
void check_places(const Tensor& input, TensorList params, TensorList hx) {
  const bool may_differ = local_keys().include.has(Key::Autocast);
  const auto check = [&](const char* name, const Tensor& t) {
    if (!t.defined()) return;
    TAEDA_CHECK(t.device() == input.device(), "Input and ", name,
                " tensors are not at the same device, found input tensor at ", input.device(),
                " and ", name, " tensor at ", t.device());
    TAEDA_CHECK(may_differ || t.dtype() == input.dtype(), "Input and ", name,
                " tensors are not the same dtype, found input tensor with ", input.dtype(), " and ",
                name, " tensor with ", t.dtype());
  };
  for (const Tensor& t : hx) check("hidden", t);
  for (const Tensor& t : params) check("parameter", t);
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm_input(const Tensor& input, TensorList hx, TensorList params,
                                              bool has_biases, int64_t num_layers, double dropout,
                                              bool train, bool bidirectional, bool batch_first) {
  const Stack s = lstm_stack(hx, params, has_biases, num_layers, dropout, train, bidirectional);
  check_places(input, params, hx);
  const LayerResult made = run_padded_stack(s, input, {hx[0], hx[1]}, batch_first);
  return {made.outputs, made.last.hidden, made.last.cell};
}

std::tuple<Tensor, Tensor, Tensor> lstm_data(const Tensor& data, const Tensor& batch_sizes,
                                             TensorList hx, TensorList params, bool has_biases,
                                             int64_t num_layers, double dropout, bool train,
                                             bool bidirectional) {
  const Stack s = lstm_stack(hx, params, has_biases, num_layers, dropout, train, bidirectional);
  const LayerResult made = run_packed_stack(s, data, batch_sizes, {hx[0], hx[1]});
  return {made.outputs, made.last.hidden, made.last.cell};
}

#define TAEDA_ONE_STATE_LAYER(name, step)                                                     \
  std::tuple<Tensor, Tensor> name##_input(                                                    \
      const Tensor& input, const Tensor& hx, TensorList params, bool has_biases,              \
      int64_t num_layers, double dropout, bool train, bool bidirectional, bool batch_first) { \
    check_places(input, params, Span<Tensor>(&hx, 1));                                        \
    const Stack s{{#name, &step}, gather_params(params, has_biases, false),                   \
                  num_layers,     dropout,                                                    \
                  train,          bidirectional};                                             \
    const LayerResult made = run_padded_stack(s, input, {hx, Tensor()}, batch_first);         \
    return {made.outputs, made.last.hidden};                                                  \
  }                                                                                           \
  std::tuple<Tensor, Tensor> name##_data(                                                     \
      const Tensor& data, const Tensor& batch_sizes, const Tensor& hx, TensorList params,     \
      bool has_biases, int64_t num_layers, double dropout, bool train, bool bidirectional) {  \
    const Stack s{{#name, &step}, gather_params(params, has_biases, false),                   \
                  num_layers,     dropout,                                                    \
                  train,          bidirectional};                                             \
    const LayerResult made = run_packed_stack(s, data, batch_sizes, {hx, Tensor()});          \
    return {made.outputs, made.last.hidden};                                                  \
  }
TAEDA_ONE_STATE_LAYER(gru, gru_step)
TAEDA_ONE_STATE_LAYER(rnn_tanh, tanh_step)
TAEDA_ONE_STATE_LAYER(rnn_relu, relu_step)
#undef TAEDA_ONE_STATE_LAYER

}  // namespace taeda::impl
