// Sym: the symbolic value that turns a body into an expression DAG.
//
//   ExprGraph graph;
//   TracedBody traced = trace_body<Silu>(graph, Type::F32);
//   std::string text = graph.dump({traced.root});
#pragma once

#include <type_traits>
#include <vector>

#include "taeda/base/export.h"
#include "taeda/kernel/body.h"
#include "taeda/kernel/expr.h"

namespace taeda::kernel {

// While alive, Sym operations of this thread add to `graph`, and V(1.0) is a constant of `type`.
class TAEDA_API BuilderScope {
 public:
  BuilderScope(ExprGraph& graph, Type type);
  ~BuilderScope();
  BuilderScope(const BuilderScope&) = delete;
  BuilderScope& operator=(const BuilderScope&) = delete;

  static BuilderScope& current();  // throws where there is none
  ExprGraph& graph() { return graph_; }
  Type type() const { return type_; }

 private:
  ExprGraph& graph_;
  Type type_;
  BuilderScope* outer_;
};

inline NodeId sym_apply(Op op, NodeId a, NodeId b = -1, NodeId c = -1) {
  return BuilderScope::current().graph().apply(op, a, b, c);
}

// A constant at an end of a type.
TAEDA_API NodeId sym_extreme(Type type, bool is_highest);

struct SymMask {
  NodeId id = -1;

  SymMask() = default;
  explicit SymMask(bool value)
      : id(BuilderScope::current().graph().constant(value ? 1.0 : 0.0, Type::Mask)) {}
  static SymMask from_id(NodeId id) {
    SymMask m;
    m.id = id;
    return m;
  }
  friend SymMask operator&(SymMask a, SymMask b) { return from_id(sym_apply(Op::And, a.id, b.id)); }
  friend SymMask operator|(SymMask a, SymMask b) { return from_id(sym_apply(Op::Or, a.id, b.id)); }
  friend SymMask operator^(SymMask a, SymMask b) { return from_id(sym_apply(Op::Xor, a.id, b.id)); }
  friend SymMask operator!(SymMask a) { return from_id(sym_apply(Op::Not, a.id)); }
  friend SymMask where(SymMask c, SymMask a, SymMask b) { return (c & a) | ((!c) & b); }
};

struct SymReal;
struct SymIndex;

struct Sym {
  using MaskType = SymMask;
  using RealType = SymReal;
  using IndexType = SymIndex;
  NodeId id = -1;

