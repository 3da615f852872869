// Strides of inputs compared with those of a trace's examples.
#include "taeda/aot/layout_checks.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "taeda/fx/fake.h"

namespace taeda::aot {

using dispatch::Value;

namespace {

// Whether the node is there for more than to be handed on.
bool is_used(const fx::Node& input) {
  const auto& users = input.users().list();
  return std::any_of(users.begin(), users.end(),
                     [](const fx::Node* user) { return user->op() != fx::OpCode::Output; });
}

bool has_layout(const Value& v) {
  return v.is<Tensor>() && v.get<Tensor>().defined() &&
         !v.get<Tensor>().impl()->has_symbolic_sizes();
}

// Sizes or strides of the example that a symbolic tensor stands for, if they are known.
std::optional<IntVec> examples_of(const Tensor& t, SymIntList numbers) {
  IntVec known;
  for (const SymInt& n : numbers) {
    if (!n.is_symbolic()) {
      known.push_back(n.expect_int());
      continue;
    }
    const fx::Expr* e = fx::fake_mode_of(t)->options().shape_env->expr(n);
    if (!e->has_hint) return std::nullopt;
    known.push_back(e->value.integer);
  }
  return known;
}

}  // namespace

LayoutChecks::LayoutChecks(const fx::Graph& epilogue, const std::vector<Value>& examples) {
  size_t i = 0;
  for (const fx::Node* node : epilogue.placeholders()) {
    if (i == examples.size()) break;
    const size_t input = i++;
    if (!is_used(*node) || !examples[input].is<Tensor>()) continue;
    const Tensor& t = examples[input].get<Tensor>();
    if (!t.defined()) continue;
    const auto sizes = examples_of(t, t.sym_sizes()), strides = examples_of(t, t.sym_strides());
    if (sizes && strides) layouts_.push_back(layout_of(input, *sizes, *strides));
  }
}

LayoutChecks::Layout LayoutChecks::layout_of(size_t input, IntList sizes, IntList strides) {
  Layout made{input, std::vector<size_t>(sizes.size()), {}};
  std::iota(made.order.begin(), made.order.end(), size_t{0});
  std::ranges::stable_sort(made.order, [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  int64_t step = 1;
  for (size_t i = made.order.size(); i-- > 0;) {
    const size_t d = made.order[i];
    // One element lies densely in every layout.
    const bool is_dense = sizes[d] <= 1 || strides[d] == step;
    made.is_dense.insert(made.is_dense.begin(), is_dense);
    step = sizes[d] * (is_dense ? step : strides[d]);
  }
  return made;
}

bool LayoutChecks::Layout::fits(IntList sizes, IntList strides) const {
  if (sizes.size() != order.size()) return true;  // refused by what runs
  int64_t step = 1, inner = 0;
  for (size_t i = order.size(); i-- > 0;) {
    const size_t d = order[i];
    const int64_t stride = sizes[d] > 1 ? strides[d] : is_dense[i] ? step : step + 1;
    if ((stride == step) != is_dense[i] || stride < inner) return false;
    step = sizes[d] * stride;
    inner = stride;
  }
  return true;
}

void LayoutChecks::operator()(const std::vector<Value>& inputs) const {
  for (const Layout& layout : layouts_) {
    if (layout.input >= inputs.size() || !has_layout(inputs[layout.input])) continue;
    const Tensor& t = inputs[layout.input].get<Tensor>();
    TAEDA_CHECK(t.numel() == 0 || layout.fits(t.sizes(), t.strides()), "input ", layout.input,
                ", which the program writes to or makes a view of, was traced with dimensions that "
                "lie otherwise in memory than with strides ",
                t.strides(), "; trace it again for such an input");
  }
}

}  // namespace taeda::aot
