// Functions of matrices and special functions under the names of their namespaces.
#include <torch/torch.h>

int main() {
  const torch::Tensor a = torch::eye(3) * 2, inverse = torch::linalg::inv(a);
  const auto [sign, logabsdet] = torch::linalg::slogdet(a);
  const auto [q, r] = torch::linalg::qr(a, "reduced");
  torch::Tensor out = torch::empty({0});
  torch::linalg::inv_out(out, a);
  const torch::Tensor x = torch::tensor({0.5, 2.0});
  const bool matrices = torch::equal(out, inverse) && torch::linalg::det(a).item<float>() == 8 &&
                        torch::allclose(a.matmul(inverse), torch::eye(3)) &&
                        torch::allclose(q.matmul(r), a) && sign.item<float>() == 1 &&
                        torch::allclose(torch::linalg::solve(a, torch::ones({3})), a.diag() / 4);
  const bool numbers = torch::equal(torch::special::gammaln(x), torch::lgamma(x)) &&
                       torch::equal(torch::special::expit(x), torch::sigmoid(x)) &&
                       torch::equal(torch::special::psi(x), torch::special::digamma(x)) &&
                       torch::equal(torch::special::softmax(x, 0), torch::softmax(x, 0)) &&
                       torch::special::ndtr(torch::zeros({1})).item<float>() == 0.5f;
  return matrices && numbers ? 0 : 1;
}
