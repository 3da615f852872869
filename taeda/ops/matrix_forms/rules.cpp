// Matrices made of vectors and blocks: diagonals, products, powers of numbers, triangles.
#include <algorithm>
#include <limits>

#include "taeda/ops/functions.h"
#include "taeda/ops/made_apart.h"
#include "taeda/ops/matrix_forms/declarations.h"
#include "taeda/ops/matrix_forms/functions.h"
#include "taeda/ops/out_alias.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/size_limits.h"

namespace taeda::impl {

// ---- diagonals and blocks ----

Tensor block_diag(TensorList tensors) {
  std::vector<Tensor> blocks;
  SymInt columns(0);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    TAEDA_CHECK(t.dim() <= 2,
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input ", i,
                " has ", t.dim(), " dimensions");
    TAEDA_CHECK(t.device() == tensors[0].device(),
                "torch.block_diag: input tensors must all be on the same device. Input 0 is on "
                "device ",
                tensors[0].device(), " and input ", i, " is on device ", t.device());
    blocks.push_back(t.dim() == 2 ? t : t.reshape({SymInt(1), SymInt(-1)}));
    columns = columns + blocks.back().sym_size(1);
  }
  if (blocks.empty()) return taeda::empty({SymInt(1), SymInt(0)});
  const DType dtype = result_type(tensors);
  std::vector<Tensor> rows;
  SymInt before(0);
  for (const Tensor& block : blocks) {
    const SymInt height = block.sym_size(0), width = block.sym_size(1);
    const Tensor values = block.to(dtype);
    const Tensor left = values.new_zeros({height, before}),
                 right = values.new_zeros({height, columns - before - width});
    rows.push_back(taeda::cat({left, values, right}, 1));
    before = before + width;
  }
  return taeda::cat(rows, 0);
}

namespace {

void check_diag(const Tensor& self) {
  TAEDA_CHECK(self.dim() == 1 || self.dim() == 2, "diag(): Supports 1D or 2D tensors. Got ",
              self.dim(), "D");
}

}  // namespace

Tensor diag(const Tensor& self, int64_t diagonal) {
  check_diag(self);
  return self.dim() == 1 ? taeda::diag_embed(self, diagonal) : self.diagonal(diagonal).clone();
}
Tensor& diag_out(const Tensor& self, int64_t diagonal, Tensor& out) {
  check_diag(self);
  TAEDA_CHECK(self.dim() == 2 || can_cast(self.dtype(), out.dtype()), "diag: result type ",
              self.dtype(), " can't be cast to the desired out= type ", out.dtype());
  const Tensor source = is_made_apart(out, self) ? self.clone() : self;
  if (self.dim() == 2) {
    const Tensor line = source.diagonal(diagonal);
    OutSpec(line.sym_sizes(), line.dtype(), line.device()).prepare_out(out, "diag");
    return out.copy_(line);
  }
  const SymInt size = diagonal_side(self.sym_size(0), diagonal);
  OutSpec(SymIntList({size, size}), self.dtype(), self.device()).prepare_out(out, "diag");
  out.zero_();
  out.diagonal(diagonal).copy_(source);
  return out;
}
Tensor diagflat(const Tensor& self, int64_t offset) {
  return taeda::diag(self.contiguous().reshape({SymInt(-1)}), offset);
}
Tensor linalg_diagonal(const Tensor& A, int64_t offset, int64_t dim1, int64_t dim2) {
  return A.diagonal(offset, dim1, dim2);
}

namespace {

void check_trace(const Tensor& self) {
  TAEDA_CHECK(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
  TAEDA_CHECK_NOT_IMPLEMENTED(self.dtype() != DType::Bool, "\"trace\" not implemented for 'Bool'");
}

}  // namespace

Tensor trace(const Tensor& self) {
  check_trace(self);
  return self.diagonal().sum();
}
Tensor& trace_out(const Tensor& self, Tensor& out) {
  check_trace(self);
  const DType dtype = is_integral(self.dtype()) ? DType::Int64 : self.dtype();
  Tensor line = self.diagonal();
  if (is_made_apart(out, self)) line = line.clone();
  OutSpec(SymIntList(), dtype, self.device()).prepare_out(out, "trace");
  return taeda::sum_out(out, line, IntList({0}));
}

// ---- combinations ----

Tensor combinations(const Tensor& self, int64_t r, bool with_replacement) {
  TAEDA_CHECK(self.dim() == 1, "Expect a 1D vector, but got shape ", self.sym_sizes());
  TAEDA_CHECK(r >= 0, "Expect a non-negative number, but got ", r);
  if (r == 0) return self.new_empty({SymInt(0)});
  const Tensor places = taeda::arange(Scalar(self.sym_size(0)), DType::Int64, {}, self.device());
  const std::vector<Tensor> grids =
      taeda::meshgrid(std::vector<Tensor>(static_cast<size_t>(r), places), "ij");
  Tensor is_taken = taeda::ones_like(grids[0], DType::Bool);
  for (size_t i = 1; i < grids.size(); ++i)
    is_taken = is_taken.logical_and(with_replacement ? grids[i - 1].le(grids[i])
                                                     : grids[i - 1].lt(grids[i]));
  return taeda::index(self, {is_taken.nonzero().contiguous()});
}

// ---- products of vectors ----

namespace {

// A product with one dimension per factor of each dimension of the result.
struct KronFactors {
  Tensor left, right;
  SymIntVec spread, sizes;  // of the product and of the result

