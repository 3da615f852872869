// Grid sampling as sums over the neighbours of each place.
#include "taeda/ops/resample/grid_taps.h"

#include "taeda/ops/functions.h"
#include "taeda/ops/wide.h"

namespace taeda {
namespace {

// A number per place and its slope by the grid's number, which is constant between borders.
struct PlaceTensor {
  Tensor value, slope;
};

// Back between the borders, as a mirror would have it.
PlaceTensor reflected_place(const PlaceTensor& p, const SymInt& size, bool align_corners) {
  const SymInt span = align_corners ? size - SymInt(1) : size;
  if (span == SymInt(0)) return {p.value.mul(Scalar(0)), p.slope.mul(Scalar(0))};
  const Scalar low(align_corners ? 0.0 : -0.5);
  const Tensor moved = p.value.sub(low), away = moved.abs();
  const Tensor flips = away.div(Scalar(span)).floor();
  const Tensor extra = away.sub(flips.mul(Scalar(span)));
  const Tensor is_odd = flips.remainder(Scalar(2)).ne(Scalar(0));
  const Tensor is_turned = is_odd.ne(moved.lt(Scalar(0)));
  const Tensor back = extra.neg().add(Scalar(span));
  return {taeda::where(is_odd, back, extra).add(low),
          taeda::where(is_turned, p.slope.neg(), p.slope)};
}

PlaceTensor place_inside(PlaceTensor p, const SymInt& size, const GridCall& call) {
  if (call.padding == 2) p = reflected_place(p, size, call.align_corners);
  if (call.padding == 0) return p;
  const Scalar last(size - SymInt(1));
  const Tensor is_between = p.value.gt(Scalar(0)).logical_and(p.value.lt(last));
  return {p.value.clamp(Scalar(0), last), p.slope.mul(is_between)};
}

struct AxisTap {
  Tensor index, weight, slope;
};

AxisTap axis_tap(const Tensor& at, const SymInt& size, const Tensor& weight, const Tensor& slope) {
  const Tensor is_inside = at.ge(Scalar(0)).logical_and(at.lt(Scalar(size)));
  const Tensor none = at.mul(Scalar(0)).nan_to_num();
  return {taeda::where(is_inside, at, none).to(DType::Int64), taeda::where(is_inside, weight, none),
          taeda::where(is_inside, slope, none)};
}

Tensor cubic_polynomial(const Tensor& x, double a, double b, double c, double d) {
  return x.mul(Scalar(a)).add(Scalar(b)).mul(x).add(Scalar(c)).mul(x).add(Scalar(d));
}

// Four neighbours around a place, see cubic_weights of the CPU.
std::vector<AxisTap> cubic_taps(const PlaceTensor& p, const SymInt& size, const GridCall& call) {
  static constexpr double kA = -0.75;
  const Tensor below = p.value.floor(), rest = p.value.sub(below), back = rest.neg().add(Scalar(1));
  const Tensor distance[] = {rest.add(Scalar(1)), rest, back, back.add(Scalar(1))};
  std::vector<AxisTap> taps;
  for (int k = 0; k < 4; ++k) {
    const Tensor& x = distance[k];
    const bool is_outer = k == 0 || k == 3;
    const Tensor weight = is_outer ? cubic_polynomial(x, kA, -5 * kA, 8 * kA, -4 * kA)
                                   : cubic_polynomial(x, kA + 2, -(kA + 3), 0, 1);
    const Tensor slope = is_outer ? cubic_polynomial(x, 0, 3 * kA, -10 * kA, 8 * kA)
                                  : cubic_polynomial(x, 0, 3 * (kA + 2), -2 * (kA + 3), 0);
    const PlaceTensor at = place_inside({below.add(Scalar(k - 1)), p.slope}, size, call);
    taps.push_back(axis_tap(at.value, size, weight, slope.mul(k < 2 ? p.slope : p.slope.neg())));
  }
  return taps;
}

// The neighbours along a dimension of the places that `numbers` name in it.
std::vector<AxisTap> axis_taps(const Tensor& numbers, const SymInt& size, const GridCall& call) {
  const SymInt span = call.align_corners ? size - SymInt(1) : size;
  const Tensor half = taeda::full_like(numbers, Scalar(span)).div(Scalar(2));
  PlaceTensor p{numbers.add(Scalar(1)).mul(half).sub(Scalar(call.align_corners ? 0.0 : 0.5)), half};
  if (call.mode == 2) return cubic_taps(p, size, call);
  p = place_inside(p, size, call);
  const Tensor none = p.slope.mul(Scalar(0));
  if (call.mode == 1) return {axis_tap(p.value.round(), size, none.add(Scalar(1)), none)};
  const Tensor below = p.value.floor(), rest = p.value.sub(below);
  return {axis_tap(below, size, rest.neg().add(Scalar(1)), p.slope.neg()),
          axis_tap(below.add(Scalar(1)), size, rest, p.slope)};
}

// A neighbour of each place: examples x places; slopes by x, y and z.
struct GridTap {
  Tensor index, weight;
  std::vector<Tensor> slopes;
};

std::vector<GridTap> grid_taps(const Tensor& input, const Tensor& grid, const GridCall& call) {
  const int64_t spatial = input.dim() - 2;
  const Tensor flat = grid.reshape({grid.sym_size(0), SymInt(-1), SymInt(spatial)});
  std::vector<GridTap> taps;
  for (int64_t d = 0; d < spatial; ++d) {  // 0 is the width
    const SymInt size = input.sym_size(-1 - d);
    SymInt step = 1;
    for (int64_t k = 0; k < d; ++k) step *= input.sym_size(-1 - k);
    const std::vector<AxisTap> line = axis_taps(flat.select(-1, d), size, call);
    std::vector<GridTap> joined;
    for (const AxisTap& a : line) {
      const Tensor offset = a.index.mul(Scalar(step));
      if (d == 0) {
        joined.push_back({offset, a.weight, {a.slope}});
        continue;
      }
      for (const GridTap& t : taps) {
        GridTap both{t.index.add(offset), t.weight.mul(a.weight), {}};
        for (const Tensor& slope : t.slopes) both.slopes.push_back(slope.mul(a.weight));
        both.slopes.push_back(t.weight.mul(a.slope));
        joined.push_back(both);
      }
    }
    taps = joined;
  }
  return taps;
}

// An index for all channels: examples x channels x places.
Tensor for_channels(const Tensor& t, const Tensor& input) {
  return t.unsqueeze(1).expand({t.sym_size(0), input.sym_size(1), t.sym_size(1)});
}

SymIntVec sampled_sizes(const Tensor& input, const Tensor& grid) {
  SymIntVec sizes{input.sym_size(0), input.sym_size(1)};
  for (int64_t d = 1; d + 1 < grid.dim(); ++d) sizes.push_back(grid.sym_size(d));
  return sizes;
}

}  // namespace

Tensor sampled_by_operators(const Tensor& input, const Tensor& grid, const GridCall& call) {
  const Wide w({&input});
  const Tensor planes = w(input).flatten(2, -1);
  Tensor sum;
  for (const GridTap& t : grid_taps(input, w(grid), call)) {
    const Tensor part = planes.gather(2, for_channels(t.index, input)).mul(t.weight.unsqueeze(1));
    sum = sum.defined() ? sum.add(part) : part;
  }
  return w.rounded(sum.reshape(sampled_sizes(input, grid)));
}

Tensor sampled_input_gradient(const Tensor& grad, const Tensor& input, const Tensor& grid,
                              const GridCall& call) {
  const Wide w({&grad});
  const Tensor flat = w(grad).flatten(2, -1);
  SymInt plane = 1;
  for (int64_t d = 2; d < input.dim(); ++d) plane *= input.sym_size(d);
  Tensor sum =
      taeda::zeros({input.sym_size(0), input.sym_size(1), plane}, w.compute(), {}, input.device());
  for (const GridTap& t : grid_taps(input, w(grid), call))
    sum = sum.scatter_add(2, for_channels(t.index, input), flat.mul(t.weight.unsqueeze(1)));
  return w.rounded(sum.reshape(input.sym_sizes()));
}

Tensor sampled_grid_gradient(const Tensor& grad, const Tensor& input, const Tensor& grid,
                             const GridCall& call) {
  const Wide w({&grad});
  const Tensor flat = w(grad).flatten(2, -1), planes = w(input).flatten(2, -1);
  std::vector<Tensor> sums(static_cast<size_t>(input.dim() - 2));
  const int64_t channel[] = {1};
  for (const GridTap& t : grid_taps(input, w(grid), call)) {
    const Tensor value =
        planes.gather(2, for_channels(t.index, input)).mul(flat).sum(IntList(channel), false);
    for (size_t d = 0; d < sums.size(); ++d) {
      const Tensor part = value.mul(t.slopes[d]);
      sums[d] = sums[d].defined() ? sums[d].add(part) : part;
    }
  }
  return w.rounded(taeda::stack(sums, -1).reshape(grid.sym_sizes()));
}

Tensor sampled_grid_tangent(const Tensor& input, const Tensor& grid, const Tensor& tangent,
                            const GridCall& call) {
  const Wide w({&input});
  const Tensor planes = w(input).flatten(2, -1);
  const Tensor flat = w(tangent).reshape({grid.sym_size(0), SymInt(-1), SymInt(input.dim() - 2)});
  Tensor sum;
  for (const GridTap& t : grid_taps(input, w(grid), call)) {
    const Tensor value = planes.gather(2, for_channels(t.index, input));
    for (size_t d = 0; d < t.slopes.size(); ++d) {
      const Tensor part =
          value.mul(t.slopes[d].mul(flat.select(-1, static_cast<int64_t>(d))).unsqueeze(1));
      sum = sum.defined() ? sum.add(part) : part;
    }
  }
  return w.rounded(sum.reshape(sampled_sizes(input, grid)));
}

}  // namespace taeda
