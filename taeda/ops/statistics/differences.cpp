// Differences of neighbours, gradients on a grid and integrals by trapezoids.
#include "taeda/ops/functions.h"
#include "taeda/ops/out_alias.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/statistics/declarations.h"
#include "taeda/ops/statistics/functions.h"

namespace taeda::impl {

// ---- diff ----
namespace {

void check_joined(const Tensor& self, const Tensor& other, int64_t dim) {
  if (!other.defined()) return;
  TAEDA_CHECK(other.dim() == self.dim(),
              "diff expects prepend or append to be the same dimension as input");
  dim = wrap_dim(dim, self.dim());
  for (int64_t i = 0; i < self.dim(); ++i)
    TAEDA_CHECK(i == dim || other.sym_size(i) == self.sym_size(i),
                "diff expects the shape of tensor to prepend or append to match that of input "
                "except along the differencing dimension; input.size(",
                i, ") = ", self.sym_size(i), ", but got tensor.size(", i,
                ") = ", other.sym_size(i));
}

Tensor joined_input(const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend,
                    const Tensor& append) {
  TAEDA_CHECK(self.dim() >= 1, "diff expects input to be at least one-dimensional");
  TAEDA_CHECK(n >= 0, "order must be non-negative but got ", n);
  check_joined(self, prepend, dim);
  check_joined(self, append, dim);
  if (n == 0 || (!prepend.defined() && !append.defined())) return self;
  std::vector<Tensor> parts;
  if (prepend.defined()) parts.push_back(prepend);
  parts.push_back(self);
  if (append.defined()) parts.push_back(append);
  return taeda::cat(parts, dim);
}

// Neighbours along `dim` after n - 1 differences; none where nothing is left to take one of.
struct Neighbours {
  Tensor after, before;

