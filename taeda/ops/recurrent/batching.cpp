// Batching rules of recurrent cells: the examples join the batch.
#include "taeda/ops/recurrent/batching.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/recurrent/functions.h"

namespace taeda::batch {
namespace {

// Gates with their biases added, where biases differ by example.
struct CellBatch {
  Tensor input_gates, hidden_gates, state, input_bias, hidden_bias;
  SymInt rows;

  CellBatch(const Batched& input, const Batched& hidden, const Batched& given,
            const Batched& input_b, const Batched& hidden_b) {
    const SymInt& size = batch_context().size;
    // Both are given, or none.
    const bool is_apart = input_b.is_batched() || hidden_b.is_batched();
    const auto with = [&](const Batched& t, const Batched& bias) {
      const Tensor wide = t.front_expanded(size);
      return (is_apart ? wide.add(bias.front_expanded(size).unsqueeze(1)) : wide).flatten(0, 1);
    };
    input_gates = with(input, input_b);
    hidden_gates = with(hidden, hidden_b);
    state = given.front_expanded(size).flatten(0, 1);
    if (!is_apart) {
      input_bias = input_b.value;
      hidden_bias = hidden_b.value;
    }
    rows = state.sym_size(0) / size;
  }
  Batched apart(const Tensor& t) const {
    return Batched(t.reshape({batch_context().size, rows, t.sym_size(1)}), 0);
  }
};

}  // namespace

std::tuple<Batched, Batched, Batched> _thnn_fused_lstm_cell(const Batched& input_gates,
                                                            const Batched& hidden_gates,
                                                            const Batched& cx,
                                                            const Batched& input_bias,
                                                            const Batched& hidden_bias) {
  const CellBatch b(input_gates, hidden_gates, cx, input_bias, hidden_bias);
  const auto [hy, cy, workspace] = taeda::_thnn_fused_lstm_cell(
      b.input_gates, b.hidden_gates, b.state, b.input_bias, b.hidden_bias);
  return {b.apart(hy), b.apart(cy), b.apart(workspace)};
}

std::tuple<Batched, Batched> _thnn_fused_gru_cell(const Batched& input_gates,
                                                  const Batched& hidden_gates, const Batched& hx,
                                                  const Batched& input_bias,
                                                  const Batched& hidden_bias) {
  const CellBatch b(input_gates, hidden_gates, hx, input_bias, hidden_bias);
  const auto [hy, workspace] = taeda::_thnn_fused_gru_cell(b.input_gates, b.hidden_gates, b.state,
                                                           b.input_bias, b.hidden_bias);
  return {b.apart(hy), b.apart(workspace)};
}

}  // namespace taeda::batch
