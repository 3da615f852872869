// The stack of transforms and the wrappers its levels put around tensors.
#include "taeda/dispatch/levels.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "taeda/dispatch/composites.h"
#include "taeda/dispatch/dispatcher.h"
#include "taeda/dispatch/foreign_wrappers.h"
#include "taeda/dispatch/modes.h"

namespace taeda::dispatch {
namespace {

LevelHandler handlers[4] = {};
// No small number, of which Python has one object for all: captures know levels by their objects.
std::atomic<uint64_t> next_id{1 << 10};

// Ids of the thread's levels that keep composites.
std::vector<uint64_t>& keeping() {
  static thread_local std::vector<uint64_t> ids;
  return ids;
}

void take_geometry(TensorImpl* wrapper, const Tensor& value, int64_t batch_dim) {
  SymIntVec sizes(value.sym_sizes()), strides(value.sym_strides());
  if (batch_dim >= 0) {
    sizes.erase(static_cast<size_t>(batch_dim));
    strides.erase(static_cast<size_t>(batch_dim));
  }
  wrapper->set_sym_geometry(sizes, strides, value.impl()->sym_storage_offset());
}

// Levels taken off by BelowLevel, the one taken off last at the end.
std::vector<Level>& suspended() {
  static thread_local std::vector<Level> levels;
  return levels;
}

// Note [Suspended levels]: outside a level its wrappers do not occur, but for one case: a plain
// tensor whose tangent is a wrapper. The forward rule of an operator on it runs outside and meets
// the tangent. The levels from the tangent's on are then put back for that call.
class Resume {
 public:
  // From position `from` of the suspended levels on.
  explicit Resume(size_t from) : keys_(local_keys()) {
    std::vector<Level>& off = suspended();
    count_ = off.size() - from;
    for (size_t i = 0; i < count_; ++i) {
      dispatch_detail::levels().push_back(off.back());
      off.pop_back();
    }
    sync_front_key();
  }
  ~Resume() {
    for (size_t i = 0; i < count_; ++i) {
      suspended().push_back(top_level());
      dispatch_detail::levels().pop_back();
    }
    local_keys() = keys_;
  }
  Resume(const Resume&) = delete;

