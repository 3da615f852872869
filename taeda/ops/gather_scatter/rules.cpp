// Shape rules of gather and scatter.
#include "taeda/ops/gather_scatter/declarations.h"

#include "taeda/ops/indexing/index_checks.h"

namespace taeda::impl {
namespace {

OutSpec scatter_spec(const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src) {
  check_scatter(self, dim, index, src);
  return OutSpec(self.sym_sizes(), self.dtype(), self.device());
}

void check_reduce(std::string_view reduce) {
  TAEDA_CHECK(reduce == "add" || reduce == "multiply",
              "reduce argument must be either add or multiply.");
}

}  // namespace

OutSpec gather_spec(const Tensor& self, int64_t dim, const Tensor& index, bool) {
  check_gather(self, dim, index);
  return OutSpec(index.sym_sizes(), self.dtype(), self.device());
}

OutSpec scatter_src_spec(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_spec(self, dim, index, &src);
}
OutSpec scatter_value_spec(const Tensor& self, int64_t dim, const Tensor& index, const Scalar&) {
  return scatter_spec(self, dim, index, nullptr);
}
OutSpec scatter_reduce_spec(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                            std::string_view reduce) {
  check_reduce(reduce);
  return scatter_spec(self, dim, index, &src);
}
OutSpec scatter_value_reduce_spec(const Tensor& self, int64_t dim, const Tensor& index,
                                  const Scalar&, std::string_view reduce) {
  check_reduce(reduce);
  return scatter_spec(self, dim, index, nullptr);
}
OutSpec scatter_reduce_two_spec(const Tensor& self, int64_t dim, const Tensor& index,
                                const Tensor& src, std::string_view reduce, bool) {
  TAEDA_CHECK(reduce == "sum" || reduce == "prod" || reduce == "mean" || reduce == "amax" ||
                  reduce == "amin",
              "reduce argument must be either sum, prod, mean, amax or amin, got ", reduce);
  TAEDA_CHECK_NOT_IMPLEMENTED(
      !self.is_complex() || reduce == "sum" || reduce == "prod" || reduce == "mean",
      "\"scatter_gather_tensor_cpu_reduce_", reduce, "\" not implemented for '", self.dtype(), "'");
  return scatter_spec(self, dim, index, &src);
}
OutSpec scatter_add_spec(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_spec(self, dim, index, &src);
}

}  // namespace taeda::impl