  Neighbours(const Tensor& self, int64_t n, int64_t dim);
  bool is_bool() const { return after.dtype() == DType::Bool; }
  Tensor difference() const { return is_bool() ? after.logical_xor(before) : after - before; }
};

Neighbours::Neighbours(const Tensor& self, int64_t n, int64_t dim) {
  const SymInt count = self.sym_size(dim);
  // Nothing is left of so few elements, whatever the order: it may be any number.
  if (!count.is_symbolic() && count <= SymInt(n)) {
    after = before = self.narrow(dim, 0, 0);
    return;
  }
  Tensor x = self;
  // Of tensors without data sizes are all that is told; there, more steps than one can wait for are
  // one. What a trace records is below that.
  constexpr int64_t kManySteps = 1 << 16;
  if (x.device().is_meta() && !count.is_symbolic() && n > kManySteps)
    x = x.narrow(dim, 0, count - SymInt(n - 1)), n = 1;
  for (int64_t i = 0;; ++i) {
    const SymInt size = x.sym_size(dim), length = size > SymInt(0) ? size - SymInt(1) : SymInt(0);
    after = x.narrow(dim, size - length, length);
    before = x.narrow(dim, 0, length);
    if (i + 1 >= n || size <= SymInt(1)) return;
    x = difference();
  }
}

}  // namespace

Tensor diff(const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend,
            const Tensor& append) {
  const Tensor x = joined_input(self, n, dim, prepend, append);
  return n == 0 ? x.clone() : Neighbours(x, n, wrap_dim(dim, x.dim())).difference();
}
Tensor& diff_out(const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend,
                 const Tensor& append, Tensor& out) {
  const Tensor x = joined_input(self, n, dim, prepend, append);
  if (n == 0) {
    TAEDA_CHECK(out.dtype() == x.dtype(), "expected scalar_type ", x.dtype(), " but found ",
                out.dtype());
    resize_output(out, x.sym_sizes());
    return out.copy_(x);
  }
  const Neighbours last(x, n, wrap_dim(dim, x.dim()));
  check_keeps_input(OutSpec(last.after.sym_sizes(), x.dtype(), x.device()), out, self);
  return last.is_bool() ? taeda::logical_xor_out(out, last.after, last.before)
                        : taeda::sub_out(out, last.after, last.before);
}

// ---- gradient ----
namespace {

using Spacings = std::vector<Scalar>;  // per dimension: the distance of its points
using Points = std::vector<Tensor>;    // per dimension: their coordinates

std::vector<int64_t> gradient_dims(const Tensor& self, std::optional<int64_t> dim) {
  if (dim) return {wrap_dim(*dim, self.dim())};
  std::vector<int64_t> all;
  for (int64_t d = 0; d < self.dim(); ++d) all.push_back(d);
  return all;
}

void check_gradient(const Tensor& self, std::optional<size_t> spacings, std::optional<IntList> dim,
                    int64_t edge_order) {
  TAEDA_CHECK(self.dtype() != DType::UInt8, "torch.gradient does not support uint8 input.");
  if (spacings && !dim)
    TAEDA_CHECK(static_cast<int64_t>(*spacings) == self.dim(),
                "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
                "equal to 'self.dim() = ",
                self.dim(), "', since dim argument was not given, but got a list of length ",
                *spacings);
  if (spacings && dim)
    TAEDA_CHECK(*spacings == dim->size(),
                "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and "
                "dim arguments to have the same length, but got a spacing argument of length ",
                *spacings, " and a dim argument of length ", dim->size(), ".");
  TAEDA_CHECK(edge_order == 1 || edge_order == 2,
              "torch.gradient only supports edge_order=1 and edge_order=2.");
  std::vector<int64_t> dims(dim ? dim->begin() : nullptr, dim ? dim->end() : nullptr);
  if (dim) dim_bitset(*dim, self.dim(), false);
  if (!dim) dims = gradient_dims(self, std::nullopt);
  for (const int64_t d : dims)
    TAEDA_CHECK(self.sym_size(d) >= SymInt(edge_order + 1),
                "torch.gradient expected each dimension size to be at least edge_order+1");
}

// A line of numbers along `dim` of a tensor of `ndim` dimensions.
Tensor along_dim(const Tensor& line, int64_t dim, int64_t ndim) {
  SymIntVec shape(static_cast<size_t>(ndim), SymInt(1));
  shape[dim] = SymInt(-1);
  return line.reshape(shape);
}

// Three-point formulas for uneven steps, one-sided at both ends.
Tensor uneven_gradient(const Tensor& self, const Tensor& points, int64_t dim, int64_t edge_order) {
  TAEDA_CHECK(points.dim() == 1,
              "torch.gradient expected each element of spacing to have one dimension, but got an "
              "element with ",
              points.dim(), " dimensions!");
  const SymInt n = self.sym_size(dim), inner = n - SymInt(2);
  const Tensor steps = taeda::diff(points);
  const auto step = [&](const SymInt& from, const SymInt& count) {
    return along_dim(steps.narrow(0, from, count), dim, self.dim());
  };
  const auto part = [&](const SymInt& from, const SymInt& count) {
    return self.narrow(dim, from, count);
  };
  const SymInt one(1);
  const Tensor a = step(0, inner), b = step(1, inner), sum = a + b;
  const Tensor center = part(0, inner) * (-b / (a * sum)) + part(1, inner) * ((b - a) / (a * b)) +
                        part(2, inner) * (a / (b * sum));
  Tensor first, last;
  if (edge_order == 1) {
    first = (part(1, one) - part(0, one)) / step(0, one);
    last = (part(n - one, one) - part(n - SymInt(2), one)) / step(n - SymInt(2), one);
  } else {
    const Tensor p = step(0, one), q = step(1, one);
    first = part(0, one) * (-(p * Scalar(2) + q) / (p * (p + q))) +
            part(1, one) * ((p + q) / (p * q)) - part(2, one) * (p / (q * (p + q)));
    const Tensor r = step(n - SymInt(3), one), s = step(n - SymInt(2), one);
    last = part(n - SymInt(3), one) * (s / (r * (r + s))) -
           part(n - SymInt(2), one) * ((r + s) / (r * s)) +
           part(n - one, one) * ((s * Scalar(2) + r) / (s * (r + s)));
  }
  return taeda::cat({first, center, last}, dim);
}

// Twice a distance. A number that is known is no work for a program that is traced.
Tensor twice(const Scalar& spacing) {
  if (spacing.is_symbolic() || spacing.is_complex()) return wrapped_scalar(spacing) * Scalar(2.0);
  return wrapped_scalar(Scalar(2.0 * spacing.to_double()));
}

Tensor even_gradient(const Tensor& self, const Scalar& spacing, int64_t dim, int64_t edge_order) {
  const SymInt n = self.sym_size(dim), one(1);
  const auto part = [&](const SymInt& from, const SymInt& count) {
    return self.narrow(dim, from, count);
  };
  const Tensor center = (part(2, n - SymInt(2)) - part(0, n - SymInt(2))) / twice(spacing);
  Tensor first, last;
  if (edge_order == 1) {
    first = (part(1, one) - part(0, one)) / spacing;
    last = (part(n - one, one) - part(n - SymInt(2), one)) / spacing;
  } else {
    const auto side = [&](const Tensor& x, const Tensor& y, const Tensor& z) {
      return (x * Scalar(-1.5) + y * Scalar(2) - z * Scalar(0.5)) / spacing;
    };
    first = side(part(0, one), part(1, one), part(2, one));
    last = side(part(n - one, one), part(n - SymInt(2), one), part(n - SymInt(3), one)).neg();
  }
  return taeda::cat({first, center, last}, dim);
}

std::vector<Tensor> even_gradients(const Tensor& self, const Spacings& spacings, IntList dims,
                                   int64_t edge_order) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < dims.size(); ++i)
    out.push_back(even_gradient(self, spacings[i], wrap_dim(dims[i], self.dim()), edge_order));
  return out;
}
std::vector<Tensor> uneven_gradients(const Tensor& self, const Points& points, IntList dims,
                                     int64_t edge_order) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < dims.size(); ++i)
    out.push_back(uneven_gradient(self, points[i], wrap_dim(dims[i], self.dim()), edge_order));
  return out;
}