  Sym() = default;
  template <class C, std::enable_if_t<std::is_arithmetic_v<C>, int> = 0>
  Sym(C constant) {
    BuilderScope& scope = BuilderScope::current();
    if constexpr (std::is_integral_v<C>) {
      id = scope.graph().constant_int(static_cast<int64_t>(constant), scope.type());
    } else {
      id = scope.graph().constant(static_cast<double>(constant), scope.type());
    }
  }
  static Sym from_id(NodeId id) {
    Sym s;
    s.id = id;
    return s;
  }
  // The ends of the type: infinities where it has them.
  static Sym lowest() { return from_id(sym_extreme(BuilderScope::current().type(), false)); }
  static Sym highest() { return from_id(sym_extreme(BuilderScope::current().type(), true)); }

#define TAEDA_SYM_BINARY(spelling, op, Result) \
  friend Result spelling(Sym a, Sym b) { return Result::from_id(sym_apply(Op::op, a.id, b.id)); }
#define TAEDA_SYM_UNARY(spelling, op, Result) \
  friend Result spelling(Sym a) { return Result::from_id(sym_apply(Op::op, a.id)); }
  TAEDA_SYM_BINARY(operator+, Add, Sym)
  TAEDA_SYM_BINARY(operator-, Sub, Sym)
  TAEDA_SYM_BINARY(operator*, Mul, Sym)
  // Integers divide safely, as Vec does.
  friend Sym operator/(Sym a, Sym b) {
    Type type = BuilderScope::current().graph().node(a.id).type;
    return from_id(sym_apply(is_integer(type) ? Op::DivTrunc : Op::Div, a.id, b.id));
  }
  TAEDA_SYM_BINARY(operator<, Lt, SymMask)
  TAEDA_SYM_BINARY(operator>, Gt, SymMask)
  TAEDA_SYM_BINARY(operator<=, Le, SymMask)
  TAEDA_SYM_BINARY(operator>=, Ge, SymMask)
  TAEDA_SYM_BINARY(operator==, Eq, SymMask)
  TAEDA_SYM_BINARY(operator!=, Ne, SymMask)
  TAEDA_SYM_BINARY(operator&, And, Sym)
  TAEDA_SYM_BINARY(operator|, Or, Sym)
  TAEDA_SYM_BINARY(operator^, Xor, Sym)
  TAEDA_SYM_BINARY(operator<<, Shl, Sym)
  TAEDA_SYM_BINARY(operator>>, Shr, Sym)
  TAEDA_SYM_UNARY(operator-, Neg, Sym)
  TAEDA_SYM_UNARY(operator~, BitNot, Sym)
  TAEDA_SYM_BINARY(maximum, Maximum, Sym)
  TAEDA_SYM_BINARY(minimum, Minimum, Sym)
  TAEDA_SYM_BINARY(fmax, Fmax, Sym)
  TAEDA_SYM_BINARY(fmin, Fmin, Sym)
  TAEDA_SYM_BINARY(div_trunc, DivTrunc, Sym)
  TAEDA_SYM_BINARY(div_floor, DivFloor, Sym)
  TAEDA_SYM_BINARY(fmod, Fmod, Sym)
  TAEDA_SYM_BINARY(remainder, Remainder, Sym)
  TAEDA_SYM_BINARY(pow, Pow, Sym)
  TAEDA_SYM_BINARY(atan2, Atan2, Sym)
  TAEDA_SYM_BINARY(copysign, Copysign, Sym)
  TAEDA_SYM_UNARY(conj, Conj, Sym)
  TAEDA_SYM_UNARY(isnan, IsNan, SymMask)
  TAEDA_SYM_UNARY(isinf, IsInf, SymMask)
  TAEDA_SYM_UNARY(isfinite, IsFinite, SymMask)
  TAEDA_SYM_UNARY(floor, Floor, Sym)
  TAEDA_SYM_UNARY(ceil, Ceil, Sym)
  TAEDA_SYM_UNARY(trunc, Trunc, Sym)
  TAEDA_SYM_UNARY(round, Nearest, Sym)
  TAEDA_SYM_UNARY(sqrt, Sqrt, Sym)
  TAEDA_SYM_UNARY(rsqrt, Rsqrt, Sym)
  TAEDA_SYM_UNARY(exp, Exp, Sym)
  TAEDA_SYM_UNARY(exp2, Exp2, Sym)
  TAEDA_SYM_UNARY(expm1, Expm1, Sym)
  TAEDA_SYM_UNARY(log, Log, Sym)
  TAEDA_SYM_UNARY(log2, Log2, Sym)
  TAEDA_SYM_UNARY(log10, Log10, Sym)
  TAEDA_SYM_UNARY(log1p, Log1p, Sym)
  TAEDA_SYM_UNARY(sin, Sin, Sym)
  TAEDA_SYM_UNARY(cos, Cos, Sym)
  TAEDA_SYM_UNARY(tan, Tan, Sym)
  TAEDA_SYM_UNARY(asin, Asin, Sym)
  TAEDA_SYM_UNARY(acos, Acos, Sym)
  TAEDA_SYM_UNARY(atan, Atan, Sym)
  TAEDA_SYM_UNARY(sinh, Sinh, Sym)
  TAEDA_SYM_UNARY(cosh, Cosh, Sym)
  TAEDA_SYM_UNARY(tanh, Tanh, Sym)
  TAEDA_SYM_UNARY(asinh, Asinh, Sym)
  TAEDA_SYM_UNARY(acosh, Acosh, Sym)
  TAEDA_SYM_UNARY(atanh, Atanh, Sym)
  TAEDA_SYM_UNARY(erf, Erf, Sym)
  TAEDA_SYM_UNARY(erfc, Erfc, Sym)
  TAEDA_SYM_UNARY(erfinv, Erfinv, Sym)
  TAEDA_SYM_UNARY(lgamma, Lgamma, Sym)
  TAEDA_SYM_UNARY(digamma, Digamma, Sym)
#define TAEDA_SYM_CALL_1(name, op) TAEDA_SYM_UNARY(name, op, Sym)
#define TAEDA_SYM_CALL_2(name, op) TAEDA_SYM_BINARY(name, op, Sym)
#define TAEDA_SYM_CALL_3(name, op) \
  friend Sym name(Sym a, Sym b, Sym c) { return from_id(sym_apply(Op::op, a.id, b.id, c.id)); }
#define TAEDA_SYM_CALL(op, name, arity, kinds, text) TAEDA_SYM_CALL_##arity(name, op)
  TAEDA_CALLED_FUNCTIONS(TAEDA_SYM_CALL)
#undef TAEDA_SYM_CALL
#undef TAEDA_SYM_CALL_1
#undef TAEDA_SYM_CALL_2
#undef TAEDA_SYM_CALL_3
#undef TAEDA_SYM_BINARY
#undef TAEDA_SYM_UNARY
  friend Sym where(SymMask c, Sym a, Sym b) {
    return from_id(sym_apply(Op::Where, c.id, a.id, b.id));
  }
  friend Sym fma(Sym a, Sym b, Sym c) { return from_id(sym_apply(Op::Fma, a.id, b.id, c.id)); }
  friend SymReal abs(Sym a);
  friend SymReal real(Sym a);
  friend SymReal imag(Sym a);
};

// A value known to be real: the result of abs, real and imag, and the type of RealOf<Sym>
// parameters.
struct SymReal : Sym {
  SymReal() = default;
  SymReal(Sym value) : Sym(value) {}
};

// An index: I64 whatever the type of the body.
struct SymIndex : Sym {
  SymIndex() = default;
  SymIndex(Sym value) : Sym(value) {}
  static SymIndex from_id(NodeId id) { return Sym::from_id(id); }
  static SymIndex highest() { return from_id(sym_extreme(Type::I64, true)); }
};
inline SymReal abs(Sym a) { return Sym::from_id(sym_apply(Op::Abs, a.id)); }
inline SymReal real(Sym a) { return Sym::from_id(sym_apply(Op::Real, a.id)); }
inline SymReal imag(Sym a) { return Sym::from_id(sym_apply(Op::Imag, a.id)); }

template <class V, std::enable_if_t<std::is_same_v<V, Sym>, int> = 0>
V make_complex(SymReal re, SymReal im) {
  if (!is_complex(BuilderScope::current().type())) return re;
  return Sym::from_id(sym_apply(Op::MakeComplex, re.id, im.id));
}

// A body's DAG over inputs 0, 1, ... and uniforms 0, 1, ... in parameter order.
struct TracedBody {
  NodeId root;
  std::vector<Type> input_types;
  int num_uniforms = 0;
};

// Makes the node of one parameter.
struct SymArguments {
  ExprGraph& graph;
  Type type;
  TracedBody traced;

