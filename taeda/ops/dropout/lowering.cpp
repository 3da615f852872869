// Dropout: a mask by places of the random stream, and what it leaves.
#include "taeda/ops/dropout/lowerings.h"
#include "taeda/ops/index_map.h"
#include "taeda/ops/random/draws_of_elements.h"

namespace taeda::lowering {
namespace {

// A product, as the mask is one of PyTorch's factors: what is dropped of a NaN is a NaN.
Sym kept(Emitter& e, Sym is_kept, Sym value, double scale) {
  const Type type = e.type_of(value);
  return value * where(SymMask::from_id(e.cast(is_kept, Type::Mask).id), e.constant(scale, type),
                       e.constant(0, type));
}

bool is_real(const Tensor& t) { return is_floating(t.dtype()); }

}  // namespace

void native_dropout(const Tensor& input, double p, std::optional<bool> train, const Tensor& out0,
                    const Tensor& out1) {
  if (!is_real(input)) return;
  Lowering& l = Lowering::current();
  const Definition& x = l.of(input);
  if (!train.value_or(true)) {
    l.view(out0, input, [](const Place& at) { return at; });
    filled(out1, true);
    return;
  }
  const ElementDraws draws(out0, 1);
  const Definition& mask = l.define(DType::Bool, x.sizes, [draws, p](Emitter& e, const Place& at) {
    return Sym::from_id(draws.happens(e, 1 - p, at).id);
  });
  l.define(out0, [&x, &mask, scale = p == 1 ? 0.0 : 1 / (1 - p)](Emitter& e, const Place& at) {
    return kept(e, e.read(mask, at), e.read(x, at), scale);
  });
  l.define(out1, [&mask](Emitter& e, const Place& at) { return e.read(mask, at); });
}

void native_dropout_backward(const Tensor& grad_output, const Tensor& mask, double scale,
                             const Tensor& out) {
  if (!is_real(out) || mask.dtype() != DType::Bool) return;
  Lowering& l = Lowering::current();
  const Definition &grad = l.of(grad_output), &m = l.of(mask);
  const Type type = kernel::compute_type(out.dtype());
  l.define(out, [&grad, &m, scale, type](Emitter& e, const Place& at) {
    const Sym is_kept = e.read(m, broadcast_place(e.pool(), grad.sizes, m.sizes, at));
    return kept(e, is_kept, e.cast(e.read(grad, at), type), scale);
  });
}

}  // namespace taeda::lowering
