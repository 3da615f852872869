// Running extremes and running sums of exponentials.
#include "taeda/ops/index_map.h"
#include "taeda/ops/scans/lowerings.h"

namespace taeda::lowering {
namespace {

void running_extreme(const char* body, const Tensor& self, int64_t dim, const Tensor& values,
                     const Tensor& indices) {
  if (self.dtype() == DType::Bool) return;
  Lowering& l = Lowering::current();
  const Definition& x = l.of(self);
  if (self.dim() == 0) {
    l.define(values, [&x](Emitter& e, const Place& at) { return e.read(x, at); });
    return filled(indices, 0);
  }
  const auto along = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const Reduction& running = l.scan(body, x.sizes, along, [&x, along](Emitter& e, const Place& at) {
    return std::vector<Sym>{e.read(x, at), e.index(at[along])};
  });
  for (const auto& [out, which] : {std::pair(&values, 0), std::pair(&indices, 1)})
    l.define(*out, [&running, which = which](Emitter& e, const Place& at) {
      return e.result(running, which, at);
    });
}

}  // namespace

void cummax(const Tensor& self, int64_t dim, const Tensor& out0, const Tensor& out1) {
  running_extreme("running_max", self, dim, out0, out1);
}
void cummin(const Tensor& self, int64_t dim, const Tensor& out0, const Tensor& out1) {
  running_extreme("running_min", self, dim, out0, out1);
}

void logcumsumexp(const Tensor& self, int64_t dim, const Tensor& out) {
  if (self.is_complex()) return;
  Lowering& l = Lowering::current();
  const Definition& x = l.of(self);
  if (self.dim() == 0)
    return l.define(out, [&x](Emitter& e, const Place& at) { return e.read(x, at); });
  const auto along = static_cast<size_t>(wrap_dim(dim, self.dim()));
  const Reduction& running = l.scan("logaddexp", x.sizes, along, [&x](Emitter& e, const Place& at) {
    return std::vector<Sym>{e.cast(e.read(x, at), Type::F64)};
  });
  l.define(out, [&running](Emitter& e, const Place& at) { return e.result(running, 0, at); });
}

}  // namespace taeda::lowering
