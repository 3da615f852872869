// The table of rules for results whose sizes only data tells.
#include "taeda/ops/counted.h"

#include <unordered_map>
#include <utility>

namespace taeda {
namespace {

using RuleTable = std::unordered_map<const dispatch::Operator*, const CountedRule*>;

// Definitions add to it before main; it is never destroyed, as it may be read at exit.
RuleTable& counted_rules() {
  static auto* const table = new RuleTable;
  return *table;
}

thread_local constinit const CountFn* current_count = nullptr;

}  // namespace

void CountedRule::add() { counted_rules()[&op_] = this; }

const CountedRule* find_counted_rule(const dispatch::Operator& op) {
  const auto it = counted_rules().find(&op);
  return it == counted_rules().end() ? nullptr : it->second;
}

void CountedRule::operator()(dispatch::Stack& stack, CountFn count) const {
  struct Scope {
    const CountFn* saved;
    ~Scope() { current_count = saved; }
  } scope{std::exchange(current_count, &count)};
  call_(op_, KeySet(), stack, fn_);
}

SymInt new_count(const UnknownCount& wanted) {
  TAEDA_INTERNAL_CHECK(current_count, "new_count: no rule runs on this thread");
  return (*current_count)(wanted);
}

}  // namespace taeda
