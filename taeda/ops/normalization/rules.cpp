// Shape and dtype rules of softmax and layer normalization.
#include "taeda/ops/functions.h"
#include "taeda/ops/normalization/declarations.h"
#include "taeda/ops/normalization/functions.h"
#include "taeda/ops/normalization/mixed_dtypes.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

OutSpec softmax_spec(const char* op, const Tensor& self, int64_t dim, bool half_to_float) {
  TAEDA_CHECK(!half_to_float, op, " with half to float conversion is not supported on CPU");
  const bool is_last = wrap_dim(dim, self.dim()) == self.dim() - 1;
  TAEDA_CHECK_NOT_IMPLEMENTED(self.is_floating_point() && !is_float8(self.dtype()), "\"", op,
                              is_last ? "_lastdim" : "", "_kernel_impl\" not implemented for '",
                              self.dtype(), "'");
  return OutSpec(self.sym_sizes(), self.dtype(), self.device());
}

OutSpec softmax_backward_spec(const Tensor& grad_output, const Tensor& output, int64_t dim) {
  wrap_dim(dim, grad_output.dim());
  TAEDA_CHECK(grad_output.sym_sizes() == output.sym_sizes(),
              "Expected tensor for argument #1 'grad' to have same size as tensor for "
              "argument #2 'output'; but ",
              grad_output.sym_sizes(), " does not equal ", output.sym_sizes());
  TAEDA_CHECK(grad_output.dtype() == output.dtype(), "expected scalar type ", output.dtype(),
              " but found ", grad_output.dtype());
  TAEDA_CHECK_NOT_IMPLEMENTED(is_floating(output.dtype()) && !is_float8(output.dtype()),
                              "\"softmax_backward\" not implemented for '", output.dtype(), "'");
  return OutSpec(grad_output.sym_sizes(), grad_output.dtype(), grad_output.device());
}

Tensor converted(const Tensor& self, std::optional<DType> dtype) {
  return dtype ? self.to(*dtype) : self;
}

// The number of leading dimensions, which layer normalization keeps.
int64_t check_layer_norm(const Tensor& input, SymIntList normalized_shape, const Tensor& weight,
                         const Tensor& bias) {
  const int64_t n = static_cast<int64_t>(normalized_shape.size());
  TAEDA_CHECK(n >= 1,
              "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least "
              "one element, but got "
              "normalized_shape = ",
              normalized_shape);
  TAEDA_CHECK(!weight.defined() || weight.sym_sizes() == normalized_shape,
              "Expected weight to be of same shape as "
              "normalized_shape, but got weight of shape ",
              weight.sym_sizes(), " and normalized_shape = ", normalized_shape);
  TAEDA_CHECK(!bias.defined() || bias.sym_sizes() == normalized_shape,
              "Expected bias to be of same shape as "
              "normalized_shape, but got bias of shape ",
              bias.sym_sizes(), " and normalized_shape = ", normalized_shape);
  const int64_t lead = input.dim() - n;
  bool is_suffix = lead >= 0;
  for (int64_t i = 0; i < n && is_suffix; ++i)
    is_suffix = input.sym_size(lead + i) == normalized_shape[i];
  if (!is_suffix) {
    std::string expected;
    for (const SymInt& s : normalized_shape) expected += str(", ", s);
    fail(ErrorKind::Runtime, "Given normalized_shape=", normalized_shape,
         ", expected input with shape [*", expected, "], but got input of size", input.sym_sizes());
  }
  return lead;
}

void check_layer_norm_dtypes(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  has_mixed_dtypes(input, {&weight, &bias});
  TAEDA_CHECK_NOT_IMPLEMENTED(input.is_floating_point() && !is_float8(input.dtype()),
                              "\"LayerNormKernelImpl\" not implemented for '", input.dtype(), "'");
}

}  // namespace

