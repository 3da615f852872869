// Running sums and products, floats in double precision.
#include "taeda/ops/scan_sort/lowerings.h"

namespace taeda::lowering {
namespace {

Type running_type(DType dtype) {
  switch (kernel::compute_type(dtype)) {
    case Type::F32: return Type::F64;
    case Type::C64: return Type::C128;
    default: return dtype == DType::Bool ? Type::I64 : kernel::compute_type(dtype);
  }
}

void run(const char* body, const Tensor& self, int64_t dim, const Tensor& out) {
  if (is_float8(out.dtype())) return;
  Lowering& l = Lowering::current();
  const Definition& x = l.of(self);
  if (self.dim() == 0) {
    l.define(out, [&x, type = kernel::compute_type(out.dtype())](Emitter& e, const Place& at) {
      return e.cast(e.read(x, at), type);
    });
    return;
  }
  const auto along = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const Type type = running_type(out.dtype()), element = kernel::compute_type(out.dtype());
  const Reduction& running =
      l.scan(body, x.sizes, along, [&x, type, element](Emitter& e, const Place& at) {
        return std::vector<Sym>{e.cast(e.cast(e.read(x, at), element), type)};
      });
  l.define(out, [&running](Emitter& e, const Place& at) { return e.result(running, 0, at); });
}

}  // namespace

void cumsum(const Tensor& self, int64_t dim, std::optional<DType>, const Tensor& out) {
  run("sum", self, dim, out);
}
void cumprod(const Tensor& self, int64_t dim, std::optional<DType>, const Tensor& out) {
  run("prod", self, dim, out);
}

}  // namespace taeda::lowering
