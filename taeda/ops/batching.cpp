// Calls under vmap, and the rules that serve most operators.
#include "taeda/ops/batching.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

#include "taeda/base/log.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/ops/functions.h"

namespace taeda {

using dispatch::BatchRule;
using dispatch::BelowLevel;
using dispatch::Level;
using dispatch::Operator;
using dispatch::Randomness;
using dispatch::Stack;
using dispatch::Value;

namespace {

thread_local const BatchContext* current = nullptr;

class ContextScope {
 public:
  explicit ContextScope(const BatchContext& c) : saved_(std::exchange(current, &c)) {}
  ~ContextScope() { current = saved_; }

 private:
  const BatchContext* saved_;
};

Batched unwrapped(const Tensor& t, uint64_t level) {
  const dispatch::LevelWrapper* w = dispatch::wrapper_at(t, level);
  return w ? Batched(w->value, w->batch_dim) : Batched(t, -1);
}

// The in-place argument, kept while the stack holds values: results are it again.
struct InPlace {
  Tensor wrapper;

  InPlace(const Operator& op, const BatchRule& rule, const BatchContext& c, const Stack& stack) {
    if (!rule.is_inplace) return;
    wrapper = stack.at(0).get<Tensor>();
    TAEDA_CHECK(dispatch::wrapper_at(wrapper, c.level), "vmap: ", op.name,
                "(self, *extra_args) is not possible because there exists a Tensor `other` in "
                "extra_args that has more elements than `self`. This happened due to `other` being "
                "vmapped over but `self` not being vmapped over in a vmap. Please try to use "
                "out-of-place operators instead of ",
                op.name,
                ". If said operator is being called inside the PyTorch framework, please file a "
                "bug report instead.");
  }
  // `value`: the tensor that the operator wrote, with the batch in front.
  bool finish(Tensor value) const {
    if (!wrapper.defined()) return false;
    dispatch::update_wrapper(wrapper, std::move(value), 0);
    return true;
  }
};

void wrap_results(const BatchContext& c, Stack& stack) {
  dispatch::map_tensors(stack,
                        [&](const Tensor& t) { return dispatch::make_wrapper(t, c.level, 0); });
}

void call_below(Operator& op, Stack& stack) { dispatch::call_boxed(op, stack); }

// Runs at TransformFront with a vmap level innermost.
void run_vmap(Operator& op, Stack& stack) {
  const Level level = dispatch::top_level();
  const BatchRule* rule = op.batch_rule;
  const BatchContext context{level.id, level.batch_size, level.randomness};
  if (!dispatch::has_wrapper_at(stack, level.id) && !(rule && rule->is_random)) {
    const BelowLevel below;
    return call_below(op, stack);
  }
  const ContextScope scope(context);
  static const BatchRule each{&batch_each};
  if (!rule) rule = &each;
  const Tensor written = rule->is_inplace ? stack.at(0).get<Tensor>() : Tensor();
  if (rule->keeps_level) {
    rule->run(op, *rule, context, stack);
  } else {
    const BelowLevel below;
    rule->run(op, *rule, context, stack);
  }
  // An in-place operator returns the very tensor it wrote.
  if (written.defined()) stack.assign(1, Value(written));
}

const bool is_batching_registered =
    (dispatch::set_level_handler(dispatch::LevelKind::Vmap, &run_vmap), true);

}  // namespace

const BatchContext& batch_context() {
  TAEDA_INTERNAL_CHECK(current, "no batching rule is running");
  return *current;
}

Tensor Batched::front() const { return dim <= 0 ? value : value.movedim(dim, 0); }

Tensor Batched::front_expanded(const SymInt& size) const {
  if (is_batched()) return front();
  SymIntVec sizes(value.sym_sizes());
  sizes.insert(0, size);
  return value.expand(SymIntList(sizes));
}

Tensor Batched::front_aligned(int64_t rank) const {
  Tensor t = front();
  if (!is_batched()) return t;
  for (int64_t r = this->rank(); r < rank; ++r) t = t.unsqueeze(1);
  return t;
}

// ---- pointwise ----

namespace {

int category(DType t) {
  return taeda::is_complex(t) ? 3 : is_floating(t) ? 2 : t == DType::Bool ? 0 : 1;
}

// Numbers of one example take part in promotion as numbers do, though a batch of them has a
// dimension: they are converted to the dtype that the tensors with dimensions promote to.
class NumberPromotion {
 public:
  void see(const Batched& b) {
    if (b.rank() == 0) return;
    const DType t = b.value.dtype();
    dtype_ = has_any_ ? promote_types(dtype_, t) : t;
    has_any_ = true;
  }
  Tensor settle(const Batched& b, Tensor front) const {
    if (!has_any_ || !b.is_batched() || b.rank() > 0) return front;
    const DType t = front.dtype();
    if (t == dtype_ || category(t) == 0 || category(t) > category(dtype_)) return front;
    return front.to(dtype_);
  }
  bool has_any() const { return has_any_; }

