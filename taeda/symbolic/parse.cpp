// A reader by recursive descent, one function for each strength of binding.
#include "taeda/symbolic/parse.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace taeda::symbolic {
namespace {

constexpr size_t kMaxLength = 4096;
constexpr int kMaxDepth = 200;
constexpr int kMaxOperands = 512;
// Of Min and Max, which compare each with each.
constexpr size_t kMaxCompared = 128;
// Nodes of an expression, counted as a tree: multiplying out repeats factors.
constexpr uint32_t kMaxSize = 1 << 16;

// The expression of a function call.
enum class Takes : uint8_t { Integers, Floats, Numbers, FloatAndDigits, Alike };

struct Function {
  std::string_view name;
  ExprOp op;
  size_t num_args;
  Takes takes;
  bool takes_more = false;
};

constexpr Function kFunctions[] = {
    {"Mod", ExprOp::Mod, 2, Takes::Numbers},
    {"FloorDiv", ExprOp::FloorDiv, 2, Takes::Numbers},
    {"Min", ExprOp::Min, 2, Takes::Numbers, true},
    {"min", ExprOp::Min, 2, Takes::Numbers, true},
    {"Max", ExprOp::Max, 2, Takes::Numbers, true},
    {"max", ExprOp::Max, 2, Takes::Numbers, true},
    {"BitwiseFn_bitwise_and", ExprOp::BitAnd, 2, Takes::Integers},
    {"BitwiseFn_bitwise_or", ExprOp::BitOr, 2, Takes::Integers},
    {"BitwiseFn_bitwise_xor", ExprOp::BitXor, 2, Takes::Integers},
    {"FloatTrueDiv", ExprOp::FloatDiv, 2, Takes::Floats},
    {"IntTrueDiv", ExprOp::IntTrueDiv, 2, Takes::Integers},
    {"OpaqueUnaryFn_sqrt", ExprOp::Sqrt, 1, Takes::Floats},
    {"math.sqrt", ExprOp::Sqrt, 1, Takes::Floats},
    {"FloorToInt", ExprOp::FloorToInt, 1, Takes::Floats},
    {"math.floor", ExprOp::FloorToInt, 1, Takes::Floats},
    {"CeilToInt", ExprOp::CeilToInt, 1, Takes::Floats},
    {"math.ceil", ExprOp::CeilToInt, 1, Takes::Floats},
    {"TruncToInt", ExprOp::TruncToInt, 1, Takes::Floats},
    {"math.trunc", ExprOp::TruncToInt, 1, Takes::Floats},
    {"RoundToInt", ExprOp::RoundToInt, 1, Takes::Floats},
    {"round", ExprOp::RoundToInt, 1, Takes::Floats},
    {"RoundDecimal", ExprOp::RoundDecimal, 2, Takes::FloatAndDigits},
    {"round", ExprOp::RoundDecimal, 2, Takes::FloatAndDigits},
    {"Eq", ExprOp::Eq, 2, Takes::Alike},
    {"Ne", ExprOp::Ne, 2, Takes::Alike},
};

constexpr std::string_view kReserved[] = {"and", "or", "not", "if", "else", "Piecewise"};

std::optional<ExprOp> math_named(std::string_view name, size_t num_args) {
  for (const std::string_view prefix : {"OpaqueUnaryFn_", "OpaqueBinaryFn_", "math."}) {
    if (!name.starts_with(prefix)) continue;
    const Span<MathFunction> all = math_functions();
    for (size_t i = 0; i < all.size(); ++i)
      if (name.substr(prefix.size()) == all[i].name && all[i].num_args == num_args)
        return math_op(i);
  }
  return std::nullopt;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_word_start(c) || is_digit(c); }

class Reader {
 public:
  Reader(ExprPool& pool, std::string_view text, SymbolOf symbol_of)
      : pool_(pool), text_(text), symbol_of_(symbol_of) {
    if (text.size() > kMaxLength) error("it is too long");
  }

