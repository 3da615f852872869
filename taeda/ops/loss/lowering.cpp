// Losses that look at values before they use them, as their eager kernels compute them.
#include "taeda/kernel/reduce_bodies.h"
#include "taeda/ops/index_map.h"
#include "taeda/ops/loss/bodies.h"
#include "taeda/ops/loss/lowerings.h"

namespace taeda::lowering {
namespace {

enum Means : int64_t { kNone = 0, kMean = 1, kSum = 2 };

// The class of each position, and whether it counts.
class Targets {
 public:
  Targets(const Tensor& self, const Tensor& target, const SymInt& ignored)
      : target_(Lowering::current().of(target)),
        class_dim_(self.dim() == 1 ? 0 : 1),
        classes_(Lowering::current().sizes(self)[class_dim_]),
        ignored_(Lowering::current().integer(ignored)) {}

  const Place& sizes() const { return target_.sizes; }
  SymMask is_ignored(Emitter& e, const Place& at) const { return raw(e, at) == e.index(ignored_); }
  // The class, which is checked where it counts, and 0 elsewhere.
  const Expr* class_at(Emitter& e, const Place& at) const {
    const Sym zero = e.constant(0, Type::I64);
    return e.indirect(where(is_ignored(e, at), zero, raw(e, at)), classes_, false);
  }
  // The place of a score, from that of its position.
  Place score(const Place& at, const Expr* of_class) const {
    if (class_dim_ == 0) return {of_class};
    Place place = {at[0], of_class};
    for (size_t d = 1; d < at.size(); ++d) place.push_back(at[d]);
    return place;
  }
  // The other way round.
  Place position(symbolic::ExprPool& pool, const Place& score) const {
    if (class_dim_ == 0) return Place(target_.sizes.size(), pool.integer(0));
    Place place = {score[0]};
    for (size_t d = 2; d < score.size(); ++d) place.push_back(score[d]);
    return place;
  }
  const Expr* class_of(const Place& score) const { return score[class_dim_]; }

 private:
  Sym raw(Emitter& e, const Place& at) const { return e.cast(e.read(target_, at), Type::I64); }

  const Definition& target_;
  size_t class_dim_;
  const Expr *classes_, *ignored_;
};

Sym wide(Emitter& e, Sym value) { return e.cast(value, Type::F64); }
Sym zero(Emitter& e) { return e.constant(0, Type::F64); }

const Reduction& total_of(const Place& sizes, Lowering::ValueFn value) {
  return Lowering::current().reduce("sum", sizes, (uint64_t{1} << sizes.size()) - 1,
                                    [value = std::move(value)](Emitter& e, const Place& at) {
                                      return std::vector<Sym>{value(e, at)};
                                    });
}

class NllLoss {
 public:
  NllLoss(const Tensor& self, const Tensor& target, const Tensor& weight, const SymInt& ignored)
      : targets_(self, target, ignored),
        weight_(weight.defined() ? &Lowering::current().of(weight) : nullptr) {}

  Sym weight(Emitter& e, const Place& at) const {
    const Sym one =
        weight_ ? wide(e, e.read(*weight_, {targets_.class_at(e, at)})) : e.constant(1, Type::F64);
    return where(targets_.is_ignored(e, at), zero(e), one);
  }
  Sym loss(Emitter& e, const Definition& x, const Place& at) const {
    const Sym score = wide(e, e.read(x, targets_.score(at, targets_.class_at(e, at))));
    return where(targets_.is_ignored(e, at), zero(e), -weight(e, at) * score);
  }

  void define_forward(const Tensor& self, int64_t reduction, const Tensor& output,
                      const Tensor& total_weight) const {
    Lowering& l = Lowering::current();
    const Definition& x = l.of(self);
    const auto each = [self = *this, &x](Emitter& e, const Place& at) {
      return self.loss(e, x, at);
    };
    const Reduction& weights =
        total_of(targets_.sizes(),
                 [self = *this](Emitter& e, const Place& at) { return self.weight(e, at); });
    const bool has_total = reduction != kNone || self.dim() == 1;
    l.define(total_weight, [&weights, has_total](Emitter& e, const Place&) {
      return has_total ? e.result(weights, 0, {}) : zero(e);
    });
    if (reduction == kNone) {
      const size_t ndim = targets_.sizes().size();
      l.define(output, [each, ndim](Emitter& e, const Place& at) {
        return each(e, at.size() == ndim ? at : Place(ndim, e.pool().integer(0)));
      });
      return;
    }
    const Reduction& losses = total_of(targets_.sizes(), each);
    l.define(output, [&losses, &weights, reduction](Emitter& e, const Place&) {
      const Sym loss = e.result(losses, 0, {});
      return reduction == kMean ? loss / e.result(weights, 0, {}) : loss;
    });
  }

