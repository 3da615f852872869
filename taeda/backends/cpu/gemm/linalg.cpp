// Matrix products on the CPU: operands of any strides handed to the GEMM library as they lie.
#include "taeda/ops/linalg/rules.h"

#include <algorithm>

#include "taeda/backends/cpu/convert_declarations.h"
#include "taeda/backends/cpu/gemm/gemm.h"
#include "taeda/backends/cpu/gemm/products.h"
#include "taeda/backends/cpu/linalg_declarations.h"
#include "taeda/base/parallel.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/linalg/operators.h"

namespace taeda::cpu {
namespace {

// Calls f with a value of the element type; NotImplementedError for types that have no products.
template <class F>
void visit_product_dtype(DType t, const char* op, F&& f) {
  switch (t) {
    case DType::Float: return f(float{});
    case DType::Double: return f(double{});
    case DType::BFloat16: return f(BFloat16{});
    case DType::Half: return f(Half{});
    case DType::ComplexFloat: return f(Complex<float>{});
    case DType::ComplexDouble: return f(Complex<double>{});
    case DType::Int64: return f(int64_t{});
    case DType::Int32: return f(int32_t{});
    case DType::Int16: return f(int16_t{});
    case DType::Int8: return f(int8_t{});
    case DType::UInt8: return f(uint8_t{});
    default: fail(ErrorKind::NotImplemented, "\"", op, "\" not implemented for '", t, "'");
  }
}

// One operand: a matrix, and how it moves along the batch.
struct Operand {
  void* data;
  int64_t row_stride, col_stride;

  Operand(const Tensor& t)
      : data(t.data()),
        row_stride(t.strides()[t.dim() - 2]),
        col_stride(t.strides()[t.dim() - 1]) {}
  Operand(void* data, int64_t row_stride, int64_t col_stride)
      : data(data), row_stride(row_stride), col_stride(col_stride) {}
  template <class T>
  Matrix<T> as(int64_t offset = 0) const {
    return {static_cast<T*>(data) + offset, row_stride, col_stride};
  }
};

struct Product {
  const char* op;
  DType dtype;
  int64_t m, n, k;
  Operand a, b, c;
  Scalar alpha = 1, beta = 0;
  const void* bias = nullptr;
  ProductOptions options = {};

