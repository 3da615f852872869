// The table of decompositions.
#include "taeda/ops/decompositions.h"

#include <mutex>
#include <unordered_map>

namespace taeda {
namespace {

struct Table {
  std::mutex mutex;
  std::unordered_map<const dispatch::Operator*, const Decomposition*> of;
};

// Definitions add to it before main; it is never destroyed, as they may be read at exit.
Table& table() {
  static auto* const t = new Table;
  return *t;
}

}  // namespace

void Decomposition::add() {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  const Decomposition*& place = t.of[&op_];
  if (!place || place->origin_ == Origin::Explicit) place = this;
}

const Decomposition* find_decomposition(const dispatch::Operator& op) {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  const auto it = t.of.find(&op);
  return it == t.of.end() ? nullptr : it->second;
}

std::vector<const Decomposition*> all_decompositions() {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  std::vector<const Decomposition*> all;
  for (const auto& [op, d] : t.of) all.push_back(d);
  return all;
}

}  // namespace taeda
