// A recurrent cell with a hand-written backward, in the calls that extensions of PyTorch use.
#include <torch/extension.h>

#include <vector>

using torch::Tensor;

static Tensor sigmoid_slope(Tensor z) {
  auto s = torch::sigmoid(z);
  return s * (1 - s);
}

static Tensor elu_slope(Tensor z, torch::Scalar alpha = 1.0) {
  auto falling = z.exp() * alpha;
  auto is_negative = (alpha * (z.exp() - 1)) < 0;
  return (z > 0).type_as(z) + is_negative.type_as(z) * falling;
}

// h' = tanh(c') * o and c' = c + elu(g) * i, for the gates [i, o, g] of the joined [h, x].
std::vector<at::Tensor> forward(Tensor x, Tensor weights, Tensor bias, Tensor h, Tensor c) {
  auto joined = torch::cat({h, x}, /*dim=*/1);
  auto all_gates = torch::addmm(bias, joined, weights.transpose(0, 1));
  auto gates = all_gates.chunk(3, /*dim=*/1);
  auto next_c = c + torch::elu(gates[2], /*alpha=*/1.0) * torch::sigmoid(gates[0]);
  auto next_h = torch::tanh(next_c) * torch::sigmoid(gates[1]);
  return {next_h, next_c, joined, all_gates};
}

std::vector<at::Tensor> backward(Tensor grad_h, Tensor grad_c, Tensor next_c, Tensor joined,
                                 Tensor all_gates, Tensor weights) {
  auto gates = all_gates.chunk(3, /*dim=*/1);
  auto bent = next_c.tanh();
  auto grad_next_c = grad_c + grad_h * torch::sigmoid(gates[1]) * (1 - bent.pow(2));
  auto grad_i = torch::elu(gates[2]) * grad_next_c;
  auto grad_o = bent * grad_h;
  auto grad_g = torch::sigmoid(gates[0]) * grad_next_c;
  grad_i *= sigmoid_slope(gates[0]);
  grad_o *= sigmoid_slope(gates[1]);
  grad_g *= elu_slope(gates[2]);
  auto grad_gates = torch::cat({grad_i, grad_o, grad_g}, /*dim=*/1);
  auto grad_joined = grad_gates.mm(weights);
  const auto width = grad_h.size(1);
  return {grad_joined.slice(/*dim=*/1, width), grad_gates.t().mm(joined),
          grad_gates.sum(/*dim=*/0, /*keepdim=*/true), grad_joined.slice(/*dim=*/1, 0, width),
          grad_next_c};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &forward, "The next state, and what backward needs.");
  m.def("backward", &backward, "Gradients of x, weights, bias, h and c.");
}