  void run() const {
    visit_product_dtype(dtype, op, [&](auto tag) {
      using T = decltype(tag);
      gemm<T>(m, n, k, alpha.to<ScalarOf<T>>(), a.as<const T>(), b.as<const T>(),
              beta.to<ScalarOf<T>>(), c.as<T>(), static_cast<const T*>(bias), options);
    });
  }
};

// A batch dimension: its size and the stride of each operand, 0 where one is broadcast.
struct BatchDim {
  int64_t size, a, b, c;
};
using BatchDims = SmallVector<BatchDim, 4>;

// Broadcasts the batch dimensions and merges those that step together; outermost first.
BatchDims batch_dims(const Tensor& out, const Tensor& a, const Tensor& b) {
  BatchDims dims;
  const int64_t ndim = out.dim() - 2;
  const auto stride = [&](const Tensor& t, int64_t d) -> int64_t {
    const int64_t own = d - (out.dim() - t.dim());
    return own < 0 || t.sizes()[own] == 1 ? 0 : t.strides()[own];
  };
  for (int64_t d = 0; d < ndim; ++d) {
    const BatchDim next{out.sizes()[d], stride(a, d), stride(b, d), out.strides()[d]};
    if (next.size == 1) continue;
    if (!dims.empty()) {
      BatchDim& last = dims.back();
      if (last.a == next.a * next.size && last.b == next.b * next.size &&
          last.c == next.c * next.size) {
        last = {last.size * next.size, next.a, next.b, next.c};
        continue;
      }
    }
    dims.push_back(next);
  }
  return dims;
}

constexpr double kLargeProduct = 1
                                 << 20;  // multiply-adds from which a product splits well by itself

// Every product of a batch with more dimensions than strides can merge.
template <class T>
void run_batches(const Product& p, const BatchDims& dims) {
  int64_t batch = 1;
  for (const BatchDim& d : dims) batch *= d.size;
  const auto alpha = p.alpha.to<ScalarOf<T>>(), beta = p.beta.to<ScalarOf<T>>();
  const auto run = [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      int64_t rest = i, at_a = 0, at_b = 0, at_c = 0;
      for (size_t d = dims.size(); d-- > 0;) {
        const int64_t x = rest % dims[d].size;
        rest /= dims[d].size;
        at_a += x * dims[d].a;
        at_b += x * dims[d].b;
        at_c += x * dims[d].c;
      }
      const auto numbered = [&](int64_t row, int64_t rows, int64_t col, int64_t cols) {
        (*p.options.finish)(i* p.m + row, rows, col, cols);
      };
      const FinishBlock finish(numbered);
      gemm<T>(p.m, p.n, p.k, alpha, p.a.as<const T>(at_a), p.b.as<const T>(at_b), beta,
              p.c.as<T>(at_c), nullptr, {p.options.finish ? &finish : nullptr});
    }
  };
  const double work =
      static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  if (work > kLargeProduct && batch < 4 * num_threads() && batch % num_threads() != 0)
    return run(0, batch);
  parallel_for(0, batch, std::max<int64_t>(1, static_cast<int64_t>(65536 / std::max(work, 1.0))),
               run);
}

// out = beta * out + alpha * (a @ b) over broadcast batches.
void multiply(const char* op, const Tensor& a, const Tensor& b, const Scalar& alpha,
              const Scalar& beta, const Tensor& out, const ProductOptions& options = {}) {
  const Product p{op,
                  out.dtype(),
                  out.sizes()[out.dim() - 2],
                  out.sizes()[out.dim() - 1],
                  a.sizes()[a.dim() - 1],
                  a,
                  b,
                  out,
                  alpha,
                  beta,
                  nullptr,
                  options};
  if (out.dim() == 2) return p.run();
  visit_product_dtype(p.dtype, op, [&](auto tag) {
    using T = decltype(tag);
    if (out.numel() == 0) return;
    const BatchDims dims = batch_dims(out, a, b);
    if (dims.size() > 1) return run_batches<T>(p, dims);
    const BatchDim d = dims.empty() ? BatchDim{1, 0, 0, 0} : dims[0];
    gemm_batched<T>(d.size, p.m, p.n, p.k, alpha.to<ScalarOf<T>>(), p.a.as<const T>(), d.a,
                    p.b.as<const T>(), d.b, beta.to<ScalarOf<T>>(), p.c.as<T>(), d.c, options);
  });
}

// Whether writing `out` could change what is still to be read from `input`.
bool may_overlap(const Tensor& out, const Tensor& input) {
  return out.storage() == input.storage() && out.storage()->nbytes() != 0;
}

// Runs f on an operand's own memory, or on a copy where the result lies in the same storage.
template <class F>
void with_separate(const Tensor& out, const Tensor& a, const Tensor& b, F&& f) {
  const bool copy_a = may_overlap(out, a), copy_b = may_overlap(out, b);
  if (__builtin_expect(!copy_a && !copy_b, 1)) return f(a, b);
  BelowADInplaceOrView guard;
  f(copy_a ? a.clone() : a, copy_b ? b.clone() : b);
}

// Puts the input of addmm and its kind where the product is added to it; false when beta is zero,
// which makes its values irrelevant.
bool load_input(const Tensor& self, const Scalar& beta, Tensor& out) {
  if (!beta.to_bool()) return false;
  if (!self.is_same(out) && !(self.storage() == out.storage() && self.data() == out.data() &&
                              self.sizes() == out.sizes() && self.strides() == out.strides()))
    cpu::copy_(out, self, false);
  return true;
}

// A row that GEMM can add to every row of the result.
bool fits_bias_row(const Tensor& self, const Tensor& out) {
  return self.dim() == 1 && self.sizes()[0] == out.sizes()[out.dim() - 1] &&
         (self.strides()[0] == 1 || self.sizes()[0] == 1);
}
bool is_bias_row(const Tensor& self, const Tensor& out) {
  return fits_bias_row(self, out) && !may_overlap(out, self);
}

// PyTorch multiplies float8 matrices by way of float.
bool multiply_float8(const Tensor& a, const Tensor& b, const Scalar& alpha, const Scalar& beta,
                     Tensor& out) {
  if (!is_float8(out.dtype())) return false;
  BelowADInplaceOrView guard;
  const Tensor wide = out.to(DType::Float);
  multiply("addmm_impl_cpu_", a.to(DType::Float), b.to(DType::Float), alpha, beta, wide);
  cpu::copy_(out, wide, false);
  return true;
}

void check_product_dtype(DType t, const char* op) {
  if (!is_float8(t)) visit_product_dtype(t, op, [](auto) {});
}

}  // namespace

