// Symbols by name, in a shape environment of their own.
#include "taeda/export/size_symbols.h"

#include <algorithm>

#include "taeda/export/size_expression.h"

namespace taeda::exported {

SizeSymbols::SizeSymbols(const std::vector<std::pair<std::string, SizeRange>>& ranges)
    : env_(make_intrusive<fx::ShapeEnv>()), ranges_(ranges.begin(), ranges.end()) {
  for (const auto& [name, range] : ranges)
    TAEDA_CHECK(range.low >= 0 && range.low <= range.high, "the range of the symbol ", name,
                " is empty or negative: [", range.low, ", ", range.high, "]");
}

fx::Value SizeSymbols::operator()(std::string_view expression) {
  const std::optional<SizeExpression> size = SizeExpression::try_parse(expression);
  if (size) return size->build([&](const std::string& name) { return symbol(name); });
  // A number of which nothing but its text is known.
  return symbol(std::string(expression));
}

SymInt SizeSymbols::symbol(const std::string& name) {
  const auto it = known_.find(name);
  if (it != known_.end()) return it->second;
  const auto given = ranges_.find(name);
  const SizeRange range = given == ranges_.end() ? SizeRange() : given->second;
  // Contiguity is asked of a size whose value nobody knows yet: any but 0 and 1 gives the answer of
  // the general case.
  const int64_t hint = std::clamp<int64_t>(1009, range.low, range.high);
  const fx::IntRange bounds{range.low, std::min(range.high, fx::IntRange::kMax)};
  const fx::Expr* symbol = env_->pool().symbol(name, SymKind::Int, bounds, fx::ExprValue::of(hint));
  return known_.emplace(name, env_->symint(symbol)).first->second;
}

}  // namespace taeda::exported
