// Shape and dtype rules of variance and standard deviation.
#include "taeda/base/log.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/variance/declarations.h"

namespace taeda::impl {
namespace {

using Dims = std::optional<IntList>;
using Correction = std::optional<Scalar>;

// `subject` is what PyTorch's message about dtypes speaks of.
OutSpec moment_spec(const char* op, const char* subject, const Tensor& self, Dims dim,
                    const Correction& correction, bool keepdim) {
  TAEDA_CHECK(self.is_floating_point() || self.is_complex(), subject,
              " only support floating point and complex dtypes");
  const uint64_t bits = dim_bitset(dim.value_or(IntList()), self.dim(), true);
  SymInt count = 1;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (bits >> d & 1) count = count * self.sym_size(d);
  if (!count.is_symbolic() &&
      static_cast<double>(count.expect_int()) <= (correction ? correction->to_double() : 1.0))
    warn(str(op,
             "(): degrees of freedom is <= 0. Correction should be strictly less than the "
             "reduction factor (input numel "
             "divided by output numel)."));
  return OutSpec(SymIntList(reduced_sizes(self, bits, keepdim)), to_real(self.dtype()),
                 self.device());
}

std::array<OutSpec, 2> moment_mean_spec(const char* op, const Tensor& self, Dims dim,
                                        const Correction& correction, bool keepdim) {
  const OutSpec first = moment_spec(op, op, self, dim, correction, keepdim);
  OutSpec second = first;
  second.dtype = self.dtype();
  return {first, second};
}

Correction correction_of(bool unbiased) { return Scalar(unbiased ? 1 : 0); }
// Over all elements the default stays unsaid, as in PyTorch.
Correction total_correction_of(bool unbiased) {
  return unbiased ? std::nullopt : correction_of(false);
}

}  // namespace

Tensor var(const Tensor& self, bool unbiased) {
  return taeda::var(self, Dims(), total_correction_of(unbiased), false);
}
Tensor var_dim(const Tensor& self, Dims dim, bool unbiased, bool keepdim) {
  return taeda::var(self, dim, correction_of(unbiased), keepdim);
}
Tensor& var_out(const Tensor& self, Dims dim, bool unbiased, bool keepdim, Tensor& out) {
  return taeda::var_out(out, self, dim, correction_of(unbiased), keepdim);
}
OutSpec var_correction_spec(const Tensor& self, Dims dim, Correction correction, bool keepdim) {
  return moment_spec("var", "std and var", self, dim, correction, keepdim);
}

Tensor std(const Tensor& self, bool unbiased) {
  return taeda::std(self, Dims(), total_correction_of(unbiased), false);
}
Tensor std_dim(const Tensor& self, Dims dim, bool unbiased, bool keepdim) {
  return taeda::std(self, dim, correction_of(unbiased), keepdim);
}
Tensor& std_out(const Tensor& self, Dims dim, bool unbiased, bool keepdim, Tensor& out) {
  return taeda::std_out(out, self, dim, correction_of(unbiased), keepdim);
}
OutSpec std_correction_spec(const Tensor& self, Dims dim, Correction correction, bool keepdim) {
  return moment_spec("std", "std and var", self, dim, correction, keepdim);
}

std::tuple<Tensor, Tensor> var_mean(const Tensor& self, bool unbiased) {
  return taeda::var_mean(self, Dims(), total_correction_of(unbiased), false);
}
std::tuple<Tensor, Tensor> var_mean_dim(const Tensor& self, Dims dim, bool unbiased, bool keepdim) {
  return taeda::var_mean(self, dim, correction_of(unbiased), keepdim);
}
std::array<OutSpec, 2> var_mean_correction_spec(const Tensor& self, Dims dim, Correction correction,
                                                bool keepdim) {
  return moment_mean_spec("var_mean", self, dim, correction, keepdim);
}

std::tuple<Tensor, Tensor> std_mean(const Tensor& self, bool unbiased) {
  return taeda::std_mean(self, Dims(), total_correction_of(unbiased), false);
}
std::tuple<Tensor, Tensor> std_mean_dim(const Tensor& self, Dims dim, bool unbiased, bool keepdim) {
  return taeda::std_mean(self, dim, correction_of(unbiased), keepdim);
}
std::array<OutSpec, 2> std_mean_correction_spec(const Tensor& self, Dims dim, Correction correction,
                                                bool keepdim) {
  return moment_mean_spec("std_mean", self, dim, correction, keepdim);
}

}  // namespace taeda::impl