  void define_backward(const Tensor& grad_output, int64_t reduction, const Tensor& total_weight,
                       const Tensor& out) const {
    Lowering& l = Lowering::current();
    const Definition &grad = l.of(grad_output), &total = l.of(total_weight);
    l.define(out, [self = *this, &grad, &total, reduction](Emitter& e, const Place& at) {
      const Place position = self.targets_.position(e.pool(), at);
      const Place one(total.sizes.size(), e.pool().integer(0));
      const Place of = grad.sizes.size() == position.size()
                           ? position
                           : Place(grad.sizes.size(), e.pool().integer(0));
      Sym value = -self.weight(e, position) * wide(e, e.read(grad, of));
      value = value / (reduction == kMean ? wide(e, e.read(total, one)) : e.constant(1, Type::F64));
      const SymMask is_class =
          e.index(self.targets_.class_of(at)) == e.index(self.targets_.class_at(e, position));
      return where(is_class & !self.targets_.is_ignored(e, position), value, zero(e));
    });
  }

 private:
  Targets targets_;
  const Definition* weight_;
};

}  // namespace

void nll_loss_forward(const Tensor& self, const Tensor& target, const Tensor& weight,
                      int64_t reduction, SymInt ignore_index, const Tensor& out0,
                      const Tensor& out1) {
  NllLoss(self, target, weight, ignore_index).define_forward(self, reduction, out0, out1);
}
void nll_loss2d_forward(const Tensor& self, const Tensor& target, const Tensor& weight,
                        int64_t reduction, SymInt ignore_index, const Tensor& out0,
                        const Tensor& out1) {
  NllLoss(self, target, weight, ignore_index).define_forward(self, reduction, out0, out1);
}
void nll_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                       const Tensor& weight, int64_t reduction, SymInt ignore_index,
                       const Tensor& total_weight, const Tensor& out) {
  NllLoss(self, target, weight, ignore_index)
      .define_backward(grad_output, reduction, total_weight, out);
}
void nll_loss2d_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                         const Tensor& weight, int64_t reduction, SymInt ignore_index,
                         const Tensor& total_weight, const Tensor& out) {
  NllLoss(self, target, weight, ignore_index)
      .define_backward(grad_output, reduction, total_weight, out);
}

void _fused_cross_entropy(const Tensor& self, const Tensor& target, int64_t reduction,
                          SymInt ignore_index, const Tensor& out0, const Tensor& out1,
                          const Tensor& out2) {
  Lowering& l = Lowering::current();
  const Definition& x = l.of(self);
  const Targets targets(self, target, ignore_index);
  const Reduction& largest = l.reduce("max", x.sizes, 2, [&x](Emitter& e, const Place& at) {
    return std::vector<Sym>{e.read(x, at)};
  });
  const Reduction& sum = l.reduce("sum", x.sizes, 2, [&x, &largest](Emitter& e, const Place& at) {
    return std::vector<Sym>{
        kernel::LogSumExpBody::term(e.read(x, at), e.result(largest, 0, {at[0]}))};
  });
  const Definition& loss = l.define(
      self.dtype(), {x.sizes[0]}, [&x, &largest, &sum, targets](Emitter& e, const Place& at) {
        const Sym score = e.read(x, {at[0], targets.class_at(e, at)});
        const Sym value = e.result(largest, 0, at) - score + log(e.result(sum, 0, at));
        return where(targets.is_ignored(e, at), e.constant(0, e.type_of(value)), value);
      });
  l.define(out1, [&largest, &sum](Emitter& e, const Place& at) {
    const SymMask is_first = e.index(at[1]) == e.constant(0, Type::I64);
    return where(is_first, e.result(largest, 0, {at[0]}), log(e.result(sum, 0, {at[0]})));
  });
  const Reduction& count = total_of({x.sizes[0]}, [targets](Emitter& e, const Place& at) {
    return where(targets.is_ignored(e, at), zero(e), e.constant(1, Type::F64));
  });
  l.define(out2, [&count](Emitter& e, const Place&) { return e.result(count, 0, {}); });
  if (reduction == kNone) {
    l.define(out0, [&loss](Emitter& e, const Place& at) { return e.read(loss, at); });
    return;
  }
  const Reduction& total = total_of(
      {x.sizes[0]}, [&loss](Emitter& e, const Place& at) { return wide(e, e.read(loss, at)); });
  l.define(out0, [&total, &count, reduction](Emitter& e, const Place&) {
    const Sym all = e.result(total, 0, {});
    return reduction == kMean ? all / e.result(count, 0, {}) : all;
  });
}

