// The symbols of a program's sizes, made from their names.
#pragma once

#include "taeda/export/signature.h"
#include "taeda/fx/shapes/shape_env.h"

namespace taeda::exported {

// Reads symbolic sizes in a graph's text: pass it to fx::parse_graph. Equal names are one symbol,
// with the range the signature gives it.
class TAEDA_API SizeSymbols {
 public:
  explicit SizeSymbols(const std::vector<std::pair<std::string, SizeRange>>& ranges = {});
  fx::Value operator()(std::string_view expression);

 private:
  const fx::Expr* symbol(const std::string& name);

  IntrusivePtr<fx::ShapeEnv> env_;
  std::unordered_map<std::string, SizeRange> ranges_;
};

}  // namespace taeda::exported
