// How expressions print: for people, and as Python over sources.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "taeda/base/str.h"
#include "taeda/symbolic/expr.h"

namespace taeda::symbolic {
namespace {

// How tightly an operator binds; operands that bind less get parentheses.
enum Binding : int { kLoose, kRelation, kSum, kProduct, kPower, kAtom };

// Functions that nothing is known of, in PyTorch's notation.
constexpr const char* kUnary = "OpaqueUnaryFn_";
constexpr const char* kBinary = "OpaqueBinaryFn_";

std::string number_text(double v) {
  if (std::isinf(v)) return v < 0 ? "-oo" : "oo";
  char buffer[32];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(buffer, sizeof buffer, "%.*g", digits, v);
    if (std::strtod(buffer, nullptr) == v || std::isnan(v)) break;
  }
  std::string out = buffer;
  if (out.find_first_of(".en") == std::string::npos) out += ".0";
  return out;
}

class Printer {
 public:
  explicit Printer(const SymbolNames& names) : names_(names) {}
  virtual ~Printer() = default;

  // The text, in parentheses where the operator binds less than `outer`.
  std::string print(const Expr* e, int outer) const {
    auto [text, binding] = parts(e);
    return binding < outer ? "(" + text + ")" : text;
  }

 protected:
  using Text = std::pair<std::string, int>;

  // The operations that the two notations write differently.
  virtual Text special(const Expr* e) const = 0;

  std::string joined(const Expr* e, const char* separator, int binding) const {
    std::string out;
    for (const Expr* a : e->args) out += (out.empty() ? "" : separator) + print(a, binding);
    return out;
  }
  std::string called(const char* function, const Expr* e) const {
    return std::string(function) + "(" + joined(e, ", ", kLoose) + ")";
  }
  Text infix(const Expr* e, const char* op, int binding) const {
    return {print(e->args[0], binding) + op + print(e->args[1], binding + 1), binding};
  }
  // Of two operands that are no relations themselves: a < b < c is another thing in Python.
  Text relation(const Expr* e, const char* op) const {
    return {print(e->args[0], kSum) + op + print(e->args[1], kSum), kRelation};
  }

 private:
  Text constant(const Expr* e) const {
    if (e->kind == SymKind::Bool) return {e->value.integer ? "True" : "False", kAtom};
    const std::string text =
        e->kind == SymKind::Float ? number_text(e->value.number) : std::to_string(e->value.integer);
    return {text, text[0] == '-' ? kSum : kAtom};
  }

  Text sum(const Expr* e) const {
    std::vector<std::string> terms;
    for (const Expr* a : e->args) terms.push_back(print(a, kSum));
    // A sum starts with a term that needs no sign: 7 - s0.
    const auto first =
        std::find_if(terms.begin(), terms.end(), [](const std::string& t) { return t[0] != '-'; });
    if (first != terms.end()) std::rotate(terms.begin(), first, first + 1);
    std::string out = terms[0];
    for (size_t i = 1; i < terms.size(); ++i)
      out += terms[i][0] == '-' ? " - " + terms[i].substr(1) : " + " + terms[i];
    return {out, kSum};
  }

  Text product(const Expr* e) const {
    std::string out;
    bool is_negative = false;
    for (const Expr* a : e->args) {
      if (a->is_constant(-1)) {
        is_negative = true;
        continue;
      }
      if (a->is_constant()) {
        is_negative = a->value.integer < 0;
        out = std::to_string(a->value.integer).substr(is_negative);
      } else {
        out += (out.empty() ? "" : "*") + print(a, kPower);
      }
    }
    return is_negative ? Text("-" + out, kSum) : Text(out, kProduct);
  }

  Text parts(const Expr* e) const {
    switch (e->op) {
      case ExprOp::Constant: return constant(e);
      case ExprOp::Symbol: {
        const auto it = names_.find(e);
        return {it == names_.end() ? e->name : it->second, kAtom};
      }
      case ExprOp::Add: return sum(e);
      case ExprOp::Mul: return product(e);
      case ExprOp::Pow:
      case ExprOp::IntPow:
      case ExprOp::FloatPow:
        return {print(e->args[0], kAtom) + "**" + print(e->args[1], kAtom), kPower};
      case ExprOp::FloatAdd: return infix(e, " + ", kSum);
      case ExprOp::FloatSub: return infix(e, " - ", kSum);
      case ExprOp::FloatMul: return infix(e, "*", kProduct);
      case ExprOp::Lt: return relation(e, " < ");
      case ExprOp::Le: return relation(e, " <= ");
      case ExprOp::Gt: return relation(e, " > ");
      case ExprOp::Ge: return relation(e, " >= ");
      default: return special(e);
    }
  }

  const SymbolNames& names_;
};

class ShownPrinter final : public Printer {
 public:
  using Printer::Printer;