void _fused_cross_entropy_backward(const Tensor& grad_output, const Tensor& self,
                                   const Tensor& target, int64_t reduction, SymInt ignore_index,
                                   const Tensor& norms, const Tensor& count, const Tensor& out) {
  Lowering& l = Lowering::current();
  const Definition &x = l.of(self), &grad = l.of(grad_output), &norm = l.of(norms),
                   &counted = l.of(count);
  const Targets targets(self, target, ignore_index);
  l.define(out, [&x, &grad, &norm, &counted, targets, reduction](Emitter& e, const Place& at) {
    const Place row = {at[0]};
    const auto part = [&](int64_t i) { return e.read(norm, {at[0], e.pool().integer(i)}); };
    Sym scale = e.read(grad, grad.sizes.empty() ? Place() : row);
    if (reduction == kMean) scale = scale / e.read(counted, {});
    const Sym share = exp(e.read(x, at) - part(0) - part(1)) * scale;
    const SymMask is_class = e.index(at[1]) == e.index(targets.class_at(e, row));
    return where(targets.is_ignored(e, row), e.constant(0, e.type_of(share)),
                 where(is_class, share - scale, share));
  });
}

namespace {

// A number of [0, 1] as it is; another one is found as the index of an array with one element is,
// so that eager's operator says what is wrong.
Sym probability(Emitter& e, Sym x) {
  const Type type = e.type_of(x);
  const Sym low = e.constant(0, type), high = e.constant(1, type);
  const Sym none = e.constant(0, Type::I64), one = e.constant(1, Type::I64);
  const Expr* place =
      e.indirect(where((x >= low) & (x <= high), none, one), e.pool().integer(1), false);
  return where(e.index(place) == none, x, low);
}

}  // namespace

void binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight,
                          int64_t reduction, const Tensor& out) {
  Lowering& l = Lowering::current();
  const Definition &x = l.of(self), &t = l.of(target);
  const Definition* losses =
      &l.define(self.dtype(), x.sizes, [&x, &t](Emitter& e, const Place& at) {
        const Place beside = broadcast_place(e.pool(), x.sizes, t.sizes, at);
        return bodies::BinaryCrossEntropy::apply(probability(e, e.read(x, at)),
                                                 probability(e, e.read(t, beside)));
      });
  if (weight.defined()) {
    const Definition& w = l.of(weight);
    losses = &l.define(
        out.dtype(), x.sizes,
        [&x, &w, losses, type = kernel::compute_type(out.dtype())](Emitter& e, const Place& at) {
          const Place beside = broadcast_place(e.pool(), x.sizes, w.sizes, at);
          return e.cast(e.read(*losses, at), type) * e.cast(e.read(w, beside), type);
        });
  }
  const auto each = [losses](Emitter& e, const Place& at) { return e.read(*losses, at); };
  if (reduction == kNone) return l.define(out, each);
  const Reduction& total = total_of(x.sizes, each);
  l.define(out, [&total, reduction](Emitter& e, const Place&) {
    const Sym sum = e.result(total, 0, {});
    if (reduction != kMean) return sum;
    const Expr* count = e.pool().integer(1);
    for (const Expr* size : total.sizes) count = e.pool().mul(count, size);
    return sum / e.cast(e.index(count), e.type_of(sum));
  });
}

}  // namespace taeda::lowering