Spacings each_spacing(Span<double> spacing) { return Spacings(spacing.begin(), spacing.end()); }

}  // namespace

std::vector<Tensor> gradient_scalarint(const Tensor& self, std::optional<Scalar> spacing,
                                       std::optional<int64_t> dim, int64_t edge_order) {
  const std::vector<int64_t> dims = gradient_dims(self, dim);
  check_gradient(self, {}, dim ? std::optional<IntList>(dims) : std::nullopt, edge_order);
  return even_gradients(self, Spacings(dims.size(), spacing.value_or(Scalar(1))), dims, edge_order);
}
std::vector<Tensor> gradient_scalararray(const Tensor& self, const Scalar& spacing, IntList dim,
                                         int64_t edge_order) {
  check_gradient(self, {}, dim, edge_order);
  return even_gradients(self, Spacings(dim.size(), spacing), dim, edge_order);
}
std::vector<Tensor> gradient_array(const Tensor& self, IntList dim, int64_t edge_order) {
  check_gradient(self, {}, dim, edge_order);
  return even_gradients(self, Spacings(dim.size(), Scalar(1)), dim, edge_order);
}
std::vector<Tensor> gradient_scalarrayint(const Tensor& self, Span<double> spacing,
                                          std::optional<int64_t> dim, int64_t edge_order) {
  const std::vector<int64_t> dims = gradient_dims(self, dim);
  check_gradient(self, spacing.size(), dim ? std::optional<IntList>(dims) : std::nullopt,
                 edge_order);
  return even_gradients(self, each_spacing(spacing), dims, edge_order);
}
std::vector<Tensor> gradient_scalarrayarray(const Tensor& self, Span<double> spacing, IntList dim,
                                            int64_t edge_order) {
  check_gradient(self, spacing.size(), dim, edge_order);
  return even_gradients(self, each_spacing(spacing), dim, edge_order);
}
std::vector<Tensor> gradient_tensorarrayint(const Tensor& self, TensorList spacing,
                                            std::optional<int64_t> dim, int64_t edge_order) {
  const std::vector<int64_t> dims = gradient_dims(self, dim);
  check_gradient(self, spacing.size(), dim ? std::optional<IntList>(dims) : std::nullopt,
                 edge_order);
  return uneven_gradients(self, Points(spacing.begin(), spacing.end()), dims, edge_order);
}
std::vector<Tensor> gradient_tensorarray(const Tensor& self, TensorList spacing, IntList dim,
                                         int64_t edge_order) {
  check_gradient(self, spacing.size(), dim, edge_order);
  return uneven_gradients(self, Points(spacing.begin(), spacing.end()), dim, edge_order);
}

