// The symbols of a program's sizes, made from their names.
#pragma once

#include <map>

#include "taeda/export/signature.h"
#include "taeda/fx/shapes/shape_env.h"

namespace taeda::exported {

// Reads symbolic sizes in a graph's text: pass it to fx::parse_graph. Equal names are one symbol,
// with the range the signature gives it.
class TAEDA_API SizeSymbols {
 public:
  // `hints`: values that the symbols had once, by which questions without another answer are
  // answered; others get a number that is neither 0 nor 1.
  explicit SizeSymbols(const std::vector<std::pair<std::string, SizeRange>>& ranges = {},
                       std::map<std::string, int64_t> hints = {});
  fx::Value operator()(std::string_view expression);
  // RuntimeError for a text that is no expression.
  const fx::Expr* parse(std::string_view expression);
  const IntrusivePtr<fx::ShapeEnv>& env() const { return env_; }

 private:
  const fx::Expr* symbol(const std::string& name);

  IntrusivePtr<fx::ShapeEnv> env_;
  std::unordered_map<std::string, SizeRange> ranges_;
  std::map<std::string, int64_t> hints_;
};

}  // namespace taeda::exported
