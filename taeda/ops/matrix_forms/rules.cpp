// Matrices made of vectors and blocks: outer products, diagonals, powers of numbers, triangles.
#include "taeda/ops/functions.h"
#include "taeda/ops/matrix_forms/declarations.h"
#include "taeda/ops/matrix_forms/functions.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {

// ---- addr ----
namespace {

void check_addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
                const Scalar& alpha) {
  TAEDA_CHECK(vec1.dim() == 1 && vec2.dim() == 1,
              "addr: Expected 1-D argument vec1 and vec2, but got ", vec1.dim(), "-D and ",
              vec2.dim(), "-D");
  const Tensor* const inputs[] = {&self, &vec1, &vec2};
  const DType common = result_type(inputs);
  const bool is_whole = is_integral(common, true);
  TAEDA_CHECK(!is_whole || (!beta.is_floating() && !beta.is_complex()),
              "For integral input tensors, argument beta must not be a floating point number.");
  TAEDA_CHECK(!is_whole || (!alpha.is_floating() && !alpha.is_complex()),
              "For integral input tensors, argument alpha must not be a floating point number.");
  TAEDA_CHECK(common == DType::Bool || !(beta.is_bool() || alpha.is_bool()),
              "Boolean beta and alpha only supported for Boolean results.");
  const SymIntVec sizes{vec1.sym_size(0), vec2.sym_size(0)};
  TAEDA_CHECK(is_expandable_to(self.sym_sizes(), sizes), "size mismatch, input: ", self.sym_sizes(),
              ", v1: ", vec1.sym_sizes(), ", v2: ", vec2.sym_sizes());
}

}  // namespace

Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
            const Scalar& alpha) {
  check_addr(self, vec1, vec2, beta, alpha);
  const Tensor product = vec1.outer(vec2);
  if (product.dtype() == DType::Bool && self.dtype() == DType::Bool) {
    const Tensor added = alpha.to_bool() ? product : taeda::zeros_like(product);
    return beta.to_bool() ? self.logical_or(added) : added;
  }
  // 16-bit numbers are computed in float and rounded once.
  if (is_reduced_float(self.dtype()) && product.dtype() == self.dtype()) {
    const Tensor wide = impl::addr(self.to(DType::Float), vec1.to(DType::Float),
                                   vec2.to(DType::Float), beta, alpha);
    return wide.to(self.dtype());
  }
  const Tensor added = alpha.equals(1) ? product : product * alpha;
  // Whatever self holds, zero times it is nothing.
  if (beta.equals(0)) {
    const Tensor* const inputs[] = {&self, &added};
    return added.to(result_type(inputs));
  }
  return (beta.equals(1) ? self : self * beta).add(added);
}
Tensor& addr_(Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
              const Scalar& alpha) {
  const Tensor result = impl::addr(self, vec1, vec2, beta, alpha);
  OutSpec(result.sym_sizes(), result.dtype(), result.device()).check_inplace(self, "addr_");
  return self.copy_(result);
}
Tensor& addr_out(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
                 const Scalar& alpha, Tensor& out) {
  const Tensor result = impl::addr(self, vec1, vec2, beta, alpha);
  OutSpec spec(result.sym_sizes(), result.dtype(), result.device());
  spec.is_cast_allowed = true;
  spec.prepare_out(out, "addr");
  return out.copy_(result);
}

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

Tensor diag(const Tensor& self, int64_t diagonal) {
  TAEDA_CHECK(self.dim() == 1 || self.dim() == 2, "diag(): Supports 1D or 2D tensors. Got ",
              self.dim(), "D");
  return self.dim() == 1 ? taeda::diag_embed(self, diagonal) : self.diagonal(diagonal).clone();
}
Tensor& diag_out(const Tensor& self, int64_t diagonal, Tensor& out) {
  TAEDA_CHECK(self.dim() == 1 || self.dim() == 2, "diag(): Supports 1D or 2D tensors. Got ",
              self.dim(), "D");
  const Tensor result =
      self.dim() == 1 ? taeda::diag_embed(self, diagonal) : self.diagonal(diagonal);
  OutSpec(result.sym_sizes(), result.dtype(), result.device()).prepare_out(out, "diag");
  return out.copy_(result);
}
Tensor diagflat(const Tensor& self, int64_t offset) {
  return taeda::diag(self.contiguous().reshape({SymInt(-1)}), offset);
}
Tensor linalg_diagonal(const Tensor& A, int64_t offset, int64_t dim1, int64_t dim2) {
  return A.diagonal(offset, dim1, dim2);
}

