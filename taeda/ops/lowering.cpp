// The lowering of the thread.
#include "taeda/ops/lowering.h"

#include "taeda/base/error.h"

namespace taeda {

namespace {
thread_local Lowering* t_current = nullptr;
}

Lowering::Lowering() : outer_(t_current) { t_current = this; }
Lowering::~Lowering() { t_current = outer_; }

Lowering& Lowering::current() {
  TAEDA_INTERNAL_CHECK(t_current, "no lowering runs on this thread");
  return *t_current;
}

void Lowering::view(const Tensor& out, const Tensor& of, std::function<Place(const Place&)> map) {
  const kernel::Definition& base = this->of(of);
  define(out, [&base, map = std::move(map)](kernel::Emitter& e, const Place& at) {
    return e.read(base, map(at));
  });
}

Lowering::Place Lowering::sizes(const Tensor& t) {
  Place sizes;
  for (const SymInt& size : t.sym_sizes()) sizes.push_back(integer(size));
  return sizes;
}

}  // namespace taeda
