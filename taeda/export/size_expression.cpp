// Reads and computes size expressions.
#include "taeda/export/size_expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace taeda::exported {

struct SizeExpression::Term {
  enum class Op : uint8_t {
    Number,
    Symbol,
    Add,
    Sub,
    Mul,
    FloorDiv,
    Mod,
    Pow,
    Min,
    Max,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    BitAnd,
    BitOr,
    BitXor
  };
  Op op = Op::Number;
  int64_t number = 0;
  std::string symbol;
  std::shared_ptr<const Term> left, right;
};

namespace {

using Term = SizeExpression::Term;
using TermPtr = std::shared_ptr<const Term>;
using Op = Term::Op;

constexpr int kMaxDepth = 100;
constexpr size_t kMaxLength = 4096;

TermPtr combine(Op op, TermPtr left, TermPtr right) {
  return std::make_shared<Term>(Term{op, 0, "", std::move(left), std::move(right)});
}
TermPtr number_term(int64_t v) { return std::make_shared<Term>(Term{Op::Number, v, "", {}, {}}); }

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  TermPtr whole() {
    TermPtr t = relation();
    skip_space();
    if (at_ != text_.size()) error();
    return t;
  }

 private:
  [[noreturn]] void error() const {
    fail(ErrorKind::Runtime, "cannot read the size expression \"", text_, "\" at character ", at_);
  }
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view token) {
    skip_space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) error();
  }

  TermPtr relation() {
    constexpr std::pair<std::string_view, Op> kRelations[] = {{"<=", Op::Le}, {">=", Op::Ge},
                                                              {"==", Op::Eq}, {"!=", Op::Ne},
                                                              {"<", Op::Lt},  {">", Op::Gt}};
    TermPtr t = bits();
    for (const auto& [sign, op] : kRelations)
      if (take(sign)) return combine(op, t, bits());
    return t;
  }
  // Of the same sign; others stand in parentheses.
  TermPtr bits() {
    constexpr std::pair<std::string_view, Op> kSigns[] = {
        {"&", Op::BitAnd}, {"|", Op::BitOr}, {"^", Op::BitXor}};
    TermPtr t = sum();
    for (const auto& [sign, op] : kSigns)
      while (take(sign)) t = combine(op, t, sum());
    return t;
  }
  TermPtr sum() {
    if (++depth_ > kMaxDepth) error();
    TermPtr t = take("-") ? combine(Op::Sub, number_term(0), product()) : product();
    while (true) {
      if (take("+"))
        t = combine(Op::Add, t, product());
      else if (take("-"))
        t = combine(Op::Sub, t, product());
      else
        break;
    }
    --depth_;
    return t;
  }
  TermPtr product() {
    TermPtr t = power();
    while (true) {
      if (take("//"))
        t = combine(Op::FloorDiv, t, power());
      else if (take("*"))
        t = combine(Op::Mul, t, power());
      else if (take("%"))
        t = combine(Op::Mod, t, power());
      else
        return t;
    }
  }
  TermPtr power() {
    TermPtr t = atom();
    return take("**") ? combine(Op::Pow, t, atom()) : t;
  }
  TermPtr atom() {
    if (take("(")) {
      TermPtr t = relation();
      expect(")");
      return t;
    }
    skip_space();
    const size_t start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    if (word.empty()) error();
    if (!std::isdigit(static_cast<unsigned char>(word[0]))) return named(std::string(word));
    int64_t v = 0;
    const auto r = std::from_chars(word.data(), word.data() + word.size(), v);
    if (r.ec != std::errc() || r.ptr != word.data() + word.size()) error();
    return number_term(v);
  }
  TermPtr named(std::string name) {
    if (!take("(")) return std::make_shared<Term>(Term{Op::Symbol, 0, std::move(name), {}, {}});
    constexpr std::pair<std::string_view, Op> kFunctions[] = {
        {"Mod", Op::Mod}, {"Min", Op::Min},           {"min", Op::Min}, {"Max", Op::Max},
        {"max", Op::Max}, {"FloorDiv", Op::FloorDiv}, {"Eq", Op::Eq},   {"Ne", Op::Ne}};
    const auto* f = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                 [&](const auto& p) { return p.first == name; });
    if (f == std::end(kFunctions)) error();
    TermPtr t = sum();
    do {
      expect(",");
      t = combine(f->second, t, sum());
      skip_space();
    } while (at_ < text_.size() && text_[at_] == ',');
    expect(")");
    return t;
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

SymInt power_of(const SymInt& base, int64_t exponent) {
  TAEDA_CHECK(exponent >= 0 && exponent <= 64, "a size expression has the exponent ", exponent);
  SymInt out = 1;
  for (int64_t i = 0; i < exponent; ++i) out = out * base;
  return out;
}

using ValueOf = FunctionRef<SymInt(const std::string&)>;

SymInt compute(const Term& t, ValueOf value_of) {
  if (t.op == Op::Number) return SymInt(t.number);
  if (t.op == Op::Symbol) return value_of(t.symbol);
  const SymInt a = compute(*t.left, value_of), b = compute(*t.right, value_of);
  switch (t.op) {
    case Op::Add: return a + b;
    case Op::Sub: return a - b;
    case Op::Mul: return a * b;
    case Op::FloorDiv: return a / b;
    case Op::Mod: return a % b;
    case Op::Min: return sym_min(a, b);
    case Op::Max: return sym_max(a, b);
    case Op::Eq: return a == b;
    case Op::Ne: return a != b;
    case Op::Lt: return a < b;
    case Op::Le: return a <= b;
    case Op::Gt: return a > b;
    case Op::Ge: return a >= b;
    case Op::BitAnd: return SymInt(a.expect_int() & b.expect_int());
    case Op::BitOr: return SymInt(a.expect_int() | b.expect_int());
    case Op::BitXor: return SymInt(a.expect_int() ^ b.expect_int());
    default: return power_of(a, b.expect_int());
  }
}

void collect(const Term& t, std::vector<std::string>& out) {
  if (t.op == Op::Symbol && std::find(out.begin(), out.end(), t.symbol) == out.end())
    out.push_back(t.symbol);
  if (t.left) collect(*t.left, out);
  if (t.right) collect(*t.right, out);
}

}  // namespace

SizeExpression SizeExpression::parse(std::string_view text) {
  SizeExpression e;
  TAEDA_CHECK(text.size() <= kMaxLength, "a size expression of ", text.size(),
              " characters is too long");
  e.text_ = text;
  e.term_ = Reader(text).whole();
  return e;
}

std::optional<SizeExpression> SizeExpression::try_parse(std::string_view text) {
  try {
    return parse(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool SizeExpression::is_symbol() const { return term_->op == Op::Symbol; }

std::optional<int64_t> SizeExpression::evaluate(const SymbolValues& values) const {
  for (const std::string& symbol : symbols())
    if (!values.count(symbol)) return std::nullopt;
  return build([&](const std::string& symbol) { return SymInt(values.at(symbol)); }).expect_int();
}

SymInt SizeExpression::build(ValueOf value_of) const { return compute(*term_, value_of); }

std::vector<std::string> SizeExpression::symbols() const {
  std::vector<std::string> out;
  collect(*term_, out);
  return out;
}

}  // namespace taeda::exported
