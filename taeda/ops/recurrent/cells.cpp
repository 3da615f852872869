// Steps of recurrent layers: their rules, and cells with weights.
#include "taeda/ops/recurrent/cells.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/recurrent/declarations.h"
#include "taeda/ops/recurrent/functions.h"

namespace taeda::recurrent {

Tensor add_bias(const Tensor& gates, const Tensor& bias) {
  return bias.defined() ? gates.add(bias) : gates;
}

LstmGates::LstmGates(const Tensor& input_gates, const Tensor& hidden_gates,
                     const Tensor& input_bias, const Tensor& hidden_bias) {
  const std::vector<Tensor> parts =
      add_bias(add_bias(input_gates.add(hidden_gates), input_bias), hidden_bias).chunk(4, 1);
  in = parts[0].sigmoid();
  forget = parts[1].sigmoid();
  cell = parts[2].tanh();
  out = parts[3].sigmoid();
}

GruGates::GruGates(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& input_bias,
                   const Tensor& hidden_bias) {
  const std::vector<Tensor> from_input = add_bias(input_gates, input_bias).chunk(3, 1),
                            from_hidden = add_bias(hidden_gates, hidden_bias).chunk(3, 1);
  reset = from_input[0].add(from_hidden[0]).sigmoid();
  update = from_input[1].add(from_hidden[1]).sigmoid();
  hidden = from_hidden[2];
  candidate = from_input[2].add(reset.mul(hidden)).tanh();
}

namespace {

// Whether the fused operators take the dtypes of the gates and of the state.
bool can_be_fused(const Tensor& from_input, const Tensor& from_hidden, const Tensor& state) {
  const DType dtype = from_input.dtype();
  return !is_complex(dtype) && from_hidden.dtype() == dtype && state.dtype() == dtype;
}

}  // namespace

std::tuple<Tensor, Tensor> lstm_states(const Tensor& from_input, const Tensor& from_hidden,
                                       const Tensor& cell) {
  if (can_be_fused(from_input, from_hidden, cell)) {
    const auto [hy, cy, workspace] = taeda::_thnn_fused_lstm_cell(from_input, from_hidden, cell);
    return {hy, cy};
  }
  const LstmGates g(from_input, from_hidden, {}, {});
  const Tensor cy = g.forget.mul(cell).add(g.in.mul(g.cell));
  return {g.out.mul(cy.tanh()), cy};
}

Tensor gru_state(const Tensor& from_input, const Tensor& from_hidden, const Tensor& hidden) {
  if (can_be_fused(from_input, from_hidden, hidden))
    return std::get<0>(taeda::_thnn_fused_gru_cell(from_input, from_hidden, hidden));
  const GruGates g(from_input, from_hidden, {}, {});
  return hidden.sub(g.candidate).mul(g.update).add(g.candidate);
}

}  // namespace taeda::recurrent