 private:
  Text special(const Expr* e) const override {
    if (is_math(e->op)) {
      const MathFunction& f = math_function(e->op);
      return {called(str(f.num_args == 1 ? kUnary : kBinary, f.name).c_str(), e), kAtom};
    }
    switch (e->op) {
      case ExprOp::FloorDiv:
        return {"(" + print(e->args[0], kAtom) + "//" + print(e->args[1], kAtom) + ")", kAtom};
      case ExprOp::Mod: return {called("Mod", e), kAtom};
      case ExprOp::Min: return {called("Min", e), kAtom};
      case ExprOp::Max: return {called("Max", e), kAtom};
      case ExprOp::BitAnd: return {called("BitwiseFn_bitwise_and", e), kAtom};
      case ExprOp::BitOr: return {called("BitwiseFn_bitwise_or", e), kAtom};
      case ExprOp::BitXor: return {called("BitwiseFn_bitwise_xor", e), kAtom};
      case ExprOp::FloatDiv: return {called("FloatTrueDiv", e), kAtom};
      case ExprOp::IntTrueDiv: return {called("IntTrueDiv", e), kAtom};
      case ExprOp::ToFloat: return {called("ToFloat", e), kAtom};
      case ExprOp::RoundDecimal: return {called("RoundDecimal", e), kAtom};
      case ExprOp::Sqrt: return {called("OpaqueUnaryFn_sqrt", e), kAtom};
      case ExprOp::FloorToInt: return {called("FloorToInt", e), kAtom};
      case ExprOp::CeilToInt: return {called("CeilToInt", e), kAtom};
      case ExprOp::RoundToInt: return {called("RoundToInt", e), kAtom};
      case ExprOp::TruncToInt: return {called("TruncToInt", e), kAtom};
      case ExprOp::Eq: return {called("Eq", e), kAtom};
      case ExprOp::Ne: return {called("Ne", e), kAtom};
      case ExprOp::And: return {joined(e, " & ", kSum), kLoose};
      case ExprOp::Or: return {joined(e, " | ", kSum), kLoose};
      case ExprOp::Not: return {"~" + print(e->args[0], kAtom), kAtom};
      default:
        return {"Piecewise((" + print(e->args[1], kLoose) + ", " + print(e->args[0], kLoose) +
                    "), (" + print(e->args[2], kLoose) + ", True))",
                kAtom};
    }
  }
};

class PythonPrinter final : public Printer {
 public:
  using Printer::Printer;

 private:
  Text special(const Expr* e) const override {
    if (is_math(e->op)) return {called(str("math.", math_function(e->op).name).c_str(), e), kAtom};
    switch (e->op) {
      case ExprOp::FloorDiv: return infix(e, "//", kProduct);
      case ExprOp::Mod: return infix(e, " % ", kProduct);
      case ExprOp::Min: return {called("min", e), kAtom};
      case ExprOp::Max: return {called("max", e), kAtom};
      case ExprOp::BitAnd: return {"(" + joined(e, " & ", kSum) + ")", kAtom};
      case ExprOp::BitOr: return {"(" + joined(e, " | ", kSum) + ")", kAtom};
      case ExprOp::BitXor: return {"(" + joined(e, " ^ ", kSum) + ")", kAtom};
      case ExprOp::FloatDiv:
      case ExprOp::IntTrueDiv: return infix(e, " / ", kProduct);
      case ExprOp::ToFloat: return {called("float", e), kAtom};
      case ExprOp::RoundDecimal: return {called("round", e), kAtom};
      case ExprOp::Sqrt: return {called("math.sqrt", e), kAtom};
      case ExprOp::FloorToInt: return {called("math.floor", e), kAtom};
      case ExprOp::CeilToInt: return {called("math.ceil", e), kAtom};
      case ExprOp::RoundToInt: return {called("round", e), kAtom};
      case ExprOp::TruncToInt: return {called("math.trunc", e), kAtom};
      case ExprOp::Eq: return relation(e, " == ");
      case ExprOp::Ne: return relation(e, " != ");
      case ExprOp::And: return {joined(e, " and ", kSum), kLoose};
      case ExprOp::Or: return {joined(e, " or ", kSum), kLoose};
      case ExprOp::Not: return {"not " + print(e->args[0], kAtom), kLoose};
      default:
        return {print(e->args[1], kSum) + " if " + print(e->args[0], kSum) + " else " +
                    print(e->args[2], kSum),
                kLoose};
    }
  }
};

}  // namespace

std::string text_of(const Expr* e) { return text_of(e, {}); }

std::string text_of(const Expr* e, const SymbolNames& names) {
  return ShownPrinter(names).print(e, kLoose);
}

std::string python_text_of(const Expr* e, const SymbolNames& names) {
  return PythonPrinter(names).print(e, kLoose);
}

}  // namespace taeda::symbolic
