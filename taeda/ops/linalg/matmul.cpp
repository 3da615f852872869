// Products over any number of dimensions: matmul and operators made of it.
#include "taeda/dispatch/dispatcher.h"
#include "taeda/ops/cpp_name.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/linalg/declarations.h"
#include "taeda/ops/linalg/operators.h"
#include "taeda/ops/linalg/rules.h"
#include "taeda/ops/made_apart.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

void check_matmul(const Tensor& a, const Tensor& b) {
  TAEDA_CHECK(a.dim() >= 1 && b.dim() >= 1,
              "both arguments to matmul need to be at least 1D, but they are ", a.dim(), "D and ",
              b.dim(), "D");
}

// Whether all dimensions but the last fold into one without a copy.
bool is_foldable(const Tensor& t) {
  if (t.is_contiguous()) return true;
  const SymIntList sizes = t.sym_sizes(), strides = t.sym_strides();
  SymInt step = 0, size = 1;
  for (int64_t d = t.dim() - 2; d >= 0; --d) {
    if (sizes[d] == SymInt(1)) continue;
    if (size != SymInt(1) && strides[d] != step * size) return false;
    if (size == SymInt(1)) step = strides[d];
    size *= sizes[d];
  }
  return true;
}

Tensor fold(const Tensor& t) {
  SymInt rows = 1;
  for (int64_t d = 0; d + 1 < t.dim(); ++d) rows *= t.sym_sizes()[d];
  return t.view({rows, t.sym_size(-1)});
}

// The result's shape when a matrix or vector `b` meets the last dimension of `a`.
SymIntVec folded_shape(const Tensor& a, const Tensor& b) {
  SymIntVec sizes(a.sym_sizes());
  sizes.pop_back();
  if (b.dim() == 2) sizes.push_back(b.sym_sizes()[1]);
  return sizes;
}

void check_linear(int64_t di, int64_t dw) {
  TAEDA_CHECK(di >= 1 && dw >= 1, "both arguments to linear need to be at least 1D, but they are ",
              di, "D and ", dw, "D");
  TAEDA_CHECK(dw <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", dw, "D");
}

// A number is added to the products with a vector; what PyTorch adds as a row needs a matrix.
void check_linear_bias(int64_t di, int64_t dw, const Tensor& bias) {
  TAEDA_CHECK(!bias.defined() || dw == 2 || (di != 2 && bias.dim() == 0),
              "mat2 must be a matrix, got 1-D tensor");
}

// In the words of the product that it is.
void check_linear_lengths(const Tensor& input, const Tensor& weight) {
  const SymIntList n = input.sym_sizes(), w = weight.sym_sizes();
  if (n.back() == w.back()) return;
  SymInt rows = 1;
  for (size_t d = 0; d + 1 < n.size(); ++d) rows *= n[d];
  if (w.size() == 2)
    fail(ErrorKind::Runtime, "mat1 and mat2 shapes cannot be multiplied (", rows, "x", n.back(),
         " and ", w[1], "x", w[0], ")");
  TAEDA_CHECK(n.size() == 1, "size mismatch, got input (", rows, "), mat (", rows, "x", n.back(),
              "), vec (", w[0], ")");
  fail(ErrorKind::Runtime, "inconsistent tensor size, expected tensor [", n[0], "] and src [", w[0],
       "] to have the same number of elements, but got ", n[0], " and ", w[0],
       " elements respectively");
}

}  // namespace
}  // namespace taeda::impl

