// Symbols by name, in a shape environment of their own.
#include "taeda/export/size_symbols.h"

#include <algorithm>

#include "taeda/symbolic/parse.h"

namespace taeda::exported {

SizeSymbols::SizeSymbols(const std::vector<std::pair<std::string, SizeRange>>& ranges,
                         std::map<std::string, int64_t> hints)
    : env_(make_intrusive<fx::ShapeEnv>()),
      ranges_(ranges.begin(), ranges.end()),
      hints_(std::move(hints)) {
  for (const auto& [name, range] : ranges)
    TAEDA_CHECK(range.low >= 0 && range.low <= range.high, "the range of the symbol ", name,
                " is empty or negative: [", range.low, ", ", range.high, "]");
}

fx::Value SizeSymbols::operator()(std::string_view expression) {
  const fx::Expr* e = nullptr;
  try {
    e = parse(expression);
  } catch (const Error&) {
  }
  // A number of which nothing but its text is known: it may be too long, or its hint too large.
  if (!e || e->kind != SymKind::Int) e = symbol(std::string(expression));
  return env_->symint(e);
}

const fx::Expr* SizeSymbols::parse(std::string_view expression) {
  return symbolic::parse(env_->pool(), expression,
                         [&](const std::string& name) { return symbol(name); });
}

const fx::Expr* SizeSymbols::symbol(const std::string& name) {
  const SymKind kind = fx::ShapeEnv::kind_of_name(name);
  if (kind == SymKind::Float) return env_->pool().symbol(name, kind, {}, fx::ExprValue::of(1009.0));
  const auto given = ranges_.find(name);
  const SizeRange range = given == ranges_.end() ? SizeRange() : given->second;
  // Contiguity is asked of a size whose value nobody knows yet: any but 0 and 1 gives the answer of
  // the general case.
  const int64_t low = std::min(std::max(range.low, range.assumed_low), range.high);
  const auto known = hints_.find(name);
  const int64_t hint =
      std::clamp<int64_t>(known == hints_.end() ? 1009 : known->second, low, range.high);
  const fx::IntRange bounds{low, std::min(range.high, fx::IntRange::kMax)};
  return env_->pool().symbol(name, kind, bounds, fx::ExprValue::of(hint));
}

}  // namespace taeda::exported
