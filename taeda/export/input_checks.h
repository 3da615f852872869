// Conditions on the inputs of an exported program, found once and checked at every call.
#pragma once

#include <memory>
#include <variant>

#include "taeda/export/signature.h"
#include "taeda/fx/graph.h"
#include "taeda/symbolic/polynomial.h"

namespace taeda::exported {

class TAEDA_API InputChecks {
 public:
  InputChecks() = default;
  // From the types of the placeholders of the caller's inputs, and the symbols of the signature.
  InputChecks(const fx::Graph& graph, const Signature& signature);

  // AssertionError `Guard failed: x.size()[0] == 2` for the first condition that does not hold,
  // TypeError for another number of inputs. Device indices and strides are not compared. Threads
  // may check at once. Gives the values of the symbols.
  std::vector<int64_t> check(const std::vector<fx::Value>& inputs) const;

  // The symbols of the inputs' sizes, in the order in which the inputs name them.
  const std::vector<const symbolic::Expr*>& symbols() const { return symbols_; }

 private:
  // An expression of symbols, and its form where it is one of a single symbol: 8*s0 + 1.
  struct Symbolic {
    const symbolic::Expr* expr;
    symbolic::Affine affine;
  };
  using Size = std::variant<int64_t, Symbolic>;
  struct Tensors {
    DType dtype;
    DeviceType device;
    std::vector<Size> sizes;
  };
  struct Input {
    std::string name;
    std::variant<Tensors, Symbolic, fx::Arg> expected;
  };
  struct Range {
    const symbolic::Expr* size;
    SizeRange range;
  };
  struct Condition {
    std::string text;  // as the signature writes it
    const symbolic::Expr* expr;
  };
  struct Binding;

  Symbolic read(const std::string& text);
  Symbolic read_input(const SymInt& size);  // notes its symbols

  // The symbols have no bounds here, so that every rule of simplification holds for any input.
  std::shared_ptr<symbolic::ExprPool> pool_;
  std::vector<Input> inputs_;
  std::vector<Range> ranges_;
  std::vector<Condition> conditions_;
  std::vector<const symbolic::Expr*> symbols_;
};

}  // namespace taeda::exported