// ---- trapezoids ----
namespace {

// The distances between neighbours along `dim`. They broadcast against those of y.
Tensor point_distances(const char* op, const Tensor& y, const Tensor& x, int64_t dim) {
  TAEDA_CHECK(y.dtype() != DType::Bool && x.dtype() != DType::Bool, op,
              ": received a bool input for `x` or `y`, but bool is not supported");
  Tensor points = x;
  if (x.dim() == 1) {
    TAEDA_CHECK(x.sym_size(0) == y.sym_size(dim), op,
                ": There must be one `x` value for each sample point");
    points = along_dim(x, dim, y.dim());
  } else {
    while (points.dim() < y.dim()) points = points.unsqueeze(0);
  }
  const SymInt n = points.sym_size(dim) - SymInt(1);
  return points.narrow(dim, 1, n) - points.narrow(dim, 0, n);
}
Tensor neighbour_sums(const Tensor& y, int64_t dim) {
  const SymInt n = y.sym_size(dim) - SymInt(1);
  return y.narrow(dim, 0, n) + y.narrow(dim, 1, n);
}
double real_step(const char* op, const Tensor& y, const Scalar& dx) {
  TAEDA_CHECK(y.dtype() != DType::Bool, op,
              ": received a bool input for `y`, but bool is not supported");
  TAEDA_CHECK(!dx.is_complex() && !dx.is_bool(), op,
              ": Currently, we only support dx as a real number.");
  return dx.to_double();
}
Tensor zeros_without(const Tensor& y, int64_t dim) {
  return y.new_zeros(reduced_sizes(y, dim_bitset({dim}, y.dim(), false), false));
}

}  // namespace

Tensor trapezoid_x(const Tensor& y, const Tensor& x, int64_t dim) {
  dim = wrap_dim(dim, y.dim());
  if (y.sym_size(dim) == SymInt(0)) return zeros_without(y, dim);
  const Tensor dx = point_distances("trapezoid", y, x, dim);
  return (neighbour_sums(y, dim) * dx).sum(IntList({dim})).div(Scalar(2.0));
}
Tensor trapezoid_dx(const Tensor& y, const Scalar& dx, int64_t dim) {
  dim = wrap_dim(dim, y.dim());
  if (y.sym_size(dim) == SymInt(0)) return zeros_without(y, dim);
  const double step = real_step("trapezoid", y, dx);
  const Tensor ends = y.select(dim, 0) + y.select(dim, -1);
  return (y.sum(IntList({dim})) - ends * Scalar(0.5)) * Scalar(step);
}
Tensor trapz_x(const Tensor& y, const Tensor& x, int64_t dim) { return trapezoid_x(y, x, dim); }
Tensor trapz_dx(const Tensor& y, double dx, int64_t dim) {
  return trapezoid_dx(y, Scalar(dx), dim);
}
Tensor cumulative_trapezoid_x(const Tensor& y, const Tensor& x, int64_t dim) {
  dim = wrap_dim(dim, y.dim());
  const Tensor dx = point_distances("cumulative_trapezoid", y, x, dim);
  return (neighbour_sums(y, dim) * dx).cumsum(dim).div(Scalar(2.0));
}
Tensor cumulative_trapezoid_dx(const Tensor& y, const Scalar& dx, int64_t dim) {
  dim = wrap_dim(dim, y.dim());
  const double step = real_step("cumulative_trapezoid", y, dx);
  return (neighbour_sums(y, dim) * Scalar(step / 2)).cumsum(dim);
}

}  // namespace taeda::impl
