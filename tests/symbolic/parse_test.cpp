// Reading expressions: both notations, what was printed, and texts that are none.
#include "taeda/symbolic/parse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace taeda::symbolic {
namespace {

class ParseTest : public testing::Test {
 protected:
  // Floats by the names that shape environments give them.
  const Expr* symbol(const std::string& name) {
    const bool is_float = name.starts_with("z");
    return pool.symbol(name, is_float ? SymKind::Float : SymKind::Int, {}, std::nullopt);
  }
  const Expr* read(std::string_view text) {
    return parse(pool, text, [&](const std::string& name) { return symbol(name); });
  }
  Error error_of(std::string_view text) {
    try {
      read(text);
    } catch (const Error& e) {
      return e;
    }
    return Error(ErrorKind::Internal, "no error");
  }

  ExprPool pool;
};

TEST_F(ParseTest, ValuesOfBothNotations) {
  const Assignment values = {{symbol("s0"), ExprValue::of(int64_t{7})},
                             {symbol("s1"), ExprValue::of(int64_t{3})},
                             {symbol("zf0"), ExprValue::of(2.5)}};
  const std::pair<const char*, double> cases[] = {
      {"s0", 7},
      {"12", 12},
      {"2*s0 + 1", 15},
      {"-s0 + 10", 3},
      {"(s0//2)", 3},
      {"s0//2*2", 6},
      {"Mod(s0, s1)", 1},
      {"Max(1, s0, s1)", 7},
      {"Min(s0, s1)", 3},
      {"s0**2 - s1", 46},
      {"7 - s0", 0},
      {"2*(s0 + s1)*s1", 60},
      {"((-s0)//2)", -4},
      {"-s0//2", -4},
      {"-s1**2", -9},
      {"2**s1**2", 512},
      {"FloorDiv(s0, 2)", 3},
      {"s0 < 7", 0},
      {"s0 <= 7", 1},
      {"Eq(Mod(s0, 2), 1)", 1},
      {"Ne(s0, 7)", 0},
      {"s0 % 4 == 3", 1},
      {"max(s1, 9)", 9},
      {"min(s0, s1, 2)", 2},
      {"s0 & 6 | 8", 14},
      {"s0 ^ s1", 4},
      {"BitwiseFn_bitwise_xor(s0, s1)", 4},
      {"(s0 < 9) & (s1 < 2)", 0},
      {"Eq(s0, 7) | Eq(s1, 2)", 1},
      {"~Eq(s0, 7)", 0},
      {"s0 < 9 and not s1 < 2", 1},
      {"s0 > 9 or s1 == 3", 1},
      {"s0 if s1 < 2 else -s0", -7},
      {"Piecewise((s0, s1 < 2), (5, s1 < 4), (6, True))", 5},
      {"(s0 < 9) + 1", 2},
      {"s0 / 2", 3.5},
      {"IntTrueDiv(s0, 2)", 3.5},
      {"zf0*2", 5},
      {"-zf0 + s1", 0.5},
      {"FloatTrueDiv(zf0, 2.0)", 1.25},
      {"zf0**2", 6.25},
      {"CeilToInt(zf0*1.5e0)", 4},
      {"math.floor(zf0)", 2},
      {"round(zf0)", 2},
      {"round(zf0, 0)", 2},
      {"TruncToInt(-zf0)", -2},
      {"OpaqueUnaryFn_sqrt(ToFloat(s0 + 2))", 3},
      {"float(s0) / 2.0", 3.5},
      {"zf0 < oo", 1},
  };
  for (const auto& [text, value] : cases) {
    const auto found = evaluate(read(text), values);
    ASSERT_TRUE(found) << text;
    EXPECT_EQ(found->as_double(), value) << text;
  }
  EXPECT_EQ(evaluate(read("s0 + u1"), values), std::nullopt);
  EXPECT_TRUE(read("s0")->is_symbol());
  EXPECT_EQ(symbols_of(read("s1*s0 + s1")).size(), 2u);
  EXPECT_EQ(read("Max(s0, s1, u0, u1)"), read("max(u1, Max(u0, s0), s1)"));
}

TEST_F(ParseTest, WithoutAReaderSymbolsAreThePools) {
  const Expr* s0 = pool.symbol("s0", SymKind::Int, {2, 9}, ExprValue::of(int64_t{4}));
  EXPECT_EQ(parse(pool, "s0"), s0);
  EXPECT_EQ(parse(pool, "Max(1, s0)"), s0);
  EXPECT_EQ(parse(pool, "s7")->range, IntRange());
}

TEST_F(ParseTest, RefusesOtherTextsAtTheirColumn) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "at column 1: a number"},
      {"s0 +", "at column 5: a number"},
      {"(s0", "at column 4: \")\" is missing"},
      {"s0)", "at column 3: an operator"},
      {"f(s0)", "at column 6: there is no such function"},
      {"Mod(s0)", "there is no such function of so many arguments"},
      {"s0 s1", "at column 4: an operator"},
      {"2s0", "at column 2: this is no number"},
      {"1.5.5", "this is no number"},
      {"1e", "an exponent is missing"},
      {"a < b < c", "comparisons do not chain"},
      {"s0 and s1", "a condition is expected"},
      {"~s0", "a condition is expected"},
      {"s0 if s1 else s0", "a condition is expected"},
      {"s0 if s1 < 2", "\"else\" is missing"},
      {"1.5 & s0", "an integer is expected"},
      {"Piecewise((s0, s1 < 2))", "the last condition must be True"},
      {"Piecewise", "this is no symbol"},
      {"math.pi", "this is no symbol"},
      {"s0 * * 2", "a number"},
      {"s0; s1", "an operator"},
      {"L['x']", "an operator"},
      {"s0.x", "an operator"},
      {"\xff", "a number"},
  };
  for (const auto& [text, message] : cases) {
    const Error e = error_of(text);
    EXPECT_EQ(e.kind(), ErrorKind::Runtime) << text;
    EXPECT_NE(e.message().find(message), std::string::npos) << text << ": " << e.message();
  }
}

