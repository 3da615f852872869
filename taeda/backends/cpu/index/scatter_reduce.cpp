// scatter_reduce on the CPU: places that do not keep their own value start at the reduction's
// identity.
#pragma GCC optimize("O3")
#include <limits>

#include "taeda/backends/cpu/gather_scatter_declarations.h"
#include "taeda/backends/cpu/index/scatter_into.h"
#include "taeda/ops/functions.h"

namespace taeda::cpu {
namespace {

template <class T>
constexpr bool kIsComplex = std::is_same_v<T, Complex<float>> || std::is_same_v<T, Complex<double>>;
template <class T>
using Limit = std::numeric_limits<std::conditional_t<std::is_arithmetic_v<T>, T, float>>;

template <class T>
T identity_of(std::string_view reduce) {
  if constexpr (!kIsComplex<T>) {
    using L = Limit<T>;
    if (reduce == "amax") return static_cast<T>(L::has_infinity ? -L::infinity() : L::lowest());
    if (reduce == "amin") return static_cast<T>(L::has_infinity ? L::infinity() : L::max());
  }
  return reduce == "prod" ? T(1) : T(0);
}

// NaN wins, as in amax.
template <class T>
T larger(T a, T b) {
  return a != a || a > b ? a : b;
}
template <class T>
T smaller(T a, T b) {
  return a != a || a < b ? a : b;
}

// amax and amin; complex numbers have none.
template <class T>
void extreme_into(int64_t dim, const Tensor& index, const Tensor& src, Tensor& out, bool is_max) {
  if constexpr (!kIsComplex<T>) {
    if (is_max)
      scatter_into<T>(dim, index, src, out, [](T a, T b) { return larger(a, b); });
    else
      scatter_into<T>(dim, index, src, out, [](T a, T b) { return smaller(a, b); });
  }
}

// Divides each place by the number of elements that went into it; integers round down.
void divide_by_counts(const Tensor& self, int64_t dim, const Tensor& index, bool include_self,
                      Tensor& out) {
  Tensor counts =
      include_self ? taeda::ones_like(self, DType::Int64) : taeda::zeros_like(self, DType::Int64);
  scatter_into(dim, index, scalar_tensor_of(Scalar(1), DType::Int64, self.device()), counts,
               Combine::Add);
  counts.clamp_min_(Scalar(1));
  if (is_integral(out.dtype(), true))
    out.floor_divide_(counts.to(out.dtype()));
  else
    out.div_(counts);
}

}  // namespace

void scatter_reduce_two(const Tensor& self, int64_t dim, const Tensor& given_index,
                        const Tensor& src, std::string_view reduce, bool include_self,
                        Tensor& out) {
  dim = wrap_dim(dim, self.dim());
  const Tensor index = start_scatter(self, dim, given_index, src, out);
  if (index.numel() == 0) return;
  const bool is_max = reduce == "amax", is_extreme = is_max || reduce == "amin";
  visit_dtype(out.dtype(), [&](auto tag) {
    using T = decltype(tag);
    if (!include_self) {
      Tensor start = make_tensor({}, out.dtype(), out.device());
      *static_cast<T*>(start.data()) = identity_of<T>(reduce);
      scatter_into(dim, index, start, out, Combine::Replace);
    }
    if (is_extreme) extreme_into<T>(dim, index, src, out, is_max);
  });
  if (!is_extreme)
    scatter_into(dim, index, src, out, reduce == "prod" ? Combine::Multiply : Combine::Add);
  if (reduce == "mean") divide_by_counts(self, dim, index, include_self, out);
}

}  // namespace taeda::cpu
