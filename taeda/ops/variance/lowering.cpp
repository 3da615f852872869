// Variances and standard deviations, with means beside them, of moments.
#include "taeda/ops/chunked_rows.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/variance/lowerings.h"

namespace taeda::lowering {
namespace {

void define_moments(const Tensor& self, std::optional<IntList> dim,
                    std::optional<Scalar> correction, bool is_std, const Tensor& out,
                    const Tensor* mean) {
  if (self.is_complex()) return;  // real and imaginary parts have moments of their own: a call
  Lowering& l = Lowering::current();
  const Definition& x = l.of(self);
  const uint64_t dims = dim_bitset(dim.value_or(IntList()), self.dim(), true);
  const Moments moments(x, dims);
  const auto kept = [dims, ndim = x.sizes.size()](const Place& at) {
    if (at.size() != ndim) return at;
    Place place;
    for (size_t d = 0; d < ndim; ++d)
      if (!(dims >> d & 1)) place.push_back(at[d]);
    return place;
  };
  const Lowering::NumberFn less = l.number(correction.value_or(Scalar(1.0)));
  l.define(out, [moments, kept, less, is_std](Emitter& e, const Place& at) {
    const Moments::State s = moments.at(e, kept(at));
    const Sym zero = e.constant(0.0, Type::F64);
    const Sym value = s.squares / maximum(s.count - less(e, Type::F64), zero);
    return is_std ? sqrt(value) : value;
  });
  if (mean)
    l.define(*mean,
             [moments, kept](Emitter& e, const Place& at) { return moments.at(e, kept(at)).mean; });
}

}  // namespace

void var_correction(const Tensor& self, std::optional<IntList> dim,
                    std::optional<Scalar> correction, bool, const Tensor& out) {
  define_moments(self, dim, correction, false, out, nullptr);
}
void std_correction(const Tensor& self, std::optional<IntList> dim,
                    std::optional<Scalar> correction, bool, const Tensor& out) {
  define_moments(self, dim, correction, true, out, nullptr);
}
void var_mean_correction(const Tensor& self, std::optional<IntList> dim,
                         std::optional<Scalar> correction, bool, const Tensor& out0,
                         const Tensor& out1) {
  define_moments(self, dim, correction, false, out0, &out1);
}
void std_mean_correction(const Tensor& self, std::optional<IntList> dim,
                         std::optional<Scalar> correction, bool, const Tensor& out0,
                         const Tensor& out1) {
  define_moments(self, dim, correction, true, out0, &out1);
}

}  // namespace taeda::lowering