 private:
  size_t count_;
  LocalKeys keys_;
};

// Where the suspended levels that the arguments belong to begin; their number if there is none.
size_t first_suspended(const Stack& stack) {
  const std::vector<Level>& off = suspended();
  size_t first = off.size();
  for (const Value& v : stack) {
    for_each_tensor(v, [&](const Tensor& t) {
      const LevelWrapper* w = wrapper_of(t);
      if (!w || level_depth(w->level) > 0) return;
      for (size_t i = 0; i < first; ++i)
        if (off[i].id == w->level) first = i;
    });
  }
  return first;
}

thread_local constinit const ReplaceForeign* replacing = nullptr;

bool takes_composites() {
  if (num_levels() == 0) return has_mode_before_autograd();
  return std::find(keeping().begin(), keeping().end(), top_level().id) != keeping().end();
}

}  // namespace

void run_at_front(const Operator& op, KeySet keys, Stack& stack, void*) {
  Operator& callee = const_cast<Operator&>(op);
  if (replacing) map_tensors(stack, *replacing);
  if (op.is_composite && !takes_composites())
    return callee.call_boxed(callee, keys & KeySet::below(Key::TransformFront), stack);
  if (!suspended().empty()) {
    if (const size_t first = first_suspended(stack); first < suspended().size()) {
      const Resume resumed(first);
      return call_boxed(callee, stack);
    }
  }
  map_tensors(stack, [](const Tensor& t) { return strip_dead(t); });
  if (num_levels() == 0) {
    if (!has_mode_before_autograd()) return call_boxed(callee, stack);
    if (!offer_before_autograd(callee, stack)) call_below_front(callee, stack);
    return;
  }
  handlers[static_cast<int>(top_level().kind)](callee, stack);
}

namespace {

const bool is_levels_fallback_registered = [] {
  set_builtin_fallback(Key::TransformFront, {&run_at_front, nullptr},
                       "the innermost function transform");
  return true;
}();

}  // namespace

namespace dispatch_detail {
std::vector<Level>& levels() {
  static thread_local std::vector<Level> stack;
  return stack;
}
}  // namespace dispatch_detail

void sync_front_key() {
  LocalKeys& keys = local_keys();
  const bool is_needed = num_levels() > 0 || has_mode_before_autograd();
  keys.include = is_needed ? keys.include | KeySet(Key::TransformFront)
                           : keys.include - KeySet(Key::TransformFront);
}

size_t level_depth(uint64_t id) {
  const std::vector<Level>& levels = dispatch_detail::levels();
  for (size_t i = levels.size(); i > 0; --i)
    if (levels[i - 1].id == id) return i;
  return 0;
}

Level& push_level(LevelKind kind) {
  Level level;
  level.id = next_id++;
  level.kind = kind;
  level.outer_keys = local_keys();
  dispatch_detail::levels().push_back(level);
  sync_front_key();
  return top_level();
}

void pop_level(uint64_t id) {
  TAEDA_CHECK(num_levels() > 0 && top_level().id == id,
              "function transforms must end in the reverse order of their start");
  dispatch_detail::levels().pop_back();
  std::erase(keeping(), id);
  sync_front_key();
}

void keep_composites(uint64_t level) {
  show_composites();
  keeping().push_back(level);
}

Tensor make_wrapper(Tensor value, uint64_t level, int64_t batch_dim) {
  constexpr KeySet kept = KeySet::backends() | KeySet(Key::Dense) | KeySet(Key::Conjugate) |
                          KeySet(Key::Negative) | KeySet(Key::ADInplaceOrView);
  const KeySet keys =
      (value.keys() & kept) | KeySet(Key::TransformFront) | KeySet(Key::TransformBack);
  auto impl = make_intrusive<TensorImpl>(value.storage(), value.dtype(), keys);
  impl->set_wrapped_number(value.impl()->is_wrapped_number());
  take_geometry(impl.get(), value, batch_dim);
  if (const TensorExtra* x = value.impl()->extra_or_null()) {
    impl->extra().fake_device = x->fake_device;
    impl->extra().version = x->version;
  }
  impl->extra().wrapper = make_intrusive<LevelWrapper>(level, std::move(value), batch_dim);
  return Tensor(std::move(impl));
}

void update_wrapper(const Tensor& wrapper, Tensor value, int64_t batch_dim) {
  auto* w = const_cast<LevelWrapper*>(wrapper_of(wrapper));
  take_geometry(wrapper.impl(), value, batch_dim);
  if (wrapper.storage() != value.storage()) wrapper.impl()->set_storage(value.storage());
  w->value = std::move(value);
  w->batch_dim = batch_dim;
}

Tensor strip_dead(const Tensor& t) {
  const LevelWrapper* w = wrapper_of(t);
  if (!w || level_depth(w->level) > 0) return t;
  TAEDA_CHECK(
      w->batch_dim < 0,
      "your tensor may have escaped from inside a function being vmapped and this is a user "
      "error: it was used after that vmap had ended. A function under vmap must return "
      "what it computes, not keep it elsewhere.");
  return strip_dead(w->value);
}

bool has_wrapper_at(const Stack& stack, uint64_t level) {
  bool found = false;
  for (const Value& v : stack)
    for_each_tensor(v, [&](const Tensor& t) { found |= wrapper_at(t, level) != nullptr; });
  return found;
}

bool is_batched(const Tensor& t) {
  const LevelWrapper* w = wrapper_of(t);
  return w && (w->batch_dim >= 0 || is_batched(w->value));
}

Tensor plain_value(const Tensor& t) {
  const LevelWrapper* w = wrapper_of(t);
  if (!w) return t;
  TAEDA_CHECK(w->batch_dim < 0,
              "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over "
              "calling .item() on a Tensor, please try to rewrite what you're doing with other "
              "operations. If error is occurring somewhere inside PyTorch internals, please file a "
              "bug report.");
  return plain_value(w->value);
}

BelowLevel::BelowLevel(LocalKeys keys) : level_(top_level()), saved_(local_keys()) {
  dispatch_detail::levels().pop_back();
  suspended().push_back(level_);
  local_keys() = keys;
  sync_front_key();
  sync_mode_key();
}

BelowLevel::~BelowLevel() {
  suspended().pop_back();
  dispatch_detail::levels().push_back(level_);
  local_keys() = saved_;
}

BelowAllLevels::BelowAllLevels() : saved_(local_keys()) {
  std::vector<Level>& levels = dispatch_detail::levels();
  if (!levels.empty()) local_keys() = levels.front().outer_keys;
  levels_.swap(levels);
  sync_front_key();
  sync_mode_key();
}

BelowAllLevels::~BelowAllLevels() {
  dispatch_detail::levels().swap(levels_);
  local_keys() = saved_;
}

ReplaceForeign::ReplaceForeign(Replacement replacement)
    : replacement_(std::move(replacement)),
      first_own_(next_id.load()),
      saved_(std::exchange(replacing, this)) {}

ReplaceForeign::~ReplaceForeign() { replacing = saved_; }

Tensor ReplaceForeign::operator()(const Tensor& t) const {
  const LevelWrapper* w = wrapper_of(t);
  if (!w || w->level >= first_own_) return t;
  const auto is_level = [&](const Level& level) { return level.id == w->level; };
  const std::vector<Level>& off = suspended();
  return std::any_of(off.begin(), off.end(), is_level) ? replacement_(t) : t;
}

void set_level_handler(LevelKind kind, LevelHandler handler) {
  handlers[static_cast<int>(kind)] = handler;
}

}  // namespace taeda::dispatch
