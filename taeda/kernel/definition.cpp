// Parts of definitions.
#include "taeda/kernel/definition.h"

namespace taeda::kernel {

Emitter::~Emitter() = default;

Sym Emitter::constant(const Scalar& value, Type type) {
  if (is_complex(type)) {
    const Complex<double> c = value.to_complex();
    return Sym::from_id(graph().constant_complex(c.real(), c.imag(), type));
  }
  return Sym::from_id(is_integer(type) ? graph().constant_int(value.to_int(), type)
                                       : graph().constant(value.to_double(), type));
}

Sym Emitter::random(Draw draw, const Expr* element, RandomStream stream, Sym limit) {
  const Sym seed = number(stream.first_number, Type::U64);
  const Sym offset = number(stream.first_number + 1, Type::U64);
  return Sym::from_id(graph().random(draw, element, seed.id, offset.id, limit.id));
}

Place Reduction::kept(const Place& all) const {
  Place place;
  for (size_t d = 0; d < all.size(); ++d)
    if (!is_reduced(d)) place.push_back(all[d]);
  return place;
}

}  // namespace taeda::kernel