  KronFactors(const Tensor& self, const Tensor& other) {
    Tensor a = self, b = other;
    while (a.dim() < b.dim()) a = a.unsqueeze(0);
    while (b.dim() < a.dim()) b = b.unsqueeze(0);
    SymIntVec rows, columns;
    for (int64_t d = 0; d < a.dim(); ++d) {
      const SymInt m = a.sym_size(d), n = b.sym_size(d);
      rows.push_back(m);
      rows.push_back(SymInt(1));
      columns.push_back(SymInt(1));
      columns.push_back(n);
      spread.push_back(m);
      spread.push_back(n);
      sizes.push_back(m * n);
    }
    left = a.reshape(rows);
    right = b.reshape(columns);
  }
};

}  // namespace

Tensor kron(const Tensor& self, const Tensor& other) {
  const KronFactors factors(self, other);
  return factors.left.mul(factors.right).reshape(factors.sizes);
}
Tensor& kron_out(const Tensor& self, const Tensor& other, Tensor& out) {
  const KronFactors factors(self, other);
  const OutSpec spec(SymIntList(factors.sizes), out.dtype(), self.device());
  check_keeps_input(spec, out, self);
  check_keeps_input(spec, out, other);
  resize_output(out, spec.sizes);
  // A dimension in two is a view whatever the strides are.
  Tensor spread = out.view(factors.spread);
  taeda::mul_out(spread, factors.left, factors.right);
  return out;
}

namespace {

int64_t cross_dim(const Tensor& self, std::optional<int64_t> dim) {
  if (dim) return *dim;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (self.sym_size(d) == SymInt(3)) return d;
  fail(ErrorKind::Runtime, "no dimension of size 3 in input");
}

}  // namespace

Tensor cross(const Tensor& self, const Tensor& other, std::optional<int64_t> dim) {
  return taeda::linalg_cross(self, other, cross_dim(self, dim));
}
Tensor& cross_out(const Tensor& self, const Tensor& other, std::optional<int64_t> dim,
                  Tensor& out) {
  return taeda::linalg_cross_out(out, self, other, cross_dim(self, dim));
}
OutSpec linalg_cross_spec(const Tensor& self, const Tensor& other, int64_t dim) {
  TAEDA_CHECK(self.dim() == other.dim(),
              "linalg.cross: inputs must have the same number of dimensions.");
  const int64_t d = wrap_dim(dim, self.dim());
  TAEDA_CHECK(self.dim() > 0 && self.sym_size(d) == SymInt(3) && other.sym_size(d) == SymInt(3),
              "linalg.cross: inputs dimension ", dim, " must have length 3. Got ",
              self.dim() > 0 ? self.sym_size(d) : SymInt(1), " and ",
              self.dim() > 0 ? other.sym_size(d) : SymInt(1));
  const Tensor* const inputs[] = {&self, &other};
  const DType common = result_type(inputs);
  TAEDA_CHECK_NOT_IMPLEMENTED(common != DType::Bool, "\"cross\" not implemented for 'Bool'");
  return OutSpec(SymIntList(broadcast_shapes(self.sym_sizes(), other.sym_sizes())), common,
                 self.device());
}

namespace {

void check_vecdot(const Tensor& x, const Tensor& y) {
  TAEDA_CHECK(is_floating(x.dtype()) || x.is_complex(),
              "linalg.vecdot: Expected a floating point or complex tensor as input. Got ",
              x.dtype());
  TAEDA_CHECK(x.dtype() == y.dtype(),
              "linalg.vecdot: Expected x and y to have the same dtype, but found x of type ",
              x.dtype(), " and y of type ", y.dtype(), " instead");
}

}  // namespace

Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  check_vecdot(x, y);
  if (x.dim() == 1 && y.dim() == 1) return taeda::vdot(x, y);
  return x.conj().mul(y).sum(IntList({dim}));
}
Tensor& linalg_vecdot_out(const Tensor& x, const Tensor& y, int64_t dim, Tensor& out) {
  check_vecdot(x, y);
  TAEDA_CHECK(out.dtype() == x.dtype(), "linalg.vecdot: Expected out of dtype", x.dtype(),
              " but found ", out.dtype());
  if (x.dim() == 1 && y.dim() == 1) return taeda::vdot_out(out, x, y);
  return taeda::sum_out(out, x.conj().mul(y), IntList({dim}));
}

// ---- powers of numbers ----

