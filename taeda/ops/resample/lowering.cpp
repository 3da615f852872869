// The nearest elements of a grid that is finer by a power of two: others are rounded in floats, and
// are calls.
#include "taeda/ops/resample/lowerings.h"

namespace taeda::lowering {
namespace {

// How often an element comes along a dimension; 0 where that is no power of two.
int64_t repeats(symbolic::ExprPool& pool, const Expr* in, const Expr* out,
                std::optional<double> scale) {
  for (int64_t k : {1, 2, 4, 8, 16})
    if (out == pool.mul(in, pool.integer(k))) return !scale || *scale == k ? k : 0;
  return 0;
}

void nearest(const Tensor& self, std::initializer_list<std::optional<double>> scales,
             const Tensor& out) {
  Lowering& l = Lowering::current();
  symbolic::ExprPool& pool = l.pool();
  const Place from = l.sizes(self), to = l.sizes(out);
  std::vector<const Expr*> times(from.size(), pool.integer(1));
  size_t d = from.size() - scales.size();
  for (const std::optional<double>& scale : scales) {
    const int64_t k = repeats(pool, from[d], to[d], scale);
    if (k == 0) return;
    times[d++] = pool.integer(k);
  }
  l.view(out, self, [&pool, times](const Place& at) {
    Place place;
    for (size_t i = 0; i < at.size(); ++i) place.push_back(pool.floor_div(at[i], times[i]));
    return place;
  });
}

}  // namespace

void upsample_nearest1d(const Tensor& self, SymIntList, std::optional<double> scales,
                        const Tensor& out) {
  nearest(self, {scales}, out);
}
void upsample_nearest2d(const Tensor& self, SymIntList, std::optional<double> scales_h,
                        std::optional<double> scales_w, const Tensor& out) {
  nearest(self, {scales_h, scales_w}, out);
}
void upsample_nearest3d(const Tensor& self, SymIntList, std::optional<double> scales_d,
                        std::optional<double> scales_h, std::optional<double> scales_w,
                        const Tensor& out) {
  nearest(self, {scales_d, scales_h, scales_w}, out);
}

}  // namespace taeda::lowering