TEST_F(ParseTest, OverflowAndDivisionByZeroAreErrors) {
  for (const char* text :
       {"99999999999999999999", "9223372036854775808", "9223372036854775807 + 1",
        "-9223372036854775807 - 1", "9223372036854775807*s0*2", "2**64", "3000000000*s0*4000000000",
        "(s0**64)**64**64", "((((s0**64)**64)**64)**64)**64*s0**(2**30)", "1e999"})
    EXPECT_EQ(error_of(text).kind(), ErrorKind::Overflow) << text << ": " << error_of(text).what();
  for (const char* text : {"s0//0", "s0 % 0", "Mod(3, 0)", "1 / 0"})
    EXPECT_EQ(error_of(text).kind(), ErrorKind::ZeroDivision) << text;
  EXPECT_TRUE(read("-9223372036854775807")->is_constant(-9223372036854775807));
  EXPECT_TRUE(read("(-1)**1000000000001")->is_constant(-1));
}

std::string repeated(const std::string& part, int count, const std::string& end) {
  std::string out;
  for (int i = 0; i < count; ++i) out += part;
  return out + end;
}

// Each would need a deep stack, years or all memory if nothing were bounded.
TEST_F(ParseTest, HostileTextsEndSoon) {
  std::vector<std::string> texts = {
      std::string(3000, '('),
      std::string(5000, '1'),
      repeated("-", 4000, "s0"),
      repeated("~", 4000, "(s0 < 1)"),
      repeated("not ", 900, "s0 < 1"),
      repeated("Max(s0, ", 500, "1" + std::string(500, ')')),
      repeated("s0 if s0 < 1 else ", 220, "1"),
      repeated("2**", 1000, "2"),
      repeated("Piecewise((", 300, "s0"),
  };
  std::string many = "Max(s0";
  for (int i = 1; i < 500; ++i) many += "," + str("s", i);
  texts.push_back(many + ")");
  std::string sums = "s0";
  for (int i = 1; i < 500; ++i) sums += str("+s", i);
  texts.push_back(sums);
  // Every product repeats what it multiplies: as a tree it doubles each time.
  std::string doubling = "s0";
  for (int i = 0; i < 60; ++i) doubling = str("((", doubling, ")%", i + 7, ")*(s1+s2)");
  texts.push_back(doubling);
  texts.push_back("(s0+s1+s2+s3+s4+s5+s6+s7)**64");
  texts.push_back("((s0+s1)**64 + (s1+s2)**64)**64");
  for (const std::string& text : texts) {
    try {
      const Expr* e = read(text);
      // What was taken is of a size that can be walked.
      EXPECT_LE(e->size, 1u << 16);
      text_of(e);
    } catch (const Error&) {
    }
  }
}

TEST_F(ParseTest, RandomTextsNeverCrash) {
  const char* const parts[] = {"s0",          "s1",
                               "zf0",         "1",
                               "2",           "0",
                               "-",           "+",
                               "*",           "**",
                               "//",          "/",
                               "%",           "(",
                               ")",           ",",
                               "<",           "==",
                               "&",           "|",
                               "^",           "~",
                               "Mod",         "Max",
                               "min",         "Eq",
                               "round",       "and",
                               "or",          "not",
                               "if",          "else",
                               " ",           "True",
                               "1.5",         "math.floor",
                               "Piecewise((", "9223372036854775807",
                               "-1"};
  std::mt19937 random(5);
  int num_read = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string text;
    for (size_t k = 1 + random() % 12; k > 0; --k) text += parts[random() % std::size(parts)];
    try {
      const Expr* e = read(text);
      EXPECT_EQ(read(text_of(e)), e) << text << " is " << text_of(e);
      ++num_read;
    } catch (const Error&) {
    }
  }
  EXPECT_GT(num_read, 500);
}

