// The expression DAG: golden dumps of traced bodies, sharing and bit-exact simplification.
#include <gtest/gtest.h>

#include "bodies.h"
#include "taeda/base/error.h"
#include "taeda/kernel/sym.h"

namespace taeda::kernel::test {

template <class Body>
std::string traced_dump(Type type) {
  ExprGraph graph;
  return graph.dump({trace_body<Body>(graph, type).root});
}

TEST(Expr, SiluDump) {
  EXPECT_EQ(traced_dump<Silu>(Type::F32),
            "%0 = input 0 : f32\n"
            "%1 = constant 1 : f32\n"
            "%2 = neg %0 : f32\n"
            "%3 = exp %2 : f32\n"
            "%4 = add %1 %3 : f32\n"
            "%5 = div %0 %4 : f32\n"
            "return %5\n");
}

TEST(Expr, MasksAndUniformsDump) {
  EXPECT_EQ(traced_dump<Where>(Type::I64),
            "%0 = input 0 : mask\n"
            "%1 = input 1 : i64\n"
            "%2 = input 2 : i64\n"
            "%3 = where %0 %1 %2 : i64\n"
            "return %3\n");
  EXPECT_EQ(traced_dump<Softplus>(Type::F64),
            "%0 = input 0 : f64\n"
            "%1 = uniform 0 : f64\n"
            "%2 = mul %0 %1 : f64\n"
            "%3 = uniform 1 : f64\n"
            "%4 = gt %2 %3 : mask\n"
            "%5 = exp %2 : f64\n"
            "%6 = log1p %5 : f64\n"
            "%7 = div %6 %1 : f64\n"
            "%8 = where %4 %0 %7 : f64\n"
            "return %8\n");
}

TEST(Expr, ComplexModulusIsReal) {
  EXPECT_EQ(traced_dump<Modulus>(Type::C64),
            "%0 = input 0 : c64\n"
            "%1 = abs %0 : f32\n"
            "%2 = real %0 : f32\n"
            "%3 = imag %0 : f32\n"
            "%4 = mul %2 %3 : f32\n"
            "%5 = add %1 %4 : f32\n"
            "return %5\n");
}

TEST(Expr, EqualNodesAreOneNode) {
  ExprGraph graph;
  NodeId x = graph.input(0, Type::F32);
  NodeId a = graph.apply(Op::Exp, graph.apply(Op::Add, x, x));
  int size = graph.size();
  EXPECT_EQ(graph.apply(Op::Exp, graph.apply(Op::Add, x, x)), a);
  EXPECT_EQ(graph.size(), size);
}

TEST(Expr, OnlyBitExactSimplification) {
  ExprGraph graph;
  NodeId x = graph.input(0, Type::F32);
  EXPECT_EQ(graph.apply(Op::Mul, x, graph.constant(1, Type::F32)), x);
  EXPECT_EQ(graph.apply(Op::Pow, x, graph.constant(1, Type::F32)), x);
  EXPECT_EQ(graph.apply(Op::Add, x, graph.constant(-0.0, Type::F32)), x);
  EXPECT_NE(graph.apply(Op::Add, x, graph.constant(0.0, Type::F32)), x);
  EXPECT_NE(graph.apply(Op::Mul, x, graph.constant(0.0, Type::F32)),
            graph.constant(0.0, Type::F32));
  EXPECT_EQ(graph.apply(Op::Neg, graph.apply(Op::Neg, x)), x);
  NodeId third = graph.apply(Op::Div, graph.constant(1, Type::F32), graph.constant(3, Type::F32));
  EXPECT_EQ(graph.node(third).op, Op::Constant);
  EXPECT_EQ(graph.constant_value(third), static_cast<double>(1.0f / 3.0f));
}

TEST(Expr, CastsThatKeepEveryBitAreFolded) {
  ExprGraph graph;
  const auto of = [&](double value, Type from, Type to) {
    return graph.cast(graph.constant(value, from), to);
  };
  EXPECT_EQ(of(3, Type::I64, Type::F32), graph.constant(3, Type::F32));
  EXPECT_EQ(of(0.1, Type::F64, Type::F32), graph.constant(0.1f, Type::F32));
  EXPECT_EQ(of(-2.75, Type::F32, Type::I64), graph.constant_int(-2, Type::I64));
  EXPECT_EQ(of(0.5, Type::F32, Type::Mask), graph.constant(1, Type::Mask));
  // Not a double, and no integer.
  const NodeId large = graph.constant_int((int64_t{1} << 53) + 1, Type::I64);
  EXPECT_EQ(graph.node(graph.cast(large, Type::F32)).op, Op::Cast);
  EXPECT_EQ(graph.node(of(1e300, Type::F64, Type::I64)).op, Op::Cast);

  const NodeId x = graph.input(0, Type::F32), mask = graph.input(1, Type::Mask);
  EXPECT_EQ(graph.cast(graph.cast(x, Type::F64), Type::F32), x);
  EXPECT_EQ(graph.cast(graph.cast(mask, Type::I64), Type::Mask), mask);
  const NodeId wide = graph.input(2, Type::F64);
  EXPECT_NE(graph.cast(graph.cast(wide, Type::F32), Type::F64), wide);
}

TEST(Expr, TypesMustAgree) {
  ExprGraph graph;
  NodeId x = graph.input(0, Type::F32), y = graph.input(1, Type::F64);
  try {
    graph.apply(Op::Add, x, y);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "[kernel] add of different types: got f32 and f64; cast one of them");
  }
  NodeId wide = graph.cast(x, Type::F64);
  EXPECT_EQ(graph.node(graph.apply(Op::Add, wide, y)).type, Type::F64);
  // A constant takes the type of the other side.
  EXPECT_EQ(graph.node(graph.apply(Op::Add, x, graph.constant(2, Type::F64))).type, Type::F32);
}

TEST(Expr, SymbolsNeedABuilder) { EXPECT_THROW(Sym(1.0), Error); }

}  // namespace taeda::kernel::test