Tensor trace(const Tensor& self) {
  TAEDA_CHECK(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
  TAEDA_CHECK_NOT_IMPLEMENTED(self.dtype() != DType::Bool, "\"trace\" not implemented for 'Bool'");
  return self.diagonal().sum();
}
Tensor& trace_out(const Tensor& self, Tensor& out) {
  const Tensor result = impl::trace(self);
  OutSpec(result.sym_sizes(), result.dtype(), result.device()).prepare_out(out, "trace");
  return out.copy_(result);
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
  std::vector<Tensor> columns;
  for (const Tensor& grid : grids)
    columns.push_back(self.index_select(0, grid.masked_select(is_taken)));
  return taeda::stack(columns, 1);
}

// ---- products of vectors ----

namespace {

Tensor kron_of(const Tensor& self, const Tensor& other) {
  Tensor a = self, b = other;
  while (a.dim() < b.dim()) a = a.unsqueeze(0);
  while (b.dim() < a.dim()) b = b.unsqueeze(0);
  SymIntVec left, right, sizes;
  for (int64_t d = 0; d < a.dim(); ++d) {
    for (SymIntVec* shape : {&left, &right}) shape->push_back(SymInt(1));
    left[2 * d] = a.sym_size(d);
    left.push_back(SymInt(1));
    right.push_back(b.sym_size(d));
    sizes.push_back(a.sym_size(d) * b.sym_size(d));
  }
  return a.reshape(left).mul(b.reshape(right)).reshape(sizes);
}

}  // namespace

Tensor kron(const Tensor& self, const Tensor& other) { return kron_of(self, other); }
Tensor& kron_out(const Tensor& self, const Tensor& other, Tensor& out) {
  const Tensor result = kron_of(self, other);
  OutSpec spec(result.sym_sizes(), result.dtype(), result.device());
  spec.is_cast_allowed = true;
  spec.prepare_out(out, "kron");
  return out.copy_(result);
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
              "linalg.cross: inputs dimension ", d, " must have length 3. Got ",
              self.dim() > 0 ? self.sym_size(d) : SymInt(1), " and ",
              self.dim() > 0 ? other.sym_size(d) : SymInt(1));
  const Tensor* const inputs[] = {&self, &other};
  const DType common = result_type(inputs);
  TAEDA_CHECK_NOT_IMPLEMENTED(common != DType::Bool, "\"cross\" not implemented for 'Bool'");
  return OutSpec(SymIntList(broadcast_shapes(self.sym_sizes(), other.sym_sizes())), common,
                 self.device());
}

Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  for (const Tensor* t : {&x, &y})
    TAEDA_CHECK(is_floating(t->dtype()) || t->is_complex(),
                "linalg.vecdot: Expected a floating point or complex tensor as input. Got ",
                t->dtype());
  return x.conj().mul(y).sum(IntList({dim}));
}
Tensor& linalg_vecdot_out(const Tensor& x, const Tensor& y, int64_t dim, Tensor& out) {
  const Tensor result = impl::linalg_vecdot(x, y, dim);
  OutSpec(result.sym_sizes(), result.dtype(), result.device()).prepare_out(out, "linalg_vecdot");
  return out.copy_(result);
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

// How many places of a matrix are on the diagonal `offset` or below it.
int64_t lower_count(int64_t row, int64_t col, int64_t offset) {
  int64_t count = 0;
  for (int64_t r = 0; r < row; ++r) count += std::clamp<int64_t>(r + offset + 1, 0, col);
  return count;
}

Tensor triangle(int64_t row, int64_t col, int64_t offset, bool upper, std::optional<DType> dtype,
                std::optional<Layout> layout, std::optional<Device> device,
                std::optional<bool> pin_memory) {
  TAEDA_CHECK(row >= 0, "row must be non-negative, got", row);
  TAEDA_CHECK(col >= 0, "col must be non-negative, got", col);
  const int64_t lower = lower_count(row, col, upper ? offset - 1 : offset);
  const int64_t count = upper ? row * col - lower : lower;
  Tensor out = taeda::empty({SymInt(2), SymInt(count)}, dtype.value_or(DType::Int64), layout,
                            device, pin_memory);
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

}  // namespace taeda::impl