// Makes expressions of every operation, from the small to the large.
class Generator {
 public:
  Generator(ExprPool& pool, std::vector<const Expr*> ints, std::vector<const Expr*> floats)
      : pool_(pool), ints_(std::move(ints)), floats_(std::move(floats)) {}

  const Expr* integer(int depth) {
    if (depth == 0) return pick(3) ? ints_[pick(ints_.size())] : pool_.integer(pick(13) - 6);
    constexpr ExprOp kOps[] = {ExprOp::Add,    ExprOp::Add,    ExprOp::Mul,   ExprOp::Mul,
                               ExprOp::IntPow, ExprOp::Min,    ExprOp::Max,   ExprOp::FloorDiv,
                               ExprOp::Mod,    ExprOp::BitAnd, ExprOp::BitOr, ExprOp::BitXor};
    constexpr ExprOp kRoundings[] = {ExprOp::FloorToInt, ExprOp::CeilToInt, ExprOp::RoundToInt,
                                     ExprOp::TruncToInt};
    const int64_t kind = pick(std::size(kOps) + 2);
    if (kind == std::ssize(kOps)) return pool_.make(kRoundings[pick(4)], {number(depth - 1)});
    if (kind > std::ssize(kOps))
      return pool_.where(truth(depth - 1), integer(depth - 1), integer(depth - 1));
    const Expr* a = integer(depth - 1);
    return pool_.make(
        kOps[kind], a,
        kOps[kind] == ExprOp::IntPow && pick(3) ? pool_.integer(pick(4)) : integer(depth - 1));
  }
  const Expr* number(int depth) {
    if (depth == 0) {
      constexpr double kNumbers[] = {0.5, -1.25, 3.0, 1e20, -0.0, 1e-7, HUGE_VAL};
      return pick(2) ? floats_[pick(floats_.size())]
                     : pool_.constant(ExprValue::of(kNumbers[pick(std::size(kNumbers))]));
    }
    constexpr ExprOp kOps[] = {ExprOp::FloatAdd, ExprOp::FloatSub, ExprOp::FloatMul,
                               ExprOp::FloatDiv, ExprOp::FloatPow, ExprOp::FloorDiv,
                               ExprOp::Mod,      ExprOp::Min,      ExprOp::Max};
    switch (pick(6)) {
      case 0: return pool_.to_float(integer(depth - 1));
      case 1: return pool_.make(ExprOp::Sqrt, {number(depth - 1)});
      case 4: {
        const size_t i = static_cast<size_t>(pick(math_functions().size()));
        ExprArgs args{number(depth - 1)};
        if (math_functions()[i].num_args == 2) args.push_back(number(depth - 1));
        return pool_.make(math_op(i), args);
      }
      case 2: return pool_.make(ExprOp::IntTrueDiv, integer(depth - 1), integer(depth - 1));
      case 3: return pool_.make(ExprOp::RoundDecimal, number(depth - 1), pool_.integer(pick(5)));
      default: return pool_.make(kOps[pick(std::size(kOps))], number(depth - 1), number(depth - 1));
    }
  }
  const Expr* truth(int depth) {
    if (depth == 0 || pick(2)) {
      const auto op = static_cast<ExprOp>(static_cast<int>(ExprOp::Eq) + pick(6));
      const int below = std::max(depth - 1, 0);
      return pick(3) ? pool_.make(op, integer(below), integer(below))
                     : pool_.make(op, number(below), number(below));
    }
    if (pick(4) == 0) return pool_.logical_not(truth(depth - 1));
    const ExprOp op = pick(3) ? (pick(2) ? ExprOp::And : ExprOp::Or) : ExprOp::Eq;
    return pool_.make(op, truth(depth - 1), truth(depth - 1));
  }

 private:
  int64_t pick(size_t count) { return static_cast<int64_t>(random_() % count); }

  ExprPool& pool_;
  std::vector<const Expr*> ints_, floats_;
  std::mt19937 random_{7};
};

TEST_F(ParseTest, WhatWasPrintedReadsAsTheSame) {
  Generator generate(pool, {symbol("s0"), symbol("s1"), symbol("u0")},
                     {symbol("zf0"), symbol("zuf1")});
  int num_compared = 0;
  for (int round = 0; round < 20000; ++round) {
    const int depth = round % 4;
    const Expr* e = nullptr;
    try {
      e = round % 3 == 0   ? generate.truth(depth)
          : round % 3 == 1 ? generate.integer(depth)
                           : generate.number(depth);
    } catch (const Error&) {  // a division by zero, an overflow
      continue;
    }
    const std::string text = text_of(e), python = python_text_of(e, {});
    if (text.size() > 2000) continue;
    ASSERT_EQ(read(text), e) << text << " reads as " << text_of(read(text));
    ASSERT_EQ(read(python), e) << python << " reads as " << python_text_of(read(python), {});
    ++num_compared;
  }
  EXPECT_GT(num_compared, 15000);
}

}  // namespace
}  // namespace taeda::symbolic
