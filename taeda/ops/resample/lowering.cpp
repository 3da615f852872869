// Images in other sizes, whose elements are copies: a table per dimension says which. Sums of
// neighbours are calls.
#include "taeda/ops/resample/lowerings.h"

namespace taeda::lowering {
namespace {

using Scales = std::vector<std::optional<double>>;

// A dimension in another size.
struct ResizedDim {
  const Expr *in, *out;
  std::optional<double> scale;

  // Elements of the input per element of the result.
  Sym step(Emitter& e, Type type) const {
    if (!scale || *scale <= 0) return e.cast(e.index(in), type) / e.cast(e.index(out), type);
    const double step = 1 / *scale;
    return e.constant(type == Type::F64 ? step : static_cast<float>(step), type);
  }
};

// Which element of the input a result is, along a dimension.
struct NearestPlaces {
  ResizedDim dim;
  bool is_exact;  // the one that the center falls on, in place of the lower corner
  Type type;

  // Of images, PyTorch rounds all places in float.
  Sym of_image(Emitter& e, const Expr* o) const {
    const Sym step = dim.step(e, Type::F32);
    if (is_exact) {
      const Sym center = e.cast(e.index(o), Type::F64) + e.constant(0.5, Type::F64);
      return index(e, e.cast(center * e.cast(step, Type::F64), Type::F32));
    }
    const Sym in = e.index(dim.in), out = e.index(dim.out);
    const Sym half = e.index(e.pool().floor_div(o, e.pool().integer(2)));
    const Sym found = index(e, e.cast(e.index(o), Type::F32) * step);
    return where(out == in, e.index(o), where(out == in + in, half, found));
  }
  Sym of_row(Emitter& e, const Expr* o) const {
    const auto number = [&](double value) { return e.constant(value, type); };
    const Sym step = dim.step(e, type), at = e.cast(e.index(o), type);
    if (!is_exact) return index(e, step * at);
    const Sym center = step * (at + number(0.5)) - number(0.5);
    return index(e, maximum(center, number(0)) + number(0.5));
  }

 private:
  Sym index(Emitter& e, Sym place) const {
    const Sym found = e.cast(floor(e.cast(place, Type::F32)), Type::I64);
    return minimum(found, e.index(dim.in) - e.constant(1, Type::I64));
  }
};

std::vector<ResizedDim> resized_dims(const Tensor& in, const Tensor& out, const Scales& scales) {
  const Place from = Lowering::current().sizes(in), to = Lowering::current().sizes(out);
  std::vector<ResizedDim> dims;
  for (size_t d = 0; d < scales.size(); ++d) dims.push_back({from[d + 2], to[d + 2], scales[d]});
  return dims;
}

// How often an element comes along a dimension; 0 where that is no power of two.
int64_t repeats(symbolic::ExprPool& pool, const ResizedDim& dim) {
  for (int64_t k : {1, 2, 4, 8, 16})
    if (dim.out == pool.mul(dim.in, pool.integer(k)))
      return !dim.scale || *dim.scale == static_cast<double>(k) ? k : 0;
  return 0;
}

// A grid that is finer by powers of two needs no tables.
bool repeat_elements(const std::vector<ResizedDim>& dims, const Tensor& self, const Tensor& out) {
  Lowering& l = Lowering::current();
  symbolic::ExprPool& pool = l.pool();
  std::vector<const Expr*> times(2, pool.integer(1));
  for (const ResizedDim& dim : dims) times.push_back(pool.integer(repeats(pool, dim)));
  for (const Expr* k : times)
    if (k->is_constant(0)) return false;
  l.view(out, self, [&pool, times](const Place& at) {
    Place place;
    for (size_t i = 0; i < at.size(); ++i) place.push_back(pool.floor_div(at[i], times[i]));
    return place;
  });
  return true;
}

// Whether the places are those of an image: several channels behind each other in memory, or a
// small plane.
SymMask is_image(Emitter& e, const Place& sizes, const std::vector<ResizedDim>& dims,
                 bool has_rows) {
  const auto number = [&](int64_t n) { return e.constant(n, Type::I64); };
  SymMask found(false);
  if (dims.size() > 1 && !has_rows) found = e.index(sizes[1]) > number(3);
  if (dims.size() == 2)
    found = found | (e.index(e.pool().add(dims[0].out, dims[1].out)) <= number(128));
  return found;
}

void copy_nearest(const Tensor& self, const Scales& scales, bool is_exact, const Tensor& out) {
  const std::vector<ResizedDim> dims = resized_dims(self, out, scales);
  if (!is_exact && repeat_elements(dims, self, out)) return;
  Lowering& l = Lowering::current();
  const Definition& x = l.of(self);
  const bool has_rows = self.suggested_format() == MemoryFormat::Contiguous;
  const Type type = self.dtype() == DType::Double ? Type::F64 : Type::F32;
  std::vector<const Definition*> tables;
  for (const ResizedDim& dim : dims)
    tables.push_back(&l.define(
        DType::Int64, {dim.out},
        [places = NearestPlaces{dim, is_exact, type}, &x, dims, has_rows](Emitter& e,
                                                                          const Place& at) {
          return where(is_image(e, x.sizes, dims, has_rows), places.of_image(e, at[0]),
                       places.of_row(e, at[0]));
        },
        true));
  l.define(out, [tables, &x](Emitter& e, const Place& at) {
    Place source = at;
    for (size_t d = 2; d < at.size(); ++d)
      source[d] = e.indirect(e.read(*tables[d - 2], {at[d]}), x.sizes[d], false);
    return e.read(x, source);
  });
}

}  // namespace

void upsample_nearest1d(const Tensor& self, SymIntList, std::optional<double> scales,
                        const Tensor& out) {
  copy_nearest(self, {scales}, false, out);
}
void _upsample_nearest_exact1d(const Tensor& self, SymIntList, std::optional<double> scales,
                               const Tensor& out) {
  copy_nearest(self, {scales}, true, out);
}
void upsample_nearest2d(const Tensor& self, SymIntList, std::optional<double> scales_h,
                        std::optional<double> scales_w, const Tensor& out) {
  copy_nearest(self, {scales_h, scales_w}, false, out);
}
void _upsample_nearest_exact2d(const Tensor& self, SymIntList, std::optional<double> scales_h,
                               std::optional<double> scales_w, const Tensor& out) {
  copy_nearest(self, {scales_h, scales_w}, true, out);
}
void upsample_nearest3d(const Tensor& self, SymIntList, std::optional<double> scales_d,
                        std::optional<double> scales_h, std::optional<double> scales_w,
                        const Tensor& out) {
  copy_nearest(self, {scales_d, scales_h, scales_w}, false, out);
}
void _upsample_nearest_exact3d(const Tensor& self, SymIntList, std::optional<double> scales_d,
                               std::optional<double> scales_h, std::optional<double> scales_w,
                               const Tensor& out) {
  copy_nearest(self, {scales_d, scales_h, scales_w}, true, out);
}

}  // namespace taeda::lowering
