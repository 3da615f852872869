// Recurrent layers as one operator: their steps, and the way back through them.
#include "taeda/ops/recurrent/whole_layers.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/recurrent/cells.h"
#include "taeda/ops/recurrent/declarations.h"
#include "taeda/ops/recurrent/functions.h"
#include "taeda/ops/spec.h"

namespace taeda::recurrent {

Cell cell_of(std::string_view name) {
  if (name == "lstm") return Cell::Lstm;
  if (name == "gru") return Cell::Gru;
  if (name == "rnn_tanh") return Cell::Tanh;
  TAEDA_CHECK(name == "rnn_relu", "[_recurrent_layer] unknown cell: got ", name,
              ", expected lstm, gru, rnn_tanh or rnn_relu");
  return Cell::Relu;
}

namespace {

struct StepGradients {
  Tensor from_input, from_hidden;
  Tensor state;  // of the cell state before the step, or of a hidden state that passes through
};

Tensor sum_of(const Tensor& a, const Tensor& b) {
  if (!a.defined()) return b;
  return b.defined() ? a.add(b) : a;
}

StepGradients lstm_gradients(const LayerPass& p, int64_t t, const Tensor& hidden,
                             const Tensor& cell, const Tensor& grad_hy, const Tensor& grad_cy) {
  const Tensor cy = p.cells.select(0, t);
  if (!p.is_recorded) {
    const auto [gates, state, bias] = taeda::_thnn_fused_lstm_cell_backward_impl(
        grad_hy, grad_cy, cell, cy, p.workspace.select(0, t), false);
    return {gates, gates, state};
  }
  const auto [input, from_hidden, state, bias, same_bias] =
      taeda::_thnn_differentiable_lstm_cell_backward(grad_hy, grad_cy, p.from_input.select(0, t),
                                                     taeda::linear(hidden, p.w_hh, p.b_hh), {}, {},
                                                     cell, cy);
  return {input, from_hidden, state};
}

StepGradients gru_gradients(const LayerPass& p, int64_t t, const Tensor& hidden,
                            const Tensor& grad_hy) {
  const auto made =
      p.is_recorded
          ? taeda::_thnn_differentiable_gru_cell_backward(
                grad_hy, p.from_input.select(0, t),
                taeda::linear(hidden.to(p.w_hh.dtype()), p.w_hh, p.b_hh), hidden, {}, {})
          : taeda::_thnn_fused_gru_cell_backward(grad_hy, p.workspace.select(0, t), false);
  const DType dtype = p.w_hh.dtype();
  return {std::get<0>(made).to(dtype), std::get<1>(made).to(dtype), std::get<2>(made)};
}

StepGradients plain_gradients(const LayerPass& p, int64_t t, const Tensor& grad_hy) {
  const Tensor y = p.outputs.select(0, t);
  const Tensor made = p.cell == Cell::Tanh ? grad_hy.mul(1 - y.mul(y))
                                           : taeda::threshold_backward(grad_hy, y, Scalar(0));
  return {made, made, Tensor()};
}

// The sum over all steps of the products of rows: what a weight gets.
Tensor weight_gradient(const Tensor& grad, const Tensor& given) {
  return grad.flatten(0, 1).t().matmul(given.flatten(0, 1));
}

// By step: what it began with.
Tensor before(const Tensor& first, const Tensor& states, bool is_reversed) {
  const int64_t steps = states.size(0);
  const Tensor rest = states.narrow(0, is_reversed ? 1 : 0, steps - 1);
  const Tensor parts[] = {is_reversed ? rest : first.unsqueeze(0),
                          is_reversed ? first.unsqueeze(0) : rest};
  return taeda::cat(parts, 0);
}

}  // namespace

LayerGradients LayerPass::gradients(const Tensor& grad_outputs, const Tensor& grad_cells) const {
  const int64_t steps = outputs.size(0);
  const Tensor hidden_before = before(hx, outputs, is_reversed);
  const Tensor cells_before = cell == Cell::Lstm ? before(cx, cells, is_reversed) : Tensor();
  const auto at = [](const Tensor& t, int64_t i) { return t.defined() ? t.select(0, i) : t; };
  std::vector<Tensor> by_input(steps), by_hidden(steps), by_output(steps);
  Tensor grad_hidden, grad_cell;
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = is_reversed ? i : steps - 1 - i;
    Tensor grad_hy = sum_of(at(grad_outputs, t), grad_hidden);
    if (!grad_hy.defined()) grad_hy = taeda::zeros_like(hx);
    by_output[t] = grad_hy;
    if (w_hr.defined()) grad_hy = grad_hy.matmul(w_hr);
    const Tensor hidden = hidden_before.select(0, t);
    StepGradients made;
    if (cell == Cell::Lstm)
      made = lstm_gradients(*this, t, hidden, cells_before.select(0, t), grad_hy,
                            sum_of(at(grad_cells, t), grad_cell));
    else if (cell == Cell::Gru)
      made = gru_gradients(*this, t, hidden, grad_hy);
    else
      made = plain_gradients(*this, t, grad_hy);
    grad_hidden = made.from_hidden.matmul(w_hh);
    if (cell == Cell::Lstm)
      grad_cell = made.state;
    else
      grad_hidden = sum_of(grad_hidden, made.state);
    by_input[t] = made.from_input;
    by_hidden[t] = made.from_hidden;
  }
  const Tensor input = taeda::stack(by_input, 0);
  const Tensor from_hidden = cell == Cell::Gru ? taeda::stack(by_hidden, 0) : input;
  const int64_t dims[] = {0, 1};
  Tensor projection;
  if (w_hr.defined()) {
    const Tensor out =
        is_recorded
            ? from_input.add(taeda::linear(hidden_before, w_hh, b_hh)).chunk(4, -1)[3].sigmoid()
            : workspace.chunk(4, -1)[3];
    projection = weight_gradient(taeda::stack(by_output, 0), out.mul(cells.tanh()));
  }
  return {input,
          grad_hidden,
          grad_cell,
          weight_gradient(from_hidden, hidden_before.to(w_hh.dtype())),
          has_bias ? from_hidden.sum(IntList(dims)) : Tensor(),
          projection};
}

}  // namespace taeda::recurrent