namespace taeda::impl {
namespace {

using recurrent::GruGates;
using recurrent::LstmGates;

void check_cell_input(const Tensor& input, const Tensor& w_ih) {
  TAEDA_CHECK(input.sym_size(1) == w_ih.sym_size(1), "input has inconsistent input_size: got ",
              input.sym_size(1), " expected ", w_ih.sym_size(1));
}

void check_cell_hidden(const Tensor& input, const Tensor& hx, const SymInt& hidden_size,
                       int label) {
  TAEDA_CHECK(input.sym_size(0) == hx.sym_size(0), "Input batch size ", input.sym_size(0),
              " doesn't match hidden", label, " batch size ", hx.sym_size(0));
  TAEDA_CHECK(hx.sym_size(1) == hidden_size, "hidden", label, " has inconsistent hidden_size: got ",
              hx.sym_size(1), ", expected ", hidden_size);
}

void check_cell_weights(const Tensor& w_ih, const Tensor& w_hh, const SymInt& hidden_size,
                        int gates) {
  const SymInt rows = SymInt(gates) * hidden_size;
  TAEDA_CHECK(w_ih.sym_size(0) == rows, "weight_ih first dim must be ", gates,
              " * hidden_size = ", rows, ", but got ", w_ih.sym_size(0));
  TAEDA_CHECK(w_hh.sym_size(0) == rows, "weight_hh first dim must be ", gates,
              " * hidden_size = ", rows, ", but got ", w_hh.sym_size(0));
}

// The products of a step with both weights, after the checks of its arguments.
std::tuple<Tensor, Tensor> cell_products(const Tensor& input, const Tensor& hx, const Tensor& w_ih,
                                         const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh,
                                         int gates) {
  check_cell_input(input, w_ih);
  check_cell_hidden(input, hx, w_hh.sym_size(1), 0);
  check_cell_weights(w_ih, w_hh, w_hh.sym_size(1), gates);
  return {taeda::linear(input, w_ih, b_ih), taeda::linear(hx, w_hh, b_hh)};
}

// Gates of `count` states beside each other, of the same batch as the state.
void check_fused_cell(const char* op, const Tensor& input_gates, const Tensor& hidden_gates,
                      const Tensor& state, const Tensor& input_bias, const Tensor& hidden_bias,
                      int64_t count) {
  TAEDA_CHECK(input_gates.dim() == 2 && state.dim() == 2 &&
                  input_gates.sym_sizes() == hidden_gates.sym_sizes() &&
                  input_gates.sym_size(0) == state.sym_size(0) &&
                  input_gates.sym_size(1) == SymInt(count) * state.sym_size(1),
              "[", op, "] sizes differ: got gates of ", input_gates.sym_sizes(), " and ",
              hidden_gates.sym_sizes(), ", expected ", count, " times the state's, which is ",
              state.sym_sizes());
  TAEDA_CHECK(input_bias.defined() == hidden_bias.defined() &&
                  (!input_bias.defined() || (input_bias.sym_numel() == input_gates.sym_size(1) &&
                                             hidden_bias.sym_numel() == input_gates.sym_size(1))),
              "[", op, "] biases differ: expected two of ", input_gates.sym_size(1),
              " elements or none");
  TAEDA_CHECK_NOT_IMPLEMENTED(is_floating(input_gates.dtype()) && !is_float8(input_gates.dtype()),
                              "\"", op, "\" not implemented for '", input_gates.dtype(), "'");
  for (const Tensor* t : {&hidden_gates, &state, &input_bias, &hidden_bias})
    TAEDA_CHECK(!t->defined() || t->dtype() == input_gates.dtype(), "expected scalar type ",
                input_gates.dtype(), " but found ", t->dtype());
}

}  // namespace

std::tuple<Tensor, Tensor> lstm_cell(const Tensor& input, TensorList hx, const Tensor& w_ih,
                                     const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
  TAEDA_CHECK(hx.size() == 2, "lstm_cell expects two hidden states");
  check_cell_input(input, w_ih);
  check_cell_hidden(input, hx[0], w_hh.sym_size(1), 0);
  check_cell_hidden(input, hx[1], w_hh.sym_size(1), 1);
  const auto [from_input, from_hidden] = cell_products(input, hx[0], w_ih, w_hh, b_ih, b_hh, 4);
  return recurrent::lstm_states(from_input, from_hidden, hx[1]);
}

Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                const Tensor& b_ih, const Tensor& b_hh) {
  const auto [from_input, from_hidden] = cell_products(input, hx, w_ih, w_hh, b_ih, b_hh, 3);
  return recurrent::gru_state(from_input, from_hidden, hx);
}

Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih, const Tensor& b_hh) {
  const auto [from_input, from_hidden] = cell_products(input, hx, w_ih, w_hh, b_ih, b_hh, 1);
  return from_input.add(from_hidden).tanh();
}

Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih, const Tensor& b_hh) {
  const auto [from_input, from_hidden] = cell_products(input, hx, w_ih, w_hh, b_ih, b_hh, 1);
  return from_input.add(from_hidden).relu();
}

std::array<OutSpec, 3> _thnn_fused_lstm_cell_spec(const Tensor& input_gates,
                                                  const Tensor& hidden_gates, const Tensor& cx,
                                                  const Tensor& input_bias,
                                                  const Tensor& hidden_bias) {
  check_fused_cell("_thnn_fused_lstm_cell", input_gates, hidden_gates, cx, input_bias, hidden_bias,
                   4);
  const OutSpec state(cx.sym_sizes(), cx.dtype(), cx.device());
  return {state, state, OutSpec(input_gates.sym_sizes(), cx.dtype(), cx.device())};
}

std::array<OutSpec, 2> _thnn_fused_gru_cell_spec(const Tensor& input_gates,
                                                 const Tensor& hidden_gates, const Tensor& hx,
                                                 const Tensor& input_bias,
                                                 const Tensor& hidden_bias) {
  check_fused_cell("_thnn_fused_gru_cell", input_gates, hidden_gates, hx, input_bias, hidden_bias,
                   3);
  return {
      OutSpec(hx.sym_sizes(), hx.dtype(), hx.device()),
      OutSpec(SymIntList({hx.sym_size(0), SymInt(5) * hx.sym_size(1)}), hx.dtype(), hx.device())};
}

