// vjp: the value of a function, and a function from cotangents of its results to gradients.
//
//   auto [value, pull] = vjp([](const Tensor& x) { return x.sin(); }, x);
//   auto [gradient] = pull(ones_like(value));
//
// Arguments and results are trees (tree.h); every tensor of the arguments is differentiated.
#pragma once

#include "taeda/autograd/grad_mode.h"
#include "taeda/func/aux.h"
#include "taeda/func/gradients.h"
#include "taeda/func/level_scope.h"

namespace taeda::func {

// The transpose of a function's derivative at a point. It holds the graph that the function left,
// so it may be called many times, at any later moment and under other transforms.
template <class Output, class... Args>
class Pullback {
 public:
  Pullback(Output outputs, std::tuple<Args...> inputs, uint64_t level)
      : outputs_(std::move(outputs)), inputs_(std::move(inputs)), level_(level) {}

  // One gradient for each argument of the function, zeros where nothing flows. The last call may
  // let the graph go by `keep_graph` = false. The gradients are recorded where `create_graph` says
  // so, by default where grad mode is on. RuntimeError for cotangents of another form.
  std::tuple<Args...> operator()(const Output& cotangents, bool keep_graph = true,
                                 std::optional<bool> create_graph = std::nullopt) const {
    if (!is_same_form(cotangents, outputs_))
      func_detail::fail_cotangents(form_text(cotangents), form_text(outputs_));
    const std::vector<Tensor> grads =
        func_detail::gradients(leaves_of(outputs_), leaves_of(inputs_), leaves_of(cotangents),
                               keep_graph, create_graph.value_or(autograd::grad_enabled()));
    return map_tree(with_leaves(inputs_, grads), [&](const Tensor& t) {
      const dispatch::LevelWrapper* w = dispatch::wrapper_at(t, level_);
      return w ? w->value : t;
    });
  }

 private:
  Output outputs_;
  std::tuple<Args...> inputs_;
  uint64_t level_;
};

namespace func_detail {

// (value, pullback, aux)
template <bool kHasAux, class F, class... Args>
auto run_vjp(const F& f, const Args&... primals) {
  const GradScope level;
  std::tuple<std::decay_t<Args>...> inputs(primals...);
  inputs = map_tree(std::move(inputs), [&](const Tensor& t) { return level.track(t); });
  // The function gets handles of its own: an assignment to an argument changes nothing here.
  auto arguments = inputs;
  auto [output, aux] = split_aux<kHasAux>(std::apply(f, arguments));
  check_vjp_outputs(leaves_of(output));
  const auto unwrap = [&](const Tensor& t) { return level.unwrap(t); };
  auto value = map_tree(output, unwrap);
  return std::tuple(
      std::move(value),
      Pullback<decltype(output), std::decay_t<Args>...>(output, std::move(inputs), level.id()),
      map_tree(std::move(aux), unwrap));
}

}  // namespace func_detail

// (value, Pullback). RuntimeError for results that are not floating or complex, and for none.
template <class F, class... Args>
  requires(!std::is_same_v<F, HasAux>)
auto vjp(const F& f, const Args&... primals) {
  auto [value, pullback, aux] = func_detail::run_vjp<false>(f, primals...);
  return std::pair(std::move(value), std::move(pullback));
}

// (value, Pullback, aux) of a function that returns (output, aux).
template <class F, class... Args>
auto vjp(HasAux, const F& f, const Args&... primals) {
  return func_detail::run_vjp<true>(f, primals...);
}

}  // namespace taeda::func