Tensor softmax_int(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return taeda::_softmax(converted(self, dtype), dim, false);
}
Tensor& softmax_int_out(const Tensor& self, int64_t dim, std::optional<DType> dtype, Tensor& out) {
  return taeda::_softmax_out(out, converted(self, dtype), dim, false);
}
OutSpec _softmax_spec(const Tensor& self, int64_t dim, bool half_to_float) {
  return softmax_spec("softmax", self, dim, half_to_float);
}
OutSpec _softmax_backward_data_spec(const Tensor& grad_output, const Tensor& output, int64_t dim,
                                    DType) {
  return softmax_backward_spec(grad_output, output, dim);
}

Tensor softmin(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return taeda::softmax(self.neg(), dim, dtype);
}

Tensor log_softmax_int(const Tensor& self, int64_t dim, std::optional<DType> dtype) {
  return taeda::_log_softmax(converted(self, dtype), dim, false);
}
Tensor& log_softmax_int_out(const Tensor& self, int64_t dim, std::optional<DType> dtype,
                            Tensor& out) {
  return taeda::_log_softmax_out(out, converted(self, dtype), dim, false);
}
OutSpec _log_softmax_spec(const Tensor& self, int64_t dim, bool half_to_float) {
  return softmax_spec("log_softmax", self, dim, half_to_float);
}
OutSpec _log_softmax_backward_data_spec(const Tensor& grad_output, const Tensor& output,
                                        int64_t dim, DType) {
  return softmax_backward_spec(grad_output, output, dim);
}

Tensor layer_norm(const Tensor& input, SymIntList normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps, bool) {
  return std::get<0>(taeda::native_layer_norm(input, normalized_shape, weight, bias, eps));
}
std::array<OutSpec, 3> native_layer_norm_spec(const Tensor& input, SymIntList normalized_shape,
                                              const Tensor& weight, const Tensor& bias, double) {
  const int64_t lead = check_layer_norm(input, normalized_shape, weight, bias);
  check_layer_norm_dtypes(input, weight, bias);
  SymIntVec kept(input.sym_sizes());
  for (int64_t i = lead; i < input.dim(); ++i) kept[i] = 1;
  const DType dtype = weight.defined() ? weight.dtype() : input.dtype();
  const OutSpec statistics{SymIntList(kept), dtype, input.device()};
  return {OutSpec(input.sym_sizes(), input.dtype(), input.device()), statistics, statistics};
}

std::tuple<Tensor, Tensor, Tensor> native_layer_norm_backward_meta(
    const Tensor& grad_out, const Tensor& input, SymIntList normalized_shape, const Tensor& mean,
    const Tensor& rstd, const Tensor& weight, const Tensor& bias, Span<bool> output_mask) {
  const int64_t lead = check_layer_norm(input, normalized_shape, weight, bias);
  check_layer_norm_dtypes(input, weight, bias);
  SymInt rows = 1;
  for (int64_t i = 0; i < lead; ++i) rows *= input.sym_size(i);
  TAEDA_CHECK(grad_out.sym_sizes() == input.sym_sizes() && mean.sym_numel() == rows &&
                  rstd.sym_numel() == rows,
              "native_layer_norm_backward: expected a gradient of ", input.sym_sizes(), " and ",
              rows, " means and deviations, got ", grad_out.sym_sizes(), ", ", mean.sym_sizes(),
              " and ", rstd.sym_sizes());
  TAEDA_CHECK(output_mask.size() == 3,
              "native_layer_norm_backward: expected three entries of output_mask, got ",
              output_mask.size());
  const OutSpec parameter(normalized_shape, weight.defined() ? weight.dtype() : input.dtype(),
                          input.device());
  Tensor grad_input, grad_weight, grad_bias;
  if (output_mask[0])
    grad_input = OutSpec(input.sym_sizes(), input.dtype(), input.device()).allocate();
  if (output_mask[1]) grad_weight = parameter.allocate();
  if (output_mask[2]) grad_bias = parameter.allocate();
  return {grad_input, grad_weight, grad_bias};
}

}  // namespace taeda::impl
