#include "taeda/fx/effects.h"

#include <atomic>
#include <mutex>
#include <unordered_set>

namespace taeda::fx {

namespace {

struct Effectful {
  std::mutex mutex;
  std::unordered_set<const dispatch::Operator*> operators;
  std::atomic<bool> is_empty = true;
};

Effectful& effectful() {
  static Effectful* const all = new Effectful;
  return *all;
}

}  // namespace

void set_effectful(const dispatch::Operator& op, bool on) {
  Effectful& all = effectful();
  const std::lock_guard lock(all.mutex);
  if (on) {
    all.operators.insert(&op);
  } else {
    all.operators.erase(&op);
  }
  all.is_empty = all.operators.empty();
}

bool is_effectful(const dispatch::Operator& op) {
  Effectful& all = effectful();
  if (all.is_empty) return false;
  const std::lock_guard lock(all.mutex);
  return all.operators.contains(&op);
}

}  // namespace taeda::fx
