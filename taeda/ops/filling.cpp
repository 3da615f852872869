// Looks operators that fill up.
#include "taeda/ops/filling.h"

#include <unordered_set>

namespace taeda {

bool fills_repeats(const dispatch::Operator& op) {
  static const auto* const all = [] {
    auto* const made = new std::unordered_set<const dispatch::Operator*>;
    for_each_filling_operator([&](dispatch::Operator& each) { made->insert(&each); });
    return made;
  }();
  return all->count(&op) != 0;
}

}  // namespace taeda