namespace taeda::impl {
namespace {

using recurrent::Cell;

int64_t num_gates(Cell cell) { return cell == Cell::Lstm ? 4 : cell == Cell::Gru ? 3 : 1; }

void check_layer(const Tensor& from_input, const Tensor& hx, const Tensor& cx, const Tensor& w_hh,
                 Cell cell) {
  TAEDA_CHECK(from_input.dim() == 3 && hx.dim() == 2 && w_hh.dim() == 2 &&
                  cx.defined() == (cell == Cell::Lstm),
              "[_recurrent_layer] expected (steps, batch, gates), (batch, hidden) and (gates, "
              "hidden), and a cell state for lstm alone: got ",
              from_input.sym_sizes(), ", ", hx.sym_sizes(), " and ", w_hh.sym_sizes());
  const SymInt width = cx.defined() ? cx.sym_size(1) : hx.sym_size(1);
  TAEDA_CHECK(from_input.sym_size(1) == hx.sym_size(0) &&
                  from_input.sym_size(2) == SymInt(num_gates(cell)) * width &&
                  w_hh.sym_size(0) == from_input.sym_size(2) && w_hh.sym_size(1) == hx.sym_size(1),
              "[_recurrent_layer] sizes differ: got input gates of ", from_input.sym_sizes(),
              ", states of ", hx.sym_sizes(), " and weights of ", w_hh.sym_sizes());
  TAEDA_CHECK(from_input.sym_size(0) > SymInt(0),
              "Expected sequence length to be larger than 0 in RNN");
}

Tensor allocated(const Tensor& like, SymIntList sizes) {
  return OutSpec(sizes, like.dtype(), like.device()).allocate();
}
Tensor nothing_like(const Tensor& t) { return allocated(t, SymIntList({SymInt(0)})); }

bool has_symbols(const Tensor& t) { return t.defined() && t.impl()->has_symbolic_sizes(); }

// Tensors of the sizes that the results have, for traces.
std::tuple<Tensor, Tensor, Tensor> layer_results(const Tensor& from_input, const Tensor& hx,
                                                 const Tensor& cx, Cell cell) {
  const SymInt steps = from_input.sym_size(0), batch = hx.sym_size(0), width = hx.sym_size(1);
  const Tensor outputs = allocated(hx, SymIntList({steps, batch, width}));
  if (cell == Cell::Lstm)
    return {outputs, allocated(cx, SymIntList({steps, batch, cx.sym_size(1)})),
            allocated(from_input, from_input.sym_sizes())};
  if (cell == Cell::Gru)
    return {outputs, nothing_like(hx),
            allocated(hx, SymIntList({steps, batch, SymInt(5) * width}))};
  return {outputs, nothing_like(hx), nothing_like(hx)};
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> _recurrent_layer(const Tensor& from_input, const Tensor& hx,
                                                    const Tensor& cx, const Tensor& w_hh,
                                                    const Tensor& b_hh, const Tensor& w_hr,
                                                    std::string_view cell, bool is_reversed) {
  const Cell kind = recurrent::cell_of(cell);
  check_layer(from_input, hx, cx, w_hh, kind);
  if (has_symbols(from_input) || has_symbols(hx)) return layer_results(from_input, hx, cx, kind);
  const int64_t steps = from_input.size(0);
  std::vector<Tensor> outputs(steps), cells(steps), kept(steps);
  Tensor hidden = hx, state = cx;
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = is_reversed ? steps - 1 - i : i;
    const Tensor input = from_input.select(0, t),
                 from_hidden = taeda::linear(hidden.to(w_hh.dtype()), w_hh, b_hh);
    if (kind == Cell::Lstm) {
      std::tie(hidden, state, kept[t]) = taeda::_thnn_fused_lstm_cell(input, from_hidden, state);
      if (w_hr.defined()) hidden = taeda::linear(hidden, w_hr, Tensor());
      cells[t] = state;
    } else if (kind == Cell::Gru && hidden.dtype() != input.dtype()) {
      const recurrent::GruGates g(input, from_hidden, {}, {});
      const Tensor parts[] = {g.reset, g.update, g.candidate, hidden, g.hidden};
      kept[t] = taeda::cat(parts, 1);
      hidden = hidden.sub(g.candidate).mul(g.update).add(g.candidate);
    } else if (kind == Cell::Gru) {
      std::tie(hidden, kept[t]) = taeda::_thnn_fused_gru_cell(input, from_hidden, hidden);
    } else {
      const Tensor sum = input.add(from_hidden);
      hidden = kind == Cell::Tanh ? sum.tanh() : sum.relu();
    }
    outputs[t] = hidden;
  }
  const auto all = [&](const std::vector<Tensor>& parts) {
    return parts[0].defined() ? taeda::stack(parts, 0) : nothing_like(hx);
  };
  return {taeda::stack(outputs, 0), all(cells), all(kept)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> _recurrent_layer_backward(
    const Tensor& grad_outputs, const Tensor& grad_cells, const Tensor& hx, const Tensor& cx,
    const Tensor& w_hh, const Tensor& w_hr, const Tensor& outputs, const Tensor& cells,
    const Tensor& workspace, std::string_view cell, bool is_reversed, bool has_bias) {
  const Cell kind = recurrent::cell_of(cell);
  if (has_symbols(outputs)) {
    const auto like = [](const Tensor& t) {
      return t.defined() ? allocated(t, t.sym_sizes()) : Tensor();
    };
    const SymInt gates = w_hh.sym_size(0);
    return {allocated(w_hh, SymIntList({outputs.sym_size(0), outputs.sym_size(1), gates})),
            like(hx),
            like(cx),
            like(w_hh),
            has_bias ? allocated(w_hh, SymIntList({gates})) : Tensor(),
            like(w_hr)};
  }
  const recurrent::LayerPass pass{{},    hx,        cx,   w_hh,        {},       w_hr, outputs,
                                  cells, workspace, kind, is_reversed, has_bias, false};
  return pass.gradients(grad_outputs, grad_cells);
}

}  // namespace taeda::impl