namespace {

void check_cell_dtype(const char* op, const Tensor& t) {
  TAEDA_CHECK_NOT_IMPLEMENTED(is_floating(t.dtype()) && !is_float8(t.dtype()), "\"", op,
                              "\" not implemented for '", t.dtype(), "'");
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> _thnn_fused_lstm_cell_backward_impl_meta(
    const Tensor& grad_hy, const Tensor& grad_cy, const Tensor& cx, const Tensor& cy,
    const Tensor& workspace, bool has_bias) {
  check_cell_dtype("_thnn_fused_lstm_cell_backward", workspace);
  if (!grad_hy.defined() && !grad_cy.defined()) return {};
  TAEDA_CHECK(cx.dim() == 2 && cy.sym_sizes() == cx.sym_sizes() &&
                  workspace.sym_numel() == SymInt(4) * cx.sym_numel(),
              "[_thnn_fused_lstm_cell_backward] sizes differ: got ", cx.sym_sizes(), ", ",
              cy.sym_sizes(), " and ", workspace.sym_sizes());
  const OutSpec gates(workspace.sym_sizes(), workspace.dtype(), workspace.device());
  Tensor grad_bias;
  if (has_bias)
    grad_bias = OutSpec(SymIntList({workspace.sym_size(1)}), workspace.dtype(), workspace.device())
                    .allocate();
  return {gates.allocate(), OutSpec(cx.sym_sizes(), cx.dtype(), cx.device()).allocate(), grad_bias};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> _thnn_fused_gru_cell_backward_meta(
    const Tensor& grad_hy, const Tensor& workspace, bool has_bias) {
  check_cell_dtype("_thnn_fused_gru_cell_backward", workspace);
  TAEDA_CHECK(grad_hy.dim() == 2 && workspace.sym_numel() == SymInt(5) * grad_hy.sym_numel(),
              "[_thnn_fused_gru_cell_backward] sizes differ: got ", grad_hy.sym_sizes(), " and ",
              workspace.sym_sizes());
  const SymInt width = SymInt(3) * grad_hy.sym_size(1);
  const OutSpec gates(SymIntList({grad_hy.sym_size(0), width}), grad_hy.dtype(), grad_hy.device());
  const OutSpec bias(SymIntList({width}), grad_hy.dtype(), grad_hy.device());
  const OutSpec state(grad_hy.sym_sizes(), grad_hy.dtype(), grad_hy.device());
  return {gates.allocate(), gates.allocate(), state.allocate(),
          has_bias ? bias.allocate() : Tensor(), has_bias ? bias.allocate() : Tensor()};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> _thnn_fused_lstm_cell_backward(
    const Tensor& grad_hy, const Tensor& grad_cy, const Tensor& cx, const Tensor& cy,
    const Tensor& workspace, bool has_bias) {
  const auto [gates, state, bias] =
      taeda::_thnn_fused_lstm_cell_backward_impl(grad_hy, grad_cy, cx, cy, workspace, has_bias);
  return {gates, gates, state, bias, bias};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> _thnn_differentiable_lstm_cell_backward(
    const Tensor& grad_hy, const Tensor& grad_cy, const Tensor& input_gates,
    const Tensor& hidden_gates, const Tensor& input_bias, const Tensor& hidden_bias,
    const Tensor& cx, const Tensor& cy) {
  if (!grad_hy.defined() && !grad_cy.defined()) return {};
  const LstmGates g(input_gates, hidden_gates, input_bias, hidden_bias);
  const auto slope = [](const Tensor& sigmoid) { return sigmoid.mul(1 - sigmoid); };
  const Tensor tanh = cy.tanh();
  Tensor state = grad_cy;
  Tensor out = taeda::zeros_like(g.out);
  if (grad_hy.defined()) {
    const Tensor through = grad_hy.mul(g.out).mul(1 - tanh.mul(tanh));
    state = state.defined() ? state.add(through) : through;
    out = grad_hy.mul(tanh).mul(slope(g.out));
  }
  const Tensor parts[] = {state.mul(g.cell).mul(slope(g.in)), state.mul(cx).mul(slope(g.forget)),
                          state.mul(g.in).mul(1 - g.cell.mul(g.cell)), out};
  const Tensor gates = taeda::cat(parts, 1);
  const int64_t dims[] = {0};
  const Tensor bias = input_bias.defined() ? gates.sum(IntList(dims)) : Tensor();
  return {gates, gates, state.mul(g.forget), bias, bias};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> _thnn_differentiable_gru_cell_backward(
    const Tensor& grad_hy, const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx,
    const Tensor& input_bias, const Tensor& hidden_bias) {
  const GruGates g(input_gates, hidden_gates, input_bias, hidden_bias);
  const auto slope = [](const Tensor& sigmoid) { return sigmoid.mul(1 - sigmoid); };
  const Tensor candidate = grad_hy.mul(1 - g.update).mul(1 - g.candidate.mul(g.candidate));
  const Tensor update = grad_hy.mul(hx.sub(g.candidate)).mul(slope(g.update));
  const Tensor reset = candidate.mul(g.hidden).mul(slope(g.reset));
  const Tensor from_input[] = {reset, update, candidate},
               from_hidden[] = {reset, update, candidate.mul(g.reset)};
  const Tensor input = taeda::cat(from_input, 1), hidden = taeda::cat(from_hidden, 1);
  const int64_t dims[] = {0};
  Tensor grad_input_bias, grad_hidden_bias;
  if (input_bias.defined()) {
    grad_input_bias = input.sum(IntList(dims));
    grad_hidden_bias = hidden.sum(IntList(dims));
  }
  return {input, hidden, grad_hy.mul(g.update), grad_input_bias, grad_hidden_bias};
}

}  // namespace taeda::impl