  const Expr* whole() {
    const Expr* e = expression();
    skip_space();
    if (at_ != text_.size()) error("an operator is missing");
    return e;
  }

 private:
  // Counts the brackets and operators open around an operand.
  class Nested {
   public:
    explicit Nested(Reader& reader) : reader_(reader) {
      if (++reader.depth_ > kMaxDepth) reader.error("it is nested too deeply");
    }
    ~Nested() { --reader_.depth_; }
    Nested(const Nested&) = delete;

   private:
    Reader& reader_;
  };

  // ---- the text ----
  [[noreturn]] void error(const char* what) const {
    fail(ErrorKind::Runtime, "cannot read the expression \"", text_.substr(0, 200), "\" at column ",
         at_ + 1, ": ", what);
  }
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(std::string_view sign) {
    skip_space();
    if (!text_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }
  bool take_word(std::string_view word) {
    const size_t start = at_;
    if (take(word) && !is_word(peek())) return true;
    at_ = start;
    return false;
  }
  void expect(std::string_view sign, const char* what) {
    if (!take(sign)) error(what);
  }

  // ---- kinds ----
  const Expr* number(const Expr* e) {
    return e->kind == SymKind::Bool ? pool_.where(e, pool_.integer(1), pool_.integer(0)) : e;
  }
  const Expr* to_float(const Expr* e) {
    return e->kind == SymKind::Float ? e : pool_.to_float(number(e));
  }
  const Expr* integer(const Expr* e) {
    if (e->kind == SymKind::Float) error("an integer is expected, not a float");
    return number(e);
  }
  const Expr* truth(const Expr* e) {
    if (e->kind != SymKind::Bool) error("a condition is expected, not a number");
    return e;
  }
  const Expr* checked(const Expr* e) {
    const bool is_extremum = e->op == ExprOp::Min || e->op == ExprOp::Max;
    if (e->size > kMaxSize || (is_extremum && e->args.size() > kMaxCompared))
      error("it is too large");
    return e;
  }
  const Expr* make(ExprOp op, const Expr* a, const Expr* b) {
    return checked(pool_.make(op, a, b));
  }

  static bool is_any_float(const Expr* a, const Expr* b) {
    return a->kind == SymKind::Float || b->kind == SymKind::Float;
  }
  const Expr* of_numbers(ExprOp on_integers, ExprOp on_floats, const Expr* a, const Expr* b) {
    return is_any_float(a, b) ? make(on_floats, to_float(a), to_float(b))
                              : make(on_integers, number(a), number(b));
  }
  const Expr* difference(const Expr* a, const Expr* b) {
    if (is_any_float(a, b)) return make(ExprOp::FloatSub, to_float(a), to_float(b));
    return checked(pool_.subtract(number(a), number(b)));
  }
  const Expr* negative(const Expr* e) {
    if (e->kind != SymKind::Float) return checked(pool_.negate(number(e)));
    if (e->is_constant()) return pool_.constant(ExprValue::of(-e->value.number));
    return make(ExprOp::FloatMul, pool_.constant(ExprValue::of(-1.0)), e);
  }
  const Expr* relation_of(ExprOp op, const Expr* a, const Expr* b) {
    if (a->kind == SymKind::Bool && b->kind == SymKind::Bool) return make(op, a, b);
    return of_numbers(op, op, a, b);
  }
  const Expr* bits(ExprOp on_integers, ExprOp on_truths, const Expr* a, const Expr* b) {
    if (a->kind == SymKind::Bool && b->kind == SymKind::Bool) return make(on_truths, a, b);
    return make(on_integers, integer(a), integer(b));
  }

  // ---- from loose to tight ----
  const Expr* expression() {
    const Nested nested(*this);
    const Expr* e = disjunction();
    if (!take_word("if")) return e;
    const Expr* condition = truth(disjunction());
    if (!take_word("else")) error("\"else\" is missing");
    return choice(condition, e, expression());
  }
  const Expr* choice(const Expr* condition, const Expr* a, const Expr* b) {
    if (a->kind != b->kind) {
      a = is_any_float(a, b) ? to_float(a) : number(a);
      b = is_any_float(a, b) ? to_float(b) : number(b);
    }
    return checked(pool_.where(condition, a, b));
  }
  const Expr* disjunction() {
    const Expr* e = conjunction();
    while (take_word("or")) e = make(ExprOp::Or, truth(e), truth(conjunction()));
    return e;
  }
  const Expr* conjunction() {
    const Expr* e = negation();
    while (take_word("and")) e = make(ExprOp::And, truth(e), truth(negation()));
    return e;
  }
  const Expr* negation() {
    if (!take_word("not")) return relation();
    const Nested nested(*this);
    return pool_.logical_not(truth(negation()));
  }
  std::optional<ExprOp> take_relation() {
    constexpr std::pair<std::string_view, ExprOp> kRelations[] = {
        {"<=", ExprOp::Le}, {">=", ExprOp::Ge}, {"==", ExprOp::Eq},
        {"!=", ExprOp::Ne}, {"<", ExprOp::Lt},  {">", ExprOp::Gt}};
    for (const auto& [sign, op] : kRelations)
      if (take(sign)) return op;
    return std::nullopt;
  }
  const Expr* relation() {
    const Expr* e = bit_or();
    const auto op = take_relation();
    if (!op) return e;
    e = relation_of(*op, e, bit_or());
    if (take_relation()) error("comparisons do not chain");
    return e;
  }
  const Expr* bit_or() {
    const Expr* e = bit_xor();
    while (take("|")) e = bits(ExprOp::BitOr, ExprOp::Or, e, bit_xor());
    return e;
  }
  const Expr* bit_xor() {
    const Expr* e = bit_and();
    while (take("^")) e = bits(ExprOp::BitXor, ExprOp::Ne, e, bit_and());
    return e;
  }
  const Expr* bit_and() {
    const Expr* e = sum();
    while (take("&")) e = bits(ExprOp::BitAnd, ExprOp::And, e, sum());
    return e;
  }
  const Expr* sum() {
    const Expr* e = product();
    while (true) {
      if (take("+"))
        e = of_numbers(ExprOp::Add, ExprOp::FloatAdd, e, product());
      else if (take("-"))
        e = difference(e, product());
      else
        return e;
    }
  }
  const Expr* product() {
    const Expr* e = unary();
    while (true) {
      if (take("//"))
        e = of_numbers(ExprOp::FloorDiv, ExprOp::FloorDiv, e, unary());
      else if (take("/"))
        e = of_numbers(ExprOp::IntTrueDiv, ExprOp::FloatDiv, e, unary());
      else if (take("%"))
        e = of_numbers(ExprOp::Mod, ExprOp::Mod, e, unary());
      else if (take("*"))
        e = of_numbers(ExprOp::Mul, ExprOp::FloatMul, e, unary());
      else
        return e;
    }
  }
  const Expr* unary() {
    const Nested nested(*this);
    if (take("-")) return negative(unary());
    if (take("+")) return number(unary());
    if (take("~")) return pool_.logical_not(truth(unary()));
    const Expr* e = atom();
    return take("**") ? of_numbers(ExprOp::IntPow, ExprOp::FloatPow, e, unary()) : e;
  }

  // ---- operands ----
  const Expr* atom() {
    if (take("(")) {
      const Expr* e = expression();
      expect(")", "\")\" is missing");
      return e;
    }
    skip_space();
    if (++num_operands_ > kMaxOperands) error("it has too many operands");
    if (is_digit(peek())) return numeral();
    if (!is_word_start(peek())) error("a number, a name or \"(\" is missing");
    return named(name());
  }
  void skip_digits() {
    while (is_digit(peek())) ++at_;
  }
  const Expr* numeral() {
    const char* start = text_.data() + at_;
    skip_digits();
    const size_t integer_end = at_;
    if (peek() == '.') {
      ++at_;
      skip_digits();
    }
    if (peek() == 'e') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!is_digit(peek())) error("an exponent is missing");
      skip_digits();
    }
    if (is_word(peek()) || peek() == '.') error("this is no number");
    return at_ == integer_end ? constant<int64_t>(start) : constant<double>(start);
  }
  template <class T>
  const Expr* constant(const char* start) {
    T value = 0;
    if (std::from_chars(start, text_.data() + at_, value).ec != std::errc())
      fail(ErrorKind::Overflow, "integer overflow in a symbolic shape: the number in \"",
           text_.substr(0, 200), "\" before column ", at_ + 1, " is too large");
    return pool_.constant(ExprValue::of(value));
  }
  std::string_view name() {
    const size_t start = at_;
    while (is_word(peek())) ++at_;
    if (text_.substr(start, at_ - start) == "math" && peek() == '.') {
      ++at_;
      while (is_word(peek())) ++at_;
    }
    return text_.substr(start, at_ - start);
  }
  const Expr* named(std::string_view name) {
    if (take("(")) return called(name);
    if (name == "True" || name == "False") return pool_.truth(name == "True");
    if (name == "oo") return pool_.constant(ExprValue::of(HUGE_VAL));
    if (name == "nan") return pool_.constant(ExprValue::of(std::nan("")));
    const bool is_reserved =
        std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved);
    if (is_reserved || name.starts_with("math.")) error("this is no symbol");
    return symbol_of_(std::string(name));
  }

  // ---- functions, behind their parenthesis ----
  const Expr* called(std::string_view name) {
    if (name == "Piecewise") return piecewise();
    std::vector<const Expr*> args;
    do args.push_back(expression());
    while (take(","));
    expect(")", "\")\" or \",\" is missing");
    if ((name == "ToFloat" || name == "float") && args.size() == 1) return to_float(args[0]);
    if (const auto op = math_named(name, args.size()))
      return apply({name, *op, args.size(), Takes::Floats}, std::move(args));
    for (const Function& f : kFunctions)
      if (f.name == name && (f.takes_more ? args.size() >= f.num_args : args.size() == f.num_args))
        return apply(f, args);
    error("there is no such function of so many arguments");
  }
  const Expr* apply(const Function& f, std::vector<const Expr*> args) {
    if (f.takes == Takes::Alike) return relation_of(f.op, args[0], args[1]);
    const bool has_float = std::any_of(args.begin(), args.end(),
                                       [](const Expr* a) { return a->kind == SymKind::Float; });
    for (size_t i = 0; i < args.size(); ++i) {
      const bool is_float = f.takes == Takes::Floats || (f.takes == Takes::Numbers && has_float) ||
                            (f.takes == Takes::FloatAndDigits && i == 0);
      args[i] = is_float ? to_float(args[i]) : integer(args[i]);
    }
    if (args.size() == 1) return checked(pool_.make(f.op, args));
    const Expr* e = make(f.op, args[0], args[1]);
    for (size_t i = 2; i < args.size(); ++i) e = make(f.op, e, args[i]);
    return e;
  }
  // (value, condition), ..., (value, True)
  const Expr* piecewise() {
    const Nested nested(*this);
    expect("(", "\"(\" is missing");
    const Expr* value = expression();
    expect(",", "\",\" is missing");
    const Expr* condition = truth(expression());
    expect(")", "\")\" is missing");
    if (take(",")) return choice(condition, value, piecewise());
    if (!condition->is_true()) error("the last condition must be True");
    expect(")", "\")\" is missing");
    return value;
  }

  ExprPool& pool_;
  std::string_view text_;
  SymbolOf symbol_of_;
  size_t at_ = 0;
  int depth_ = 0, num_operands_ = 0;
};

}  // namespace

const Expr* parse(ExprPool& pool, std::string_view text, SymbolOf symbol_of) {
  return Reader(pool, text, symbol_of).whole();
}

const Expr* parse(ExprPool& pool, std::string_view text) {
  return parse(pool, text, [&](const std::string& name) {
    return pool.symbol(name, SymKind::Int, {}, std::nullopt);
  });
}

}  // namespace taeda::symbolic