 private:
  DType dtype_ = DType::Undefined;
  bool has_any_ = false;
};

}  // namespace

namespace {

// A batch of images has one dimension too many for the formats that name their channels.
void check_format(const Operator& op, const Stack& stack) {
  for (const Value& v : stack) {
    if (!v.is<MemoryFormat>()) continue;
    const MemoryFormat format = v.get<MemoryFormat>();
    TAEDA_CHECK(format == MemoryFormat::Preserve || format == MemoryFormat::Contiguous,
                "NYI: Tensor.", op.name,
                "(memory_format) inside vmap is only supported with memory_format "
                "torch.preserve_format or torch.contiguous_format (got ",
                format == MemoryFormat::ChannelsLast ? "ChannelsLast" : "ChannelsLast3d", ")");
  }
}

}  // namespace

void batch_pointwise(Operator& op, const BatchRule& rule, const BatchContext& c, Stack& stack) {
  check_format(op, stack);
  const InPlace in_place(op, rule, c, stack);
  int64_t rank = 0;
  NumberPromotion numbers;
  for (const Value& v : stack) {
    for_each_tensor(v, [&](const Tensor& t) {
      const Batched b = unwrapped(t, c.level);
      rank = std::max(rank, b.rank());
      numbers.see(b);
    });
  }
  if (in_place.wrapper.defined()) rank = in_place.wrapper.dim();
  dispatch::map_tensors(stack, [&](const Tensor& t) {
    const Batched b = unwrapped(t, c.level);
    // Among numbers only, an unbatched one must not weigh less than a batch of them.
    if (!b.is_batched() && b.rank() == 0 && !numbers.has_any() && !t.impl()->is_wrapped_number())
      return t.unsqueeze(0);
    if (rule.is_inplace && t.is_same(in_place.wrapper)) return b.front_aligned(rank);
    return numbers.settle(b, b.front_aligned(rank));
  });
  const Tensor written = in_place.wrapper.defined() ? stack[0].get<Tensor>() : Tensor();
  call_below(op, stack);
  if (!in_place.finish(written)) wrap_results(c, stack);
}

// ---- along dimensions ----

namespace {

std::vector<int64_t> int_list(const Value& v) {
  if (v.is_none()) return {};
  if (v.is<std::vector<int64_t>>()) return v.get<std::vector<int64_t>>();
  std::vector<int64_t> out;
  for (const SymInt& s : v.get<std::vector<SymInt>>()) out.push_back(s.expect_int());
  return out;
}

struct Shape {
  int64_t rank = 0;               // of an example, for wrapping dimensions
  bool is_number = false;         // examples are numbers: they get one dimension for the call
  bool is_result_number = false;  // and so are the results: it is taken off again
};

Shape shape_of(const BatchRule& rule, const Stack& stack, uint64_t level) {
  Shape shape;
  bool has_seen = false;
  for (size_t i = 0; i < stack.size(); ++i) {
    const Value& v = stack[i];
    const Role role = rule.roles[i];
    if (role == Role::Tensors && !has_seen) {
      shape.rank = unwrapped(v.get<std::vector<Tensor>>().at(0), level).rank();
      return shape;
    }
    if ((role != Role::Tensor && role != Role::Model) || !v.is<Tensor>()) continue;
    const int64_t rank = unwrapped(v.get<Tensor>(), level).rank();
    if (!has_seen) shape = {rank, rank == 0, rank == 0};
    if (role == Role::Model) shape.is_result_number = rank == 0;
    has_seen = true;
  }
  return shape;
}

void shift_dims(Value& v, Role role, const Shape& shape, const BatchContext& c) {
  const int64_t rank = shape.rank;
  switch (role) {
    case Role::Dim: v = Value(wrap_dim(v.to_int(), rank) + 1); return;
    case Role::NewDim: v = Value(wrap_dim(v.to_int(), rank + 1) + 1); return;
    case Role::Dims:
    case Role::SomeDims:
    case Role::Permutation: {
      const bool is_all = v.is_none();
      std::vector<int64_t> dims = int_list(v);
      for (int64_t& d : dims) d = wrap_dim(d, rank) + 1;
      if (role == Role::Permutation) {
        TAEDA_CHECK(static_cast<int64_t>(dims.size()) == rank,
                    "permute(sparse_coo): number of dimensions in the tensor input does not match "
                    "the length of the desired ordering of dimensions i.e. input.dim() = ",
                    rank, " is not equal to len(dims) = ", dims.size());
        dims.insert(dims.begin(), 0);
      } else if (dims.empty() && (role == Role::Dims || is_all)) {
        for (int64_t d = 0; d < std::max<int64_t>(rank, 1); ++d) dims.push_back(d + 1);
      }
      v = Value(std::move(dims));
      return;
    }
    case Role::Size: {
      if (v.is_none()) return;
      if (!c.size.is_symbolic() && v.is<std::vector<int64_t>>()) {
        auto& sizes = v.get<std::vector<int64_t>>();
        sizes.insert(sizes.begin(), c.size.expect_int());
        return;
      }
      std::vector<SymInt> sizes{c.size};
      if (v.is<std::vector<SymInt>>())
        for (const SymInt& s : v.get<std::vector<SymInt>>()) sizes.push_back(s);
      else
        for (int64_t s : v.get<std::vector<int64_t>>()) sizes.emplace_back(s);
      v = Value(std::move(sizes));
      return;
    }
    default: return;
  }
}

}  // namespace

void batch_dims(Operator& op, const BatchRule& rule, const BatchContext& c, Stack& stack) {
  const InPlace in_place(op, rule, c, stack);
  const Shape shape = shape_of(rule, stack, c.level);
  bool has_dims = false;
  for (size_t i = 0; i < stack.size(); ++i) {
    has_dims |=
        rule.roles[i] == Role::Dim || rule.roles[i] == Role::Dims ||
        (rule.roles[i] == Role::SomeDims && (stack[i].is_none() || !int_list(stack[i]).empty()));
    shift_dims(stack[i], rule.roles[i], shape, c);
  }
  const bool adds_dim = shape.is_number && has_dims;
  dispatch::map_tensors(stack, [&](const Tensor& t) {
    Tensor v = unwrapped(t, c.level).front_expanded(c.size);
    return adds_dim && v.dim() == 1 ? v.unsqueeze(1) : v;
  });
  const Tensor written = in_place.wrapper.defined() ? stack[0].get<Tensor>() : Tensor();
  call_below(op, stack);
  if (adds_dim && shape.is_result_number)
    dispatch::map_tensors(stack, [&](const Tensor& t) { return t.dim() == 2 ? t.squeeze(1) : t; });
  if (!in_place.finish(adds_dim && written.defined() ? written.squeeze(1) : written))
    wrap_results(c, stack);
}

// ---- into the first dimension ----

namespace {

Value folded_size(const Value& v, const SymInt& batch) {
  std::vector<SymInt> sizes;
  if (v.is<std::vector<SymInt>>())
    sizes = v.get<std::vector<SymInt>>();
  else
    for (int64_t s : v.get<std::vector<int64_t>>()) sizes.emplace_back(s);
  if (!sizes.empty()) sizes[0] *= batch;
  return Value(std::move(sizes));
}

}  // namespace

void batch_fold(Operator& op, const BatchRule& rule, const BatchContext& c, Stack& stack) {
  for (size_t i = 0; i < stack.size(); ++i)
    if (rule.roles[i] == Role::FoldedSize) stack[i] = folded_size(stack[i], c.size);
  dispatch::map_tensors(stack, [&](const Tensor& t) {
    const Tensor all = unwrapped(t, c.level).front_expanded(c.size);
    return all.dim() == 1 ? all : all.flatten(0, 1);
  });
  call_below(op, stack);
  dispatch::map_tensors(
      stack, [&](const Tensor& t) { return t.unflatten(0, {c.size, t.sym_size(0) / c.size}); });
  wrap_results(c, stack);
}

// ---- random ----

bool draws_per_example() {
  const Randomness randomness = batch_context().randomness;
  TAEDA_CHECK(randomness != Randomness::Error,
              "vmap: called random operation while in randomness error mode. Please either use the "
              "'same' or 'different' randomness flags on vmap or perform the randomness operation "
              "out of vmap");
  return randomness == Randomness::Different;
}

void check_same_draw(const Batched& argument) {
  TAEDA_CHECK(!argument.is_batched(),
              "Vmap does not currently support same randomness with a batched tensor input: what "
              "is drawn would differ with it. Ask for randomness='different'.");
}

namespace {

// One draw for all examples.
void draw_same(Operator& op, const BatchRule& rule, const BatchContext& c, Stack& stack) {
  for (size_t i = 0; i < stack.size(); ++i) {
    if (rule.roles[i] != Role::Shape) continue;
    const Batched b = unwrapped(stack[i].get<Tensor>(), c.level);
    if (b.is_batched()) stack[i] = Value(b.value.select(b.dim, 0));
  }
  if (!dispatch::has_wrapper_at(stack, c.level)) return call_below(op, stack);
  for (size_t i = rule.is_inplace ? 1 : 0; i < stack.size(); ++i)
    for_each_tensor(stack[i], [&](const Tensor& t) { check_same_draw(unwrapped(t, c.level)); });
  // In place it is made for the first and copied to the others.
  const Tensor wrapper = stack[0].get<Tensor>();
  Tensor all = unwrapped(wrapper, c.level).front();
  stack[0] = Value(taeda::empty_like(all.select(0, 0)));
  call_below(op, stack);
  all.copy_(stack[0].get<Tensor>());
}

}  // namespace

void batch_random(Operator& op, const BatchRule& rule, const BatchContext& c, Stack& stack) {
  if (!draws_per_example()) return draw_same(op, rule, c, stack);
  TAEDA_CHECK(!rule.is_inplace || dispatch::has_wrapper_at(stack, c.level),
              "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will "
              "appear like same randomness. Draw into a tensor made inside the function, or ask "
              "for randomness='same'.");
  const InPlace in_place(op, rule, c, stack);
  int64_t rank = 0;
  for (size_t i = 0; i < stack.size(); ++i) {
    shift_dims(stack[i], rule.roles[i], {}, c);
    for_each_tensor(stack[i], [&](const Tensor& t) { rank = std::max(rank, t.dim()); });
  }
  dispatch::map_tensors(stack, [&](const Tensor& t) {
    const Batched b = unwrapped(t, c.level);
    return Batched(b.front_expanded(c.size), 0).front_aligned(rank);
  });
  // A fresh result must not be an expanded one: every example draws for itself.
  const Tensor written = in_place.wrapper.defined() ? stack[0].get<Tensor>() : Tensor();
  call_below(op, stack);
  if (!in_place.finish(written)) wrap_results(c, stack);
}

// ---- one by one ----

namespace {

std::atomic<uint64_t> each_count{0};
std::atomic<bool> each_warns{true};

void warn_each(const Operator& op) {
  each_count.fetch_add(1, std::memory_order_relaxed);
  if (!each_warns) return;
  static std::mutex mutex;
  static std::set<std::string> told;
  {
    const std::lock_guard lock(mutex);
    if (!told.insert(op.full_name()).second) return;
  }
  warn(str("There is a performance drop because we have not yet implemented the batching rule for ",
           dispatch::qualified_name(op), ". It runs once for each example."));
}

}  // namespace

uint64_t batch_each_count() { return each_count; }
void set_batch_each_warning(bool on) { each_warns = on; }

void batch_each(Operator& op, const BatchRule&, const BatchContext& c, Stack& stack) {
  const dispatch::Schema schema = dispatch::parse_schema(op.schema);
  const std::string name = dispatch::qualified_name(op);
  for (const auto& a : schema.arguments)
    TAEDA_CHECK(!a.is_written || (!a.is_kwarg_only && !schema.returns.empty()),
                "Batching rule not implemented for ", name,
                "; the fallback path doesn't work on out= or view ops. Calling out variants in "
                "vmap is not supported");
  const bool is_inplace = !schema.arguments.empty() && schema.arguments[0].is_written;
  const Tensor self = is_inplace ? stack[0].get<Tensor>() : Tensor();
  warn_each(op);
  std::vector<std::vector<Tensor>> results;
  std::vector<bool> is_list;
  const int64_t count = c.size.expect_int();  // a call for each: the size of the batch is fixed
  for (int64_t i = 0; i < count; ++i) {
    Stack one = stack;
    dispatch::map_tensors(one, [&](const Tensor& t) {
      const Batched b = unwrapped(t, c.level);
      return b.is_batched() ? b.value.select(b.dim, i) : t;
    });
    const Tensor written = is_inplace ? one[0].get<Tensor>() : Tensor();
    const Tensor before = is_inplace ? written.detach() : Tensor();
    call_below(op, one);
    if (is_inplace) {
      TAEDA_CHECK(written.is_alias_of(before) && written.sym_sizes() == before.sym_sizes(),
                  "Batching rule not implemented for ", name,
                  "; the fallback path doesn't work on operators that give a tensor another "
                  "storage or other sizes.");
      continue;
    }
    size_t at = 0;
    for (const Value& v : one) {
      TAEDA_CHECK(v.is<Tensor>() || v.is<std::vector<Tensor>>(),
                  "Batching rule not implemented for ", name, ", whose result is no tensor");
      for_each_tensor(v, [&](const Tensor& t) {
        if (at == results.size()) results.emplace_back();
        results[at++].push_back(t);
      });
    }
    if (i == count - 1) stack = one;
  }
  TAEDA_CHECK(count > 0, "Batching rule not implemented for ", name,
              ". The fallback path doesn't support vmap over dims of size 0.");
  if (is_inplace) {
    stack.assign(1, Value(self));
    return;
  }
  size_t at = 0;
  dispatch::map_tensors(stack, [&](const Tensor&) {
    return dispatch::make_wrapper(taeda::stack(results[at++]), c.level, 0);
  });
}

void fail_dynamic_batch(std::string_view op) {
  fail(ErrorKind::Runtime,
       "vmap: We do not support batching operators that can output dynamic shape. Attempted to "
       "vmap over aten::",
       op,
       ". The size of its result depends on values, which differ between examples: use "
       "taeda.where, or call it outside vmap.");
}

void batch_forbidden(Operator& op, const BatchRule& rule, const BatchContext&, Stack&) {
  if (rule.error) fail(ErrorKind::Runtime, rule.error);
  fail_dynamic_batch(op.full_name());
}

void batch_unreadable(Operator& op, const BatchRule& rule, const BatchContext& c, Stack& stack) {
  dispatch::plain_value(stack.at(0).get<Tensor>());
  batch_forbidden(op, rule, c, stack);
}

void batch_inplace(Operator& op, const BatchRule& rule, const BatchContext& c, Stack& stack) {
  const InPlace in_place(op, rule, c, stack);
  dispatch::call_boxed(*static_cast<Operator*>(rule.function), stack);
  Tensor self = in_place.wrapper;
  self.copy_(stack.at(0).get<Tensor>());
}

void batch_inplace_view(Operator&, const BatchRule& rule, const BatchContext& c, Stack& stack) {
  const Tensor self = stack.at(0).get<Tensor>();
  dispatch::call_boxed(*static_cast<Operator*>(rule.function), stack);
  const Batched view = unwrapped(stack.at(0).get<Tensor>(), c.level);
  dispatch::update_wrapper(self, view.value, view.dim);
}

}  // namespace taeda