  NodeId next_input(Type input_type) {
    traced.input_types.push_back(input_type);
    return graph.input(static_cast<int>(traced.input_types.size()) - 1, input_type);
  }
  template <class P>
  P make() {
    if constexpr (std::is_same_v<P, SymMask>)
      return P::from_id(next_input(Type::Mask));
    else if constexpr (std::is_same_v<P, SymReal>)
      return Sym::from_id(next_input(real_type(type)));
    else if constexpr (std::is_same_v<P, SymIndex>)
      return P::from_id(next_input(Type::I64));
    else if constexpr (std::is_same_v<P, Sym>)
      return Sym::from_id(next_input(type));
    else
      return P(Sym::from_id(graph.uniform(traced.num_uniforms++, type)));
  }
};

template <class R, class... P>
TracedBody trace_function(R (*apply)(P...), ExprGraph& graph, Type type) {
  BuilderScope scope(graph, type);
  SymArguments arguments{graph, type, {}};
  // Braces fix the order of the parameters.
  struct Call {
    R result;
    Call(R (*apply)(P...), P... p) : result(apply(p...)) {}
  };
  Call call{apply, arguments.make<P>()...};
  arguments.traced.root = call.result.id;
  return arguments.traced;
}

// Reads Body with Sym for compute type `type`.
template <class Body>
TracedBody trace_body(ExprGraph& graph, Type type) {
  return trace_function(&Body::template apply<Sym>, graph, type);
}

}  // namespace taeda::kernel