void mm(const Tensor& self, const Tensor& mat2, Tensor& out) {
  if (multiply_float8(self, mat2, 1, 0, out)) return;
  with_separate(out, self, mat2, [&](const Tensor& a, const Tensor& b) {
    multiply("addmm_impl_cpu_", a, b, 1, 0, out);
  });
}

void bmm(const Tensor& self, const Tensor& mat2, Tensor& out) {
  with_separate(out, self, mat2,
                [&](const Tensor& a, const Tensor& b) { multiply("bmm", a, b, 1, 0, out); });
}

namespace {

// The matrices of a batch whose dimensions do not merge, one behind the other. Plans call bmm with
// one batch dimension, so both have matrices that lie alike, and results of the same bits.
Tensor with_plain_matrices(const Tensor& t, const Tensor& out) {
  int64_t step = 0, size = 1;
  for (int64_t d = out.dim() - 3; d >= 0; --d) {
    if (out.sizes()[d] == 1) continue;
    const int64_t own = d - (out.dim() - t.dim());
    const int64_t stride = own < 0 || t.sizes()[own] == 1 ? 0 : t.strides()[own];
    if (size != 1 && stride != step * size) {
      BelowADInplaceOrView guard;
      return t.contiguous();
    }
    if (size == 1) step = stride;
    size *= out.sizes()[d];
  }
  return t;
}

}  // namespace

void _batched_matmul(const Tensor& self, const Tensor& other, Tensor& out) {
  with_separate(out, self, other, [&](const Tensor& a, const Tensor& b) {
    multiply("bmm", with_plain_matrices(a, out), with_plain_matrices(b, out), 1, 0, out);
  });
}

namespace {

// out = alpha * (a @ b) + bias, a row.
void multiply_add_row(const Tensor& bias, const Tensor& a, const Tensor& b, const Scalar& alpha,
                      const Tensor& out, const ProductOptions& options = {}) {
  Product{"addmm_impl_cpu_",
          out.dtype(),
          out.sizes()[0],
          out.sizes()[1],
          a.sizes()[1],
          a,
          b,
          out,
          alpha,
          0,
          bias.data(),
          options}
      .run();
}

}  // namespace

void addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
           const Scalar& alpha, Tensor& out) {
  check_product_dtype(out.dtype(), "addmm_impl_cpu_");
  with_separate(out, mat1, mat2, [&](const Tensor& a, const Tensor& b) {
    if (is_bias_row(self, out) && beta.equals(1) && !is_float8(out.dtype()))
      return multiply_add_row(self, a, b, alpha, out);
    const Scalar kept = load_input(self, beta, out) ? beta : Scalar(0);
    if (!multiply_float8(a, b, alpha, kept, out))
      multiply("addmm_impl_cpu_", a, b, alpha, kept, out);
  });
}

void baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
             const Scalar& alpha, Tensor& out) {
  check_product_dtype(out.dtype(), "baddbmm");
  with_separate(out, batch1, batch2, [&](const Tensor& a, const Tensor& b) {
    multiply("baddbmm", a, b, alpha, load_input(self, beta, out) ? beta : Scalar(0), out);
  });
}

void addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
            const Scalar& alpha, Tensor& out) {
  check_product_dtype(out.dtype(), "addbmm_impl_cpu_");
  with_separate(out, batch1, batch2, [&](const Tensor& a, const Tensor& b) {
    const bool is_read = load_input(self, beta, out);
    Product p{"addbmm_impl_cpu_",
              out.dtype(),
              out.sizes()[0],
              out.sizes()[1],
              a.sizes()[2],
              a,
              b,
              out,
              alpha,
              is_read ? beta : Scalar(0)};
    const int64_t batch = a.sizes()[0], item = out.element_size();
    if (batch == 0) p.k = 0;
    for (int64_t i = 0; i < std::max<int64_t>(batch, 1); ++i) {
      p.run();
      p.beta = 1;
      p.a.data = static_cast<char*>(p.a.data) + a.strides()[0] * item;
      p.b.data = static_cast<char*>(p.b.data) + b.strides()[0] * item;
    }
  });
}

void addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
           const Scalar& alpha, Tensor& out) {
  visit_product_dtype(out.dtype(), "addmv_impl_cpu", [](auto) {});
  with_separate(out, mat, vec, [&](const Tensor& a, const Tensor& x) {
    const bool is_read = load_input(self, beta, out);
    Product{"addmv_impl_cpu",
            out.dtype(),
            a.sizes()[0],
            1,
            a.sizes()[1],
            a,
            Operand(x.data(), x.strides()[0], 1),
            Operand(out.data(), out.strides()[0], 1),
            alpha,
            is_read ? beta : Scalar(0)}
        .run();
  });
}

void mv(const Tensor& self, const Tensor& vec, Tensor& out) { addmv(out, self, vec, 0, 1, out); }

void dot(const Tensor& self, const Tensor& tensor, Tensor& out) {
  with_separate(out, self, tensor, [&](const Tensor& a, const Tensor& b) {
    Product{"dot",
            out.dtype(),
            1,
            1,
            a.sizes()[0],
            Operand(a.data(), 1, a.strides()[0]),
            Operand(b.data(), b.strides()[0], 1),
            Operand(out.data(), 1, 1)}
        .run();
  });
}

void vdot(const Tensor& self, const Tensor& other, Tensor& out) {
  if (!self.is_complex()) return dot(self, other, out);
  BelowADInplaceOrView guard;
  dot(self.conj().resolve_conj(), other, out);
}

