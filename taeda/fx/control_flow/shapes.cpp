// What control flow looks like where nothing has values.
#include "taeda/fx/control_flow/shapes.h"

#include "taeda/fx/control_flow/run.h"
#include "taeda/fx/shapes/sym_expr_node.h"
#include "taeda/ops/functions.h"

namespace taeda::fx {
namespace {

SymInt integer(const Value& v) { return v.is<SymInt>() ? v.get<SymInt>() : SymInt(v.to_int()); }

// Without a guard.
bool is_known_equal(const SymInt& a, const SymInt& b) {
  if (!a.is_symbolic() && !b.is_symbolic()) return a.word() == b.word();
  if (!a.is_symbolic() || !b.is_symbolic()) return false;
  const SymExprNode *x = SymExprNode::from(a.node()), *y = SymExprNode::from(b.node());
  return x && y && x->expr() == y->expr();
}

IntrusivePtr<ShapeEnv> env_of(const Stack& args) {
  IntrusivePtr<ShapeEnv> env;
  for (const Value& v : args)
    for_each_tensor(v, [&](const Tensor& t) {
      const IntrusivePtr<FakeMode> mode = fake_mode_of(t);
      if (mode && !env) env = mode->options().shape_env;
    });
  if (!env)
    if (const FakeMode* mode = active_fake_mode()) env = mode->options().shape_env;
  return env ? env : make_intrusive<ShapeEnv>();
}

SymInt unknown(const Stack& args, IntRange range, bool is_size) {
  const IntrusivePtr<ShapeEnv> env = env_of(args);
  const Expr* symbol = env->create_unbacked();
  env->assert_given(true);
  if (is_size) env->check_is_size(symbol);
  env->constrain_range(symbol, range);
  env->assert_given(false);
  return env->symint(symbol);
}

// What may be one or the other.
SymInt either(const Stack& args, const SymInt& a, const SymInt& b, bool is_size) {
  if (is_known_equal(a, b)) return a;
  const bool has_bounds = !a.is_symbolic() && !b.is_symbolic();
  const IntRange range = has_bounds
                             ? IntRange{std::min(a.word(), b.word()), std::max(a.word(), b.word())}
                             : IntRange{0, IntRange::kMax};
  return unknown(args, range, is_size);
}

Tensor like(const Tensor& t, SymIntList sizes) {
  return taeda::empty(sizes, t.dtype(), {}, t.device());
}

Value merged(const Stack& args, const Value& a, const Value& b) {
  check_mergeable(a, b);
  if (is_integer(a)) return Value(either(args, integer(a), integer(b), false));
  if (!a.is<Tensor>()) return a;
  const Tensor &x = a.get<Tensor>(), &y = b.get<Tensor>();
  std::vector<SymInt> sizes;
  bool is_same = true;
  for (size_t d = 0; d < x.sym_sizes().size(); ++d) {
    sizes.push_back(either(args, x.sym_sizes()[d], y.sym_sizes()[d], true));
    is_same &= is_known_equal(x.sym_sizes()[d], y.sym_sizes()[d]);
  }
  return is_same ? a : Value(like(x, sizes));
}

// A state of a loop with integers that stand for those of any step.
Values any_integers(const Stack& args, Values carried) {
  for (Value& v : carried)
    if (is_integer(v)) v = Value(unknown(args, {IntRange::kMin, IntRange::kMax}, false));
  return carried;
}

Values step_of(const Stack& args) {
  const Values operands = joined(any_integers(args, items(args[2])), items(args[3]));
  region(args[0])(operands);
  Values results = region(args[1])(operands);
  TAEDA_CHECK(results.size() == items(args[2]).size(), "while_loop: a step gives ", results.size(),
              " values and carries ", items(args[2]).size());
  return results;
}

// Stacks of `count` tensors like these, in the layout of taeda::stack. Nothing is asked of the
// count.
Values repeated(const Values& values, const SymInt& count) {
  Values out;
  for (const Value& v : values) {
    const Tensor& t = v.get<Tensor>();
    const Tensor one = taeda::stack(TensorList({t}));
    SymIntVec sizes(one.sym_sizes()), strides(one.sym_strides());
    sizes[0] = count;
    strides[0] = t.sym_numel();
    out.emplace_back(t.new_empty_strided(sizes, strides));
  }
  return out;
}

// Like a slice along the first dimension; no operator runs.
Values slice_examples(const Values& xs) {
  const ExcludeKeys untracked(KeySet(Key::ADInplaceOrView));
  Values out;
  for (const Value& v : xs) {
    const Tensor& t = v.get<Tensor>();
    TAEDA_CHECK(t.dim() > 0, "a tensor without dimensions has no slices");
    const SymIntVec sizes(t.sym_sizes()), strides(t.sym_strides());
    out.emplace_back(make_alias_sym(t, SymIntList(sizes).drop_front(1),
                                    SymIntList(strides).drop_front(1),
                                    t.impl()->sym_storage_offset()));
  }
  return out;
}

}  // namespace

Values cond_shapes(const Stack& a) {
  const Values operands = items(a[3]);
  const Values x = region(a[1])(operands), y = region(a[2])(operands);
  TAEDA_CHECK(x.size() == y.size(),
              "Expected to return same number of outputs but got:\n  true branch returns ",
              x.size(), " item(s)\n  false branch returns ", y.size(), " item(s)");
  Values out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(merged(a, x[i], y[i]));
  return out;
}

Values while_shapes(const Stack& a) { return any_integers(a, step_of(a)); }

Values while_stacked_shapes(const Stack& a) {
  return repeated(step_of(a), unknown(a, {1, IntRange::kMax}, true));
}

Values scan_shapes(const Stack& a) {
  const Values init = items(a[1]), xs = items(a[2]);
  const SymInt count = length_of(xs, "scan");
  const Values results = region(a[0])(joined(joined(init, slices(xs, 0)), items(a[3])));
  TAEDA_CHECK(results.size() >= init.size(), "scan: a step gives fewer values than it carries");
  return joined(part(results, 0, init.size()),
                repeated(part(results, init.size(), results.size() - init.size()), count));
}

Values map_shapes(const Stack& a) {
  const Values xs = items(a[1]);
  const SymInt count = length_of(xs, "map");
  return repeated(region(a[0])(joined(slices(xs, 0), items(a[2]))), count);
}

Values associative_scan_shapes(const Stack& a) {
  const Values xs = items(a[1]), first = slices(xs, 0);
  region(a[0])(joined(joined(first, first), items(a[2])));
  Values out;
  for (const Value& x : xs) out.emplace_back(x.get<Tensor>().clone(MemoryFormat::Contiguous));
  return out;
}

std::vector<Values> cond_examples(const Stack& a) { return {items(a[3]), items(a[3])}; }

std::vector<Values> while_examples(const Stack& a) {
  const Values operands = joined(any_integers(a, items(a[2])), items(a[3]));
  return {operands, operands};
}

std::vector<Values> scan_examples(const Stack& a) {
  return {joined(joined(items(a[1]), slice_examples(items(a[2]))), items(a[3]))};
}

std::vector<Values> map_examples(const Stack& a) {
  return {joined(slice_examples(items(a[1])), items(a[2]))};
}

std::vector<Values> associative_scan_examples(const Stack& a) {
  const Values xs = slice_examples(items(a[1]));
  return {joined(joined(xs, xs), items(a[2]))};
}

}  // namespace taeda::fx