namespace taeda {

Tensor linear_by_parts(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const int64_t di = input.dim(), dw = weight.dim();
  impl::check_linear(di, dw);
  impl::check_linear_bias(di, dw, bias);
  const Tensor turned = dw == 2 ? weight.t() : weight;
  if (!bias.defined()) return taeda::matmul(input, turned);
  if (dw == 1) return taeda::matmul(input, turned).add(bias);
  SymInt count = 1;
  for (int64_t d = 0; d + 1 < di; ++d) count *= input.sym_size(d);
  const Tensor rows = di == 2 ? input : input.reshape({count, input.sym_size(-1)});
  const Tensor out = taeda::addmm(bias, rows, turned);
  return di == 2 ? out : out.view(impl::folded_shape(input, turned));
}

Tensor batched_by_bmm(const Tensor& a, const Tensor& b) {
  TAEDA_CHECK(a.dim() >= 2 && b.dim() >= 2, "_batched_matmul: expected matrices, got ", a.dim(),
              "-D and ", b.dim(), "-D");
  const SymIntList na = a.sym_sizes(), nb = b.sym_sizes();
  const SymIntVec batch =
      broadcast_shapes(SymIntList(na.data(), na.size() - 2), SymIntList(nb.data(), nb.size() - 2));
  SymInt count = 1;
  for (const SymInt& s : batch) count *= s;
  const auto stacked = [&](const Tensor& t, SymInt rows, SymInt cols) {
    SymIntVec wide(batch);
    wide.push_back(rows);
    wide.push_back(cols);
    return t.expand(wide).reshape({count, rows, cols});
  };
  const SymInt m = na[na.size() - 2], k = na[na.size() - 1], rows = nb[nb.size() - 2],
               n = nb[nb.size() - 1];
  SymIntVec sizes(batch);
  sizes.push_back(m);
  sizes.push_back(n);
  return taeda::_unsafe_view(stacked(a, m, k).bmm(stacked(b, rows, n)), sizes);
}

}  // namespace taeda