namespace {

// How the leading dimensions of a tensor step through memory, where they step by one stride.
std::optional<int64_t> merged_step(const Tensor& t) {
  int64_t step = 0, size = 1;
  for (int64_t d = t.dim() - 2; d >= 0; --d) {
    if (t.sizes()[d] == 1) continue;
    if (size == 1)
      step = t.strides()[d];
    else if (t.strides()[d] != step * size)
      return std::nullopt;
    size *= t.sizes()[d];
  }
  return step;
}

// The operand of a product whose rows `t` holds from `at` on.
Operand rows_of(const Tensor& t, int64_t at, int64_t step) {
  return Operand(static_cast<char*>(t.data()) + at * t.element_size(), step,
                 t.strides()[t.dim() - 1]);
}

// Elements before the matrix number `i`, over the dimensions in front of the last two.
int64_t matrix_offset(const Tensor& t, int64_t i) {
  int64_t at = 0;
  for (int64_t d = t.dim() - 3; d >= 0; --d) {
    at += i % t.sizes()[d] * t.strides()[d];
    i /= t.sizes()[d];
  }
  return at;
}

// out = input @ weight.T + bias for a matrix `weight`. Rows that do not step by one stride are
// those of a batched product, or copied for one of all rows: what linear_by_parts has plans call,
// so that bits are the same.
void linear_matrix(const Tensor& given, const Tensor& weight, const Tensor& bias, Tensor& out) {
  Tensor input = given;
  if (!merged_step(given)) {
    BelowADInplaceOrView guard;
    if (!bias.defined()) return _batched_matmul(given, weight.t(), out);
    input = given.contiguous();
  }
  const int64_t n = weight.sizes()[0], k = weight.sizes()[1];
  Scalar beta = 0;
  const void* row = nullptr;
  if (bias.defined()) {
    if (is_bias_row(bias, out))
      row = bias.data();
    else {
      visit_product_dtype(out.dtype(), "addmm_impl_cpu_", [](auto) {});
      // A matrix lies over all rows, however many dimensions they have.
      cpu::copy_(
          out,
          bias.dim() == 2 && n != 0 ? bias.expand({out.numel() / n, n}).view(out.sizes()) : bias,
          false);
      beta = 1;
    }
  }
  const auto multiply_rows = [&](int64_t rows, Operand a, Operand c) {
    Product p{"addmm_impl_cpu_",
              out.dtype(),
              rows,
              n,
              k,
              a,
              Operand(weight.data(), weight.strides()[1], weight.strides()[0]),
              c,
              1,
              beta};
    p.bias = row;
    p.run();
  };
  const int64_t rows = n == 0 ? 0 : out.numel() / n;
  const std::optional<int64_t> to = merged_step(out);
  if (rows == 0 || to)
    return multiply_rows(rows, rows_of(input, 0, merged_step(input).value_or(0)),
                         rows_of(out, 0, to.value_or(0)));
  // Otherwise one product for each index of the outer dimensions.
  const int64_t d = input.dim() - 2, inner = input.sizes()[d];
  for (int64_t i = 0; i < rows / inner; ++i)
    multiply_rows(inner, rows_of(input, matrix_offset(input, i), input.strides()[d]),
                  rows_of(out, matrix_offset(out, i), out.strides()[d]));
}

}  // namespace

void linear(const Tensor& input, const Tensor& weight, const Tensor& bias, Tensor& out) {
  with_separate(out, input, weight, [&](const Tensor& a, const Tensor& b) {
    if (b.dim() == 2) return linear_matrix(a, b, bias, out);
    Tensor column = out.unsqueeze(-1);
    linear_matrix(a, b.unsqueeze(0), bias, column);
  });
}

// ---- products of plans ----
namespace {

void run_plain(const dispatch::Stack& arguments, Tensor& out, const ProductOptions& options) {
  multiply("bmm", arguments[0].get<Tensor>(), arguments[1].get<Tensor>(), 1, 0, out, options);
}

void run_sum(const dispatch::Stack& arguments, Tensor& out, const ProductOptions& options) {
  const Tensor &self = arguments[0].get<Tensor>(), &a = arguments[1].get<Tensor>(),
               &b = arguments[2].get<Tensor>();
  const Scalar beta = arguments[3].to_scalar(), alpha = arguments[4].to_scalar();
  if (out.dim() == 2 && fits_bias_row(self, out) && beta.equals(1))
    return multiply_add_row(self, a, b, alpha, out, options);
  const Scalar kept = load_input(self, beta, out) ? beta : Scalar(0);
  multiply("baddbmm", a, b, alpha, kept, out, options);
}

constexpr ProductOperator kProducts[] = {
    {&ops::mm, run_plain, 1, true, true},
    {&ops::bmm, run_plain, 1, false, true},
    {&ops::addmm, run_sum, 2, true, true},
    {&ops::baddbmm, run_sum, 2, false, true},
};

}  // namespace

bool packs_operands(DType dtype, int64_t m, int64_t n, int64_t k) {
  bool packs = false;
  visit_product_dtype(dtype, "mm",
                      [&](auto tag) { packs = packs_operands<decltype(tag)>(m, n, k); });
  return packs;
}

const ProductOperator* find_product(const dispatch::Operator& op) {
  for (const ProductOperator& product : kProducts)
    if (product.op == &op) return &product;
  return nullptr;
}

}  // namespace taeda::cpu
