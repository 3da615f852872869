// Views that keep the order of elements, as maps of places.
#include "taeda/ops/view/lowerings.h"

#include "taeda/ops/index_map.h"
#include "taeda/ops/shape.h"

namespace taeda::lowering {
namespace {

void reshape(const Tensor& self, const Tensor& out) {
  Lowering& l = Lowering::current();
  symbolic::ExprPool& pool = l.pool();
  l.view(out, self, [&pool, from = l.sizes(out), to = l.sizes(self)](const Place& at) {
    return reshaped_place(pool, from, to, at);
  });
}

}  // namespace

void view(const Tensor& self, SymIntList, const Tensor& out) { reshape(self, out); }
void _unsafe_view(const Tensor& self, SymIntList, const Tensor& out) { reshape(self, out); }
void squeeze_dim(const Tensor& self, int64_t, const Tensor& out) { reshape(self, out); }
void squeeze_dims(const Tensor& self, IntList, const Tensor& out) { reshape(self, out); }
void unsqueeze(const Tensor& self, int64_t, const Tensor& out) { reshape(self, out); }
void alias(const Tensor& self, const Tensor& out) {
  Lowering::current().view(out, self, [](const Place& at) { return at; });
}

void expand(const Tensor& self, SymIntList, bool, const Tensor& out) {
  Lowering& l = Lowering::current();
  symbolic::ExprPool& pool = l.pool();
  l.view(out, self, [&pool, from = l.sizes(out), to = l.sizes(self)](const Place& at) {
    return broadcast_place(pool, from, to, at);
  });
}

}  // namespace taeda::lowering
