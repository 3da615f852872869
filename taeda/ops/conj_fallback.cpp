// Operators that know nothing of conjugate and negative views get resolved copies of them.
//
// Arguments the operator writes are computed on a resolved copy that is copied back, so the flagged
// tensor keeps its flag and its memory.
#include <vector>

#include "taeda/dispatch/dispatcher.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/spec.h"

namespace taeda {
namespace {

struct Written {
  Tensor original, resolved;
};

Tensor resolve(const Tensor& t, bool is_written, std::vector<Written>& written) {
  for (const Written& w : written)
    if (w.original.is_same(t)) return w.resolved;
  Tensor out = t.clone();
  if (is_written) written.push_back({t, out});
  return out;
}

void copy_back(const Written& w) {
  Tensor to = w.original;
  // out= variants give their argument the result's size.
  resize_to(to, w.resolved.sym_sizes());
  to.copy_(w.resolved);
}

// A result that is a written argument's copy stands for the argument.
void restore_results(dispatch::Stack& stack, const std::vector<Written>& written) {
  auto restore = [&](Tensor& t) {
    for (const Written& w : written)
      if (t.defined() && t.is_same(w.resolved)) t = w.original;
  };
  for (dispatch::Value& v : stack) {
    if (v.is<Tensor>())
      restore(v.get<Tensor>());
    else if (v.is<std::vector<Tensor>>())
      for (Tensor& t : v.get<std::vector<Tensor>>()) restore(t);
  }
}

template <Key key>
void resolve_and_call(const dispatch::Operator& op, KeySet keys, dispatch::Stack& stack, void*) {
  const dispatch::Schema schema = dispatch::parse_schema(op.schema);
  // The copies are the operator's own business: neither recorded nor tracked.
  const BelowADInplaceOrView guard;
  std::vector<Written> written;
  // Written arguments first, so that an argument that is also read is read from the same copy.
  for (const bool is_written : {true, false}) {
    for (size_t i = 0; i < stack.size(); ++i) {
      if (schema.arguments[i].is_written != is_written) continue;
      auto settle = [&](Tensor& t) {
        if (t.defined() && t.keys().has(key)) t = resolve(t, is_written, written);
      };
      if (stack[i].is<Tensor>())
        settle(stack[i].get<Tensor>());
      else if (stack[i].is<std::vector<Tensor>>())
        for (Tensor& t : stack[i].get<std::vector<Tensor>>()) settle(t);
    }
  }
  op.call_boxed(const_cast<dispatch::Operator&>(op), keys & KeySet::below(key), stack);
  for (const Written& w : written) copy_back(w);
  restore_results(stack, written);
}

const bool is_conj_fallback_registered = [] {
  dispatch::set_builtin_fallback(Key::Conjugate, {&resolve_and_call<Key::Conjugate>, nullptr},
                                 "conjugate views resolved by copies");
  dispatch::set_builtin_fallback(Key::Negative, {&resolve_and_call<Key::Negative>, nullptr},
                                 "negative views resolved by copies");
  return true;
}();

}  // namespace
}  // namespace taeda
