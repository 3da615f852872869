// What tests of traced programs share: inputs, comparison with eager, random programs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "taeda/autograd/engine.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/variable.h"
#include "taeda/fx/retrace.h"
#include "taeda/fx/text.h"
#include "taeda/ops/functions.h"

namespace taeda::fx {
namespace {

[[maybe_unused]] Tensor ramp(IntList sizes, double first) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  const Tensor line = taeda::arange(Scalar(0), Scalar(count), Scalar(1), DType::Double);
  return (line * Scalar(0.25) + Scalar(first)).reshape(as_symint(sizes));
}

[[maybe_unused]] Tensor leaf(IntList sizes, double first) {
  Tensor t = ramp(sizes, first);
  autograd::set_requires_grad(t, true);
  return t;
}

[[maybe_unused]] Tensor plain(const Tensor& t) { return autograd::detached(t).clone(); }

[[maybe_unused]] std::vector<Value> items(const Value& v) {
  return *v.get<std::shared_ptr<Value::List>>();
}

[[maybe_unused]] void expect_same_values(const Tensor& a, const Tensor& b,
                                         const std::string& what = {}) {
  ASSERT_EQ(a.sizes(), b.sizes()) << what;
  EXPECT_TRUE(taeda::allclose(a, b, 1e-9, 1e-9, true)) << what;
}

[[maybe_unused]] bool has_call(const Graph& g, std::string_view text) {
  return to_text(g).find(text) != std::string::npos;
}

// A run of a program: its results and the gradients of the inputs.
struct Outcome {
  std::vector<Tensor> results, gradients;
  std::string error;
};

// In the layout of the tensor: a joint graph takes tangents as they were traced.
[[maybe_unused]] Tensor tangent_for(const Tensor& t, size_t i) {
  const Tensor tangent =
      taeda::empty_strided(as_symint(t.sizes()), as_symint(t.strides()), t.dtype());
  return tangent.copy_(ramp(t.sizes(), 0.1 * static_cast<double>(i) - 0.3));
}

[[maybe_unused]] Outcome run_joint(const Retraced& made, const std::vector<Tensor>& inputs) {
  std::vector<Value> given;
  for (const Tensor& t : inputs) given.emplace_back(plain(t));
  const std::vector<Node*> placeholders = made.graph->placeholders();
  for (size_t i = 0; i < made.tangents.size(); ++i) {
    const Tensor like = placeholders.at(inputs.size() + i)->val().get<Tensor>();
    given.emplace_back(tangent_for(like, made.tangents[i]));
  }
  Outcome out;
  const size_t num_results = made.written.size() + made.num_results;
  for (const Value& v : items(Plan(*made.graph).run(std::move(given)))) {
    const Tensor t = v.is_none() ? Tensor() : v.get<Tensor>();
    (out.results.size() < num_results ? out.results : out.gradients).push_back(t);
  }
  return out;
}

[[maybe_unused]] void expect_same(const Outcome& eager, const Outcome& joint,
                                  const std::string& what) {
  ASSERT_EQ(eager.results.size(), joint.results.size()) << what;
  for (size_t i = 0; i < eager.results.size(); ++i)
    expect_same_values(joint.results[i], eager.results[i], what);
  ASSERT_EQ(eager.gradients.size(), joint.gradients.size()) << what;
  for (size_t i = 0; i < eager.gradients.size(); ++i) {
    ASSERT_EQ(eager.gradients[i].defined(), joint.gradients[i].defined()) << what;
    if (eager.gradients[i].defined())
      expect_same_values(joint.gradients[i], eager.gradients[i], what);
  }
}

// A program of random operators, views and writes; the same at every run.
class RandomProgram {
 public:
  explicit RandomProgram(uint64_t seed) : state_(seed * 2654435761u + 1) {}

  Value operator()(std::vector<Value> inputs) {
    for (const Value& v : inputs) pool_.push_back(v.get<Tensor>());
    for (int i = 0; i < 9; ++i) step();
    auto results = std::make_shared<Value::List>();
    for (size_t i = pool_.size() - 3; i < pool_.size(); ++i) results->emplace_back(pool_[i]);
    return results;
  }

 private:
  uint64_t draw(uint64_t bound) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return (state_ >> 11) % bound;
  }
  const Tensor& any() { return pool_[draw(pool_.size())]; }
  // Of the same sizes, the tensor itself at last.
  Tensor partner(const Tensor& t) {
    for (int i = 0; i < 4; ++i)
      if (const Tensor& other = any(); other.sizes() == t.sizes()) return other;
    return t;
  }

  void step() {
    switch (draw(4)) {
      case 0: return pool_.push_back(computed());
      case 1: return pool_.push_back(viewed());
      default: return write();
    }
  }

  Tensor computed() {
    const Tensor t = any();
    switch (draw(6)) {
      case 0: return taeda::sin(t);
      case 1: return t * partner(t);
      case 2: return taeda::sigmoid(t);
      case 3: return t + partner(t) * Scalar(0.5);
      case 4: return taeda::tanh(t);
      default: return t * t;
    }
  }

  Tensor viewed() {
    const Tensor t = any();
    const int64_t ndim = t.dim();
    switch (draw(6)) {
      case 0: return ndim > 1 ? t.select(0, SymInt(t.size(0) - 1)) : taeda::alias(t);
      case 1: return ndim > 1 ? t.transpose(0, 1) : t.unsqueeze(0);
      case 2:
        return ndim > 0 ? t.slice(0, SymInt(0), SymInt((t.size(0) + 1) / 2)) : taeda::alias(t);
      case 3: return ndim > 0 && t.is_contiguous() ? t.view({SymInt(-1)}) : t.detach();
      case 4: return ndim == 2 ? taeda::diagonal(t) : taeda::alias(t);
      default: return t.detach();
    }
  }

  // Writes to a tensor as it is, under no_grad, through detach() or through .data.
  void write() {
    const Tensor t = any();
    const uint64_t way = is_protected(t) ? 1 + draw(3) : draw(4);
    if (way == 0) return write_to(t);
    if (way == 1) {
      const autograd::NoGrad unrecorded;
      return write_to(t);
    }
    Tensor values = autograd::detached(t);
    if (way == 3) values.impl()->own_version_counter();
    write_to(values);
  }

  // Leaves and views of leaves refuse a recorded write.
  static bool is_protected(const Tensor& t) {
    const TensorImpl* base = t.impl()->view_base();
    const auto is_leaf = [](const TensorImpl* impl) {
      return impl->requires_grad_flag() &&
             (!autograd::meta_or_null(impl) || !autograd::meta_or_null(impl)->grad_fn);
    };
    return is_leaf(base ? base : t.impl());
  }

  void write_to(const Tensor& t) {
    switch (draw(7)) {
      case 0: t.add_(partner(t)); return;
      case 1: t.mul_(Scalar(0.5)); return;
      case 2: t.clamp_(Scalar(-0.5), Scalar(0.75)); return;
      case 3: t.copy_(taeda::cos(partner(t))); return;
      case 4: t.zero_(); return;
      case 5: t.sin_(); return;
      default: t.fill_(Scalar(0.5)); return;
    }
  }

  uint64_t state_;
  std::vector<Tensor> pool_;
};

}  // namespace
}  // namespace taeda::fx