Tensor linalg_vander(const Tensor& x, std::optional<SymInt> N) {
  const bool is_wide = x.dtype() == DType::Float || x.dtype() == DType::Double;
  TAEDA_CHECK(is_wide || x.is_complex() || is_integral(x.dtype(), false),
              "linalg.vander supports floating point, complex, and integer tensors, but got ",
              x.dtype());
  const Tensor line = x.dim() == 0 ? x.unsqueeze(-1) : x;
  const SymInt count = N.value_or(line.sym_size(-1));
  TAEDA_CHECK(!N || *N > SymInt(1), "N must be greater than 1.");
  const Tensor column = line.unsqueeze(-1);
  const Tensor ones = taeda::ones_like(column);
  if (count == SymInt(1)) return ones;
  SymIntVec sizes(line.sym_sizes());
  sizes.push_back(count - SymInt(1));
  return taeda::cat({ones, column.expand(sizes).cumprod(-1, x.dtype())}, -1);
}

Tensor vander(const Tensor& x, std::optional<int64_t> N, bool increasing) {
  TAEDA_CHECK(x.dim() == 1, "x must be a one-dimensional tensor.");
  TAEDA_CHECK(!N || *N >= 0, "N must be non-negative.");
  const SymInt count = N ? SymInt(*N) : x.sym_size(0);
  const DType dtype = is_integral(x.dtype(), true) ? DType::Int64 : x.dtype();
  Tensor powers = taeda::ones({x.sym_size(0), count}, dtype, {}, x.device());
  if (count > SymInt(1)) {
    const Tensor ones = powers.narrow(1, 0, 1);
    const Tensor rest = x.to(dtype).unsqueeze(1).expand({x.sym_size(0), count - SymInt(1)});
    powers = taeda::cat({ones, rest.cumprod(1)}, 1);
  }
  return increasing ? powers : powers.flip(IntList({1}));
}

// ---- triangles ----
namespace {

using Wide = __int128;  // It holds the product of any two sizes.

// How many places of a matrix are on the diagonal `offset` or below it.
Wide lower_count(Wide row, Wide col, Wide offset) {
  // Rows before `first` have none, each row behind it has one more than the last, and from `full`
  // on they have all.
  const Wide first = std::clamp<Wide>(-offset, 0, row);
  const Wide full = std::clamp<Wide>(col - offset - 1, first, row);
  return (full - first) * (first + full + 2 * offset + 1) / 2 + (row - full) * col;
}

Tensor triangle(int64_t row, int64_t col, int64_t offset, bool upper, std::optional<DType> dtype,
                std::optional<Layout> layout, std::optional<Device> device,
                std::optional<bool> pin_memory) {
  TAEDA_CHECK(row >= 0, "row must be non-negative, got", row);
  TAEDA_CHECK(col >= 0, "col must be non-negative, got", col);
  const Wide lower = lower_count(row, col, upper ? Wide(offset) - 1 : Wide(offset));
  const Wide count = upper ? Wide(row) * col - lower : lower;
  TAEDA_CHECK(count <= std::numeric_limits<int64_t>::max() / 2, upper ? "triu" : "tril",
              "_indices: too many places in a matrix of [", row, ", ", col, "]");
  Tensor out = taeda::empty({SymInt(2), SymInt(static_cast<int64_t>(count))},
                            dtype.value_or(DType::Int64), layout, device, pin_memory);
  return taeda::_fill_triangle_indices_(out, row, col, offset, upper);
}

}  // namespace

Tensor tril_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype,
                    std::optional<Layout> layout, std::optional<Device> device,
                    std::optional<bool> pin_memory) {
  return triangle(row, col, offset, false, dtype, layout, device, pin_memory);
}
Tensor triu_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype,
                    std::optional<Layout> layout, std::optional<Device> device,
                    std::optional<bool> pin_memory) {
  return triangle(row, col, offset, true, dtype, layout, device, pin_memory);
}
Tensor& _fill_triangle_indices__meta(Tensor& self, int64_t, int64_t, int64_t, bool) { return self; }

Tensor& fill_diagonal_(Tensor& self, const Scalar& fill_value, bool wrap) {
  TAEDA_CHECK(self.dim() >= 2, "dimensions must larger than 1");
  if (self.dim() > 2) {
    for (int64_t d = 1; d < self.dim(); ++d)
      TAEDA_CHECK(self.sym_size(d) == self.sym_size(0),
                  "all dimensions of input must be of equal length");
    Tensor line = self.diagonal(0, 0, 1);
    while (line.dim() > 1) line = line.diagonal(0, 0, -1);
    line.fill_(fill_value);
    return self;
  }
  self.diagonal().fill_(fill_value);
  if (!wrap) return self;
  const SymInt height = self.sym_size(0), step = self.sym_size(1) + SymInt(1);
  for (SymInt row = step; row < height; row = row + step)
    self.narrow(0, row, height - row).diagonal().fill_(fill_value);
  return self;
}

}  // namespace taeda::impl
