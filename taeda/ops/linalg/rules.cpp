// Shape and dtype rules of the matrix products.
#include "taeda/ops/linalg/rules.h"

#include "taeda/ops/cpp_name.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/linalg/declarations.h"
#include "taeda/ops/shape.h"

namespace taeda::impl {
namespace {

void check_devices(const char* op, std::initializer_list<const Tensor*> tensors) {
  check_same_device(op, Span<const Tensor*>(tensors.begin(), tensors.size()));
}

void check_matrix_sizes(const Tensor& a, const Tensor& b) {
  TAEDA_CHECK(a.sym_sizes()[1] == b.sym_sizes()[0], "mat1 and mat2 shapes cannot be multiplied (",
              a.sym_sizes()[0], "x", a.sym_sizes()[1], " and ", b.sym_sizes()[0], "x",
              b.sym_sizes()[1], ")");
}

void check_batches(const Tensor& a, const Tensor& b) {
  TAEDA_CHECK(a.dim() == 3, "batch1 must be a 3D tensor");
  TAEDA_CHECK(b.dim() == 3, "batch2 must be a 3D tensor");
  const SymIntList n = a.sym_sizes(), m = b.sym_sizes();
  TAEDA_CHECK(n[0] == m[0] && n[2] == m[1],
              "Expected size for first two dimensions of batch2 tensor to be: [", n[0], ", ", n[2],
              "] but got: [", m[0], ", ", m[1], "].");
}

// The input of addmm and its kind must expand to the product's shape.
void check_expands(const Tensor& self, const OutSpec& spec) {
  const SymIntList own = self.sym_sizes(), sizes = spec.sizes;
  TAEDA_CHECK(own.size() <= sizes.size(), "expand(torch.", self.dtype(), "Tensor{", own,
              "}, size=", sizes, "): the number of sizes provided (", sizes.size(),
              ") must be greater or equal to the number of dimensions in the tensor (", own.size(),
              ")");
  const size_t shift = sizes.size() - own.size();
  for (size_t i = own.size(); i-- > 0;)
    TAEDA_CHECK(own[i] == sizes[i + shift] || own[i] == SymInt(1),
                "The expanded size of the tensor (", sizes[i + shift],
                ") must match the existing size (", own[i], ") at non-singleton dimension ",
                i + shift, ".  Target sizes: ", sizes, ".  Tensor sizes: ", own);
}

// Matrices of these have products by way of float, vectors have none.
void check_not_float8(const char* op, DType t) {
  TAEDA_CHECK_NOT_IMPLEMENTED(!is_float8(t), "\"", op, "\" not implemented for '", t, "'");
}

void check_vectors(const Tensor& a, const Tensor& b, const char* op) {
  TAEDA_CHECK(a.dim() == 1 && b.dim() == 1, "1D tensors expected, but got ", a.dim(), "D and ",
              b.dim(), "D tensors");
  TAEDA_CHECK(a.dtype() == b.dtype(), "dot : expected both vectors to have same dtype, but found ",
              a.dtype(), " and ", b.dtype());
  TAEDA_CHECK(a.sym_numel() == b.sym_numel(), "inconsistent tensor size, expected tensor ",
              a.sym_sizes(), " and src ", b.sym_sizes(),
              " to have the same number of elements, but got ", a.sym_numel(), " and ",
              b.sym_numel(), " elements respectively");
  check_devices(op, {&a, &b});
  check_not_float8(op, a.dtype());
}

OutSpec matrix_vector_spec(const char* op, const Tensor* self, const Tensor& mat,
                           const Tensor& vec) {
  const int64_t self_dim = self ? self->dim() : vec.dim();
  TAEDA_CHECK(mat.dim() == 2 && vec.dim() == 1 && self_dim <= 1,
              "vector + matrix @ vector expected, got ", self_dim, ", ", mat.dim(), ", ",
              vec.dim());
  const DType self_type = self ? self->dtype() : vec.dtype();
  TAEDA_CHECK(mat.dtype() == vec.dtype() && self_type == vec.dtype(),
              "addmv input tensors must have the same dtype, but got ", self_type, ", ",
              mat.dtype(), ", and ", vec.dtype());
  const SymIntList n = mat.sym_sizes();
  const SymInt self_size = self ? self->sym_numel() : n[0];
  TAEDA_CHECK(n[1] == vec.sym_sizes()[0] && (self_size == n[0] || self_size == SymInt(1)),
              "size mismatch, got input (", self_size, "), mat (", n[0], "x", n[1], "), vec (",
              vec.sym_sizes()[0], ")");
  if (self)
    check_devices(op, {self, &mat, &vec});
  else
    check_devices(op, {&mat, &vec});
  check_not_float8("addmv_impl_cpu", mat.dtype());
  return OutSpec(SymIntList(n.data(), 1), mat.dtype(), mat.device());
}

}  // namespace

OutSpec mm_spec(const Tensor& self, const Tensor& mat2) {
  TAEDA_CHECK(self.dim() == 2, "self must be a matrix");
  TAEDA_CHECK(mat2.dim() == 2, "mat2 must be a matrix");
  check_matrix_sizes(self, mat2);
  TAEDA_CHECK(self.dtype() == mat2.dtype(),
              "expected m1 and m2 to have the same dtype, but got: ", cpp_name(self.dtype()),
              " != ", cpp_name(mat2.dtype()));
  check_devices("mm", {&self, &mat2});
  return OutSpec({self.sym_sizes()[0], mat2.sym_sizes()[1]}, self.dtype(), self.device());
}

OutSpec bmm_spec(const Tensor& self, const Tensor& mat2) {
  check_batches(self, mat2);
  TAEDA_CHECK(self.dtype() == mat2.dtype(), "expected scalar type ", self.dtype(), " but found ",
              mat2.dtype());
  check_devices("bmm", {&self, &mat2});
  return OutSpec({self.sym_sizes()[0], self.sym_sizes()[1], mat2.sym_sizes()[2]}, self.dtype(),
                 self.device());
}

OutSpec addmm_spec(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar&,
                   const Scalar&) {
  TAEDA_CHECK(mat1.dim() == 2, "mat1 must be a matrix, got ", mat1.dim(), "-D tensor");
  TAEDA_CHECK(mat2.dim() == 2, "mat2 must be a matrix, got ", mat2.dim(), "-D tensor");
  check_matrix_sizes(mat1, mat2);
  TAEDA_CHECK(self.dtype() == mat2.dtype(), "self and mat2 must have the same dtype, but got ",
              self.dtype(), " and ", mat2.dtype());
  TAEDA_CHECK(mat1.dtype() == mat2.dtype(), "mat1 and mat2 must have the same dtype, but got ",
              mat1.dtype(), " and ", mat2.dtype());
  check_devices("addmm", {&self, &mat1, &mat2});
  OutSpec spec({mat1.sym_sizes()[0], mat2.sym_sizes()[1]}, self.dtype(), self.device());
  check_expands(self, spec);
  return spec;
}

OutSpec baddbmm_spec(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar&,
                     const Scalar&) {
  check_batches(batch1, batch2);
  TAEDA_CHECK(self.dtype() == batch1.dtype() && batch1.dtype() == batch2.dtype(),
              "Input dtypes must be the same, got: input ", cpp_name(self.dtype()),
              ", batch1: ", cpp_name(batch1.dtype()), ", batch2: ", cpp_name(batch2.dtype()));
  check_devices("baddbmm", {&self, &batch1, &batch2});
  OutSpec spec({batch1.sym_sizes()[0], batch1.sym_sizes()[1], batch2.sym_sizes()[2]}, self.dtype(),
               self.device());
  check_expands(self, spec);
  return spec;
}

OutSpec addbmm_spec(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar&,
                    const Scalar&) {
  TAEDA_CHECK(batch1.dim() == 3, "batch1 must be a 3D tensor");
  TAEDA_CHECK(batch2.dim() == 3, "batch2 must be a 3D tensor");
  const SymIntList n = batch1.sym_sizes(), m = batch2.sym_sizes();
  TAEDA_CHECK(n[0] == m[0], "batch1 and batch2 must have same number of batches, got ", n[0],
              " and ", m[0]);
  TAEDA_CHECK(n[2] == m[1], "Incompatible matrix sizes for bmm (", n[1], "x", n[2], " and ", m[1],
              "x", m[2], ")");
  TAEDA_CHECK(self.dtype() == batch2.dtype(), "self and mat2 must have the same dtype, but got ",
              self.dtype(), " and ", batch2.dtype());
  TAEDA_CHECK(batch1.dtype() == batch2.dtype(), "mat1 and mat2 must have the same dtype, but got ",
              batch1.dtype(), " and ", batch2.dtype());
  check_devices("addbmm", {&self, &batch1, &batch2});
  OutSpec spec({n[1], m[2]}, self.dtype(), self.device());
  check_expands(self, spec);
  return spec;
}

OutSpec addmv_spec(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar&,
                   const Scalar&) {
  return matrix_vector_spec("addmv", &self, mat, vec);
}

OutSpec mv_spec(const Tensor& self, const Tensor& vec) {
  return matrix_vector_spec("mv", nullptr, self, vec);
}

OutSpec dot_spec(const Tensor& self, const Tensor& tensor) {
  check_vectors(self, tensor, "dot");
  return OutSpec(SymIntList(), self.dtype(), self.device());
}

OutSpec vdot_spec(const Tensor& self, const Tensor& other) {
  check_vectors(self, other, "vdot");
  return OutSpec(SymIntList(), self.dtype(), self.device());
}

OutSpec _batched_matmul_spec(const Tensor& self, const Tensor& other) {
  TAEDA_CHECK(self.dim() >= 2 && other.dim() >= 2, "_batched_matmul: expected matrices, got ",
              self.dim(), "-D and ", other.dim(), "-D");
  const SymIntList a = self.sym_sizes(), b = other.sym_sizes();
  SymIntVec sizes =
      broadcast_shapes(SymIntList(a.data(), a.size() - 2), SymIntList(b.data(), b.size() - 2));
  SymInt batch = 1;
  for (const SymInt& s : sizes) batch *= s;
  const SymInt &k = a[a.size() - 1], &rows = b[b.size() - 2];
  TAEDA_CHECK(k == rows, "Expected size for first two dimensions of batch2 tensor to be: [", batch,
              ", ", k, "] but got: [", batch, ", ", rows, "].");
  TAEDA_CHECK(self.dtype() == other.dtype(), "expected scalar type ", self.dtype(), " but found ",
              other.dtype());
  check_devices("bmm", {&self, &other});
  sizes.push_back(a[a.size() - 2]);
  sizes.push_back(b[b.size() - 1]);
  return OutSpec(SymIntList(sizes), self.dtype(), self.device());
}

}  // namespace taeda::impl