namespace taeda::impl {
namespace {

Tensor batched(const Tensor& a, const Tensor& b) {
  if (a.dim() == 3 && b.dim() == 3 && a.sym_sizes()[0] == b.sym_sizes()[0]) return a.bmm(b);
  return taeda::_batched_matmul(a, b);
}

// Modes know PyTorch's products, so a product that is fused here is shown to them in parts.
Tensor show_linear(KeySet, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const BelowADInplaceOrView guard;
  return linear_by_parts(input, weight, bias);
}
Tensor show_batched(KeySet, const Tensor& self, const Tensor& other) {
  const BelowADInplaceOrView guard;
  return batched_by_bmm(self, other);
}

template <class R, class... A>
void show_by(dispatch::TypedOperator<R(A...)>& op, R (*parts)(KeySet, A...)) {
  dispatch::register_kernel(op, slot_base(Key::Python), reinterpret_cast<void*>(parts), {},
                            "its parts, for modes");
}
const bool is_registered =
    (show_by(ops::linear, &show_linear), show_by(ops::_batched_matmul, &show_batched), true);

}  // namespace

Tensor matmul(const Tensor& self, const Tensor& other) {
  const int64_t da = self.dim(), db = other.dim();
  if (__builtin_expect(da == 2 && db == 2, 1)) return taeda::mm(self, other);
  check_matmul(self, other);
  if (da == 1 && db == 1) return taeda::dot(self, other);
  if (da == 2 && db == 1) return taeda::mv(self, other);
  if (da == 1 && db == 2) return self.unsqueeze(0).mm(other).squeeze(0);
  if (db <= 2 && is_foldable(self)) {
    const Tensor folded = fold(self);
    return taeda::_unsafe_view(db == 2 ? folded.mm(other) : folded.mv(other),
                               folded_shape(self, other));
  }
  if (da == 1) return batched(self.unsqueeze(0), other).squeeze(-2);
  if (db == 1) return batched(self, other.unsqueeze(-1)).squeeze(-1);
  return batched(self, other);
}

Tensor& matmul_out(const Tensor& self, const Tensor& other, Tensor& out) {
  const int64_t da = self.dim(), db = other.dim();
  check_matmul(self, other);
  if (da == 2 && db == 2) return taeda::mm_out(out, self, other);
  if (da == 1 && db == 1) return taeda::dot_out(out, self, other);
  if (da == 2 && db == 1) return taeda::mv_out(out, self, other);
  if (da >= 2 && db >= 2) return taeda::_batched_matmul_out(out, self, other);
  // A vector is a matrix of one row or column; `out` is written through a view with that dimension.
  const Tensor a = da == 1 ? self.unsqueeze(0) : self, b = db == 1 ? other.unsqueeze(-1) : other;
  const Tensor shaped =
      taeda::_batched_matmul(a.detach().to(DeviceType::Meta), b.detach().to(DeviceType::Meta));
  SymIntVec sizes(shaped.sym_sizes());
  const int64_t at =
      da == 1 ? static_cast<int64_t>(sizes.size()) - 2 : static_cast<int64_t>(sizes.size()) - 1;
  if (da == 1 || db == 1) sizes.erase(at);
  resize_output(out, sizes);
  Tensor view = da == 1 || db == 1 ? out.unsqueeze(at) : out;
  taeda::_batched_matmul_out(view, a, b);
  return out;
}

Tensor linalg_matmul(const Tensor& input, const Tensor& other) {
  return taeda::matmul(input, other);
}
Tensor& linalg_matmul_out(const Tensor& input, const Tensor& other, Tensor& out) {
  return taeda::matmul_out(out, input, other);
}

namespace {

Tensor outer_column(const Tensor& self, const Tensor& vec2) {
  TAEDA_CHECK(self.dim() == 1, "outer: Expected 1-D argument self, but got ", self.dim(), "-D");
  TAEDA_CHECK(vec2.dim() == 1, "outer: Expected 1-D argument vec2, but got ", vec2.dim(), "-D");
  return self.reshape({self.sym_size(0), SymInt(1)});
}

}  // namespace

Tensor outer(const Tensor& self, const Tensor& vec2) { return outer_column(self, vec2).mul(vec2); }
Tensor& outer_out(const Tensor& self, const Tensor& vec2, Tensor& out) {
  return taeda::mul_out(out, outer_column(self, vec2), vec2);
}
Tensor ger(const Tensor& self, const Tensor& vec2) { return taeda::outer(self, vec2); }
Tensor& ger_out(const Tensor& self, const Tensor& vec2, Tensor& out) {
  return taeda::outer_out(out, self, vec2);
}

OutSpec linear_spec(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  const int64_t di = input.dim(), dw = weight.dim();
  check_linear(di, dw);
  check_linear_bias(di, dw, bias);
  const SymIntList n = input.sym_sizes(), w = weight.sym_sizes();
  check_linear_lengths(input, weight);
  if (bias.defined()) {
    SymInt rows = 1;
    for (int64_t d = 0; d + 1 < di; ++d) rows *= n[d];
    TAEDA_CHECK(bias.dtype() == weight.dtype(), "self and mat2 must have the same dtype, but got ",
                bias.dtype(), " and ", weight.dtype());
    const bool fits = bias.dim() <= 1 ? bias.sym_numel() == w[0] || bias.sym_numel() == SymInt(1)
                                      : bias.dim() == 2 && is_expandable_to(bias.sym_sizes(),
                                                                            SymIntVec{rows, w[0]});
    TAEDA_CHECK(fits, "The expanded size of the tensor (", w[0], ") must match the existing size (",
                bias.sym_numel(), ") at non-singleton dimension 1.  Target sizes: [", rows, ", ",
                w[0], "].  Tensor sizes: ", bias.sym_sizes());
  }
  // Named as PyTorch's composites name them.
  const Tensor* const all[] = {&input, &weight, &bias};
  TAEDA_CHECK(!bias.defined() || input.dtype() == weight.dtype(),
              "mat1 and mat2 must have the same dtype, but got ", input.dtype(), " and ",
              weight.dtype());
  TAEDA_CHECK(input.dtype() == weight.dtype(),
              "expected m1 and m2 to have the same dtype, but got: ", cpp_name(input.dtype()),
              " != ", cpp_name(weight.dtype()));
  check_same_device("linear", Span<const Tensor*>(all, bias.defined() ? 3 : 2));
  SymIntVec sizes(n);
  sizes.pop_back();
  if (dw == 2) sizes.push_back(w[0]);
  return OutSpec(SymIntList(sizes), input.dtype(), input.device());
}

namespace {

// Whether one of the two is a scalar, of any dtype; otherwise dtypes and last dimensions agree.
bool has_scalar(const Tensor& self, const Tensor& other) {
  if (self.dim() == 0 || other.dim() == 0) return true;
  TAEDA_CHECK(self.dtype() == other.dtype(), "both inputs should have same dtype");
  TAEDA_CHECK(self.sym_size(-1) == other.sym_size(-1),
              "inner() the last dimension must match on both input tensors but got shapes ",
              self.sym_sizes(), " and ", other.sym_sizes());
  return false;
}

}  // namespace

Tensor inner(const Tensor& self, const Tensor& other) {
  if (has_scalar(self, other)) return self.mul(other);
  return taeda::tensordot(self, other, {-1}, {-1});
}

Tensor& inner_out(const Tensor& self, const Tensor& other, Tensor& out) {
  if (has_scalar(self, other)) return taeda::mul_out(out, self, other);
  return taeda::tensordot_out(out, self, other, {-1}, {-1});
}

namespace {

// Free dimensions in front (or behind), contracted ones beside them.
struct Contraction {
  Tensor a, b;      // matrices
  SymIntVec sizes;  // of the result
};

Contraction contraction_of(const Tensor& self, const Tensor& other, IntList dims_self,
                           IntList dims_other) {
  TAEDA_CHECK(dims_self.size() == dims_other.size(),
              "both dimension lists should have same length");
  TAEDA_CHECK(self.dtype() == other.dtype(), "both inputs should have same dtype");
  SymInt contracted = 1;
  Tensor a = self, b = other;
  const uint64_t bits_a = dim_bitset(dims_self, self.dim(), false),
                 bits_b = dim_bitset(dims_other, other.dim(), false);
  for (size_t i = 0; i < dims_self.size(); ++i) {
    const SymInt s = a.sym_size(wrap_dim(dims_self[i], self.dim())),
                 o = b.sym_size(wrap_dim(dims_other[i], other.dim()));
    if (o == SymInt(1)) {
      a = a.sum(IntList(&dims_self[i], 1), true, self.dtype());
    } else if (s == SymInt(1)) {
      b = b.sum(IntList(&dims_other[i], 1), true, other.dtype());
    } else {
      TAEDA_CHECK(s == o, "contracted dimensions need to match, but first has size ", s, " in dim ",
                  dims_self[i], " and second has size ", o, " in dim ", dims_other[i]);
      contracted *= s;
    }
  }
  IntVec order_a, order_b;
  SymIntVec sizes;
  SymInt m = 1, n = 1;
  for (int64_t d = 0; d < a.dim(); ++d)
    if (!(bits_a >> d & 1)) {
      order_a.push_back(d);
      sizes.push_back(a.sym_sizes()[d]);
      m *= a.sym_sizes()[d];
    }
  for (int64_t d : dims_self) order_a.push_back(wrap_dim(d, a.dim()));
  for (int64_t d : dims_other) order_b.push_back(wrap_dim(d, b.dim()));
  for (int64_t d = 0; d < b.dim(); ++d)
    if (!(bits_b >> d & 1)) {
      order_b.push_back(d);
      sizes.push_back(b.sym_sizes()[d]);
      n *= b.sym_sizes()[d];
    }
  return {a.permute(order_a).reshape({m, contracted}), b.permute(order_b).reshape({contracted, n}),
          sizes};
}

}  // namespace

Tensor tensordot(const Tensor& self, const Tensor& other, IntList dims_self, IntList dims_other) {
  const Contraction c = contraction_of(self, other, dims_self, dims_other);
  return c.a.mm(c.b).reshape(c.sizes);
}

Tensor& tensordot_out(const Tensor& self, const Tensor& other, IntList dims_self,
                      IntList dims_other, Tensor& out) {
  TAEDA_CHECK(self.dtype() == out.dtype(), "tensordot: Expected the output tensor to have dtype ",
              self.dtype(), ", but got an output tensor with dtype ", out.dtype());
  const Contraction c = contraction_of(self, other, dims_self, dims_other);
  if (is_made_apart(out, self) || is_made_apart(out, other)) {
    const Tensor made = c.a.mm(c.b).reshape(c.sizes);
    resize_output(out, c.sizes);
    return out.copy_(made);
  }
  resize_output(out, c.sizes);
  const SymIntVec sizes{c.a.sym_size(0), c.b.sym_size(1)};
  // Not every strided result is a view of a matrix.
  if (SymIntList(c.sizes) != SymIntList(sizes) && !out.is_contiguous())
    return out.copy_(c.a.mm(c.b).reshape(c.sizes));
  Tensor matrix = out.view(sizes);
  taeda::mm_out(matrix, c.a, c.b);
  return out;
}

}  // namespace taeda::impl
