// The expression DAG of a kernel: hash-consed nodes that a body builds when it is read
// symbolically, and the leaves that tie them to the loops of a kernel.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "taeda/base/export.h"
#include "taeda/base/small_vector.h"
#include "taeda/core/dtype.h"
#include "taeda/kernel/called/functions.h"
#include "taeda/symbolic/expr.h"

namespace taeda::kernel {

// Types that values are computed in; storage has a DType.
enum class Type : uint8_t { F32, F64, I64, U64, C64, C128, Mask, I32 };
constexpr int kNumTypes = 8;

TAEDA_API const char* type_name(Type type);
TAEDA_API int type_size(Type type);  // bytes in memory; a mask is one byte
TAEDA_API bool is_complex(Type type);
TAEDA_API bool is_integer(Type type);
TAEDA_API Type real_type(Type type);  // F32 for C64, F64 for C128, itself otherwise
// The type that elements of a dtype are computed in: F32 for the halves, I64 for small integers.
TAEDA_API Type compute_type(DType dtype);
// Whether elements of a dtype can be read and written as values of a type: every dtype as its
// compute type, int32 also as I32.
TAEDA_API bool holds(DType dtype, Type type);

// X(enumerator, name in dumps, arity, result, printed form). The result is `s` for the type of the
// last argument, `m` for a mask, `r` for the real partner, `c` for the complex one. The printed
// form is an infix or prefix operator, or the name of a function of math.h.
// clang-format off
#define TAEDA_EXPR_OPS(X) \
  X(Add, "add", 2, 's', "+") X(Sub, "sub", 2, 's', "-") X(Mul, "mul", 2, 's', "*") \
  X(Div, "div", 2, 's', "/") X(Neg, "neg", 1, 's', "-") \
  X(Lt, "lt", 2, 'm', "<") X(Gt, "gt", 2, 'm', ">") X(Le, "le", 2, 'm', "<=") \
  X(Ge, "ge", 2, 'm', ">=") X(Eq, "eq", 2, 'm', "==") X(Ne, "ne", 2, 'm', "!=") \
  X(And, "and", 2, 's', "&") X(Or, "or", 2, 's', "|") X(Xor, "xor", 2, 's', "^") \
  X(Not, "not", 1, 's', "!") X(BitNot, "bit_not", 1, 's', "~") \
  X(Shl, "shl", 2, 's', "td_shift_left") X(Shr, "shr", 2, 's', "td_shift_right") \
  X(Where, "where", 3, 's', "?") X(Fma, "fma", 3, 's', "td_fma") \
  X(Maximum, "maximum", 2, 's', "td_maximum") X(Minimum, "minimum", 2, 's', "td_minimum") \
  X(Fmax, "fmax", 2, 's', "td_fmax") X(Fmin, "fmin", 2, 's', "td_fmin") \
  X(DivTrunc, "div_trunc", 2, 's', "td_div_trunc") \
  X(DivFloor, "div_floor", 2, 's', "td_div_floor") X(Fmod, "fmod", 2, 's', "td_fmod") \
  X(Remainder, "remainder", 2, 's', "td_remainder") X(Pow, "pow", 2, 's', "td_pow") \
  X(Atan2, "atan2", 2, 's', "td_atan2") X(Copysign, "copysign", 2, 's', "td_copysign") \
  X(Abs, "abs", 1, 'r', "td_abs") X(Real, "real", 1, 'r', "td_real") \
  X(Imag, "imag", 1, 'r', "td_imag") X(Conj, "conj", 1, 's', "td_conj") \
  X(MakeComplex, "make_complex", 2, 'c', "td_make_complex") \
  X(IsNan, "isnan", 1, 'm', "td_isnan") X(IsInf, "isinf", 1, 'm', "td_isinf") \
  X(IsFinite, "isfinite", 1, 'm', "td_isfinite") \
  X(Floor, "floor", 1, 's', "td_floor") X(Ceil, "ceil", 1, 's', "td_ceil") \
  X(Trunc, "trunc", 1, 's', "td_trunc") X(Nearest, "round", 1, 's', "td_round") \
  X(Sqrt, "sqrt", 1, 's', "td_sqrt") X(Rsqrt, "rsqrt", 1, 's', "td_rsqrt") \
  X(Exp, "exp", 1, 's', "td_exp") X(Exp2, "exp2", 1, 's', "td_exp2") \
  X(Expm1, "expm1", 1, 's', "td_expm1") X(Log, "log", 1, 's', "td_log") \
  X(Log2, "log2", 1, 's', "td_log2") X(Log10, "log10", 1, 's', "td_log10") \
  X(Log1p, "log1p", 1, 's', "td_log1p") X(Sin, "sin", 1, 's', "td_sin") \
  X(Cos, "cos", 1, 's', "td_cos") X(Tan, "tan", 1, 's', "td_tan") \
  X(Asin, "asin", 1, 's', "td_asin") X(Acos, "acos", 1, 's', "td_acos") \
  X(Atan, "atan", 1, 's', "td_atan") X(Sinh, "sinh", 1, 's', "td_sinh") \
  X(Cosh, "cosh", 1, 's', "td_cosh") X(Tanh, "tanh", 1, 's', "td_tanh") \
  X(Asinh, "asinh", 1, 's', "td_asinh") X(Acosh, "acosh", 1, 's', "td_acosh") \
  X(Atanh, "atanh", 1, 's', "td_atanh") X(Erf, "erf", 1, 's', "td_erf") \
  X(Erfc, "erfc", 1, 's', "td_erfc") X(Erfinv, "erfinv", 1, 's', "td_erfinv") \
  X(Lgamma, "lgamma", 1, 's', "td_lgamma") X(Digamma, "digamma", 1, 's', "td_digamma")
// clang-format on

// Leaves and conversions. Input is element data, Uniform one number per call, both numbered apart;
// Cast converts to its type. The others belong to kernels: Load reads a buffer at an index, Index
// is the value of an index, Round rounds to a storage dtype and back, Random is an element of the
// random stream, State the result of a reduction or scan.
enum class Op : uint8_t {
  Input,
  Uniform,
  Constant,
  Cast,
  Load,
  Index,
  Round,
  Random,
  State,
#define TAEDA_EXPR_ENUM(id, name, arity, result, form) id,
  TAEDA_EXPR_OPS(TAEDA_EXPR_ENUM)
#undef TAEDA_EXPR_ENUM
#define TAEDA_EXPR_ENUM(id, name, arity, kinds, text) id,
      TAEDA_CALLED_FUNCTIONS(TAEDA_EXPR_ENUM)
#undef TAEDA_EXPR_ENUM
};

// What a Random node makes of the stream: a 32-bit word (I64), a number below the third operand
// (U64; 0 stands for 2^64), a multiple of 2^-bits in [0, 1), a standard normal number.
enum class Draw : uint8_t {
  Word,
  Integer,
  Uniform3,
  Uniform4,
  Uniform8,
  Uniform11,
  Uniform24,
  Uniform53,
  Normal,
  Normal64
};
constexpr int kNumDraws = 10;
TAEDA_API const char* draw_name(Draw draw);
TAEDA_API Type draw_type(Draw draw);
TAEDA_API int uniform_bits(Draw draw);

// The number of operations.
#define TAEDA_EXPR_COUNT(id, name, arity, kinds, text) +1
constexpr int kNumOps = static_cast<int>(Op::Digamma) + 1 TAEDA_CALLED_FUNCTIONS(TAEDA_EXPR_COUNT);
#undef TAEDA_EXPR_COUNT

TAEDA_API const char* op_name(Op op);
TAEDA_API const char* op_form(Op op);  // null for leaves and conversions
TAEDA_API int op_arity(Op op);

using NodeId = int32_t;

// args: the operands. Load has none, or a mask and the value where it is false; Random has the seed
// and the offset of the stream, and a limit for integers.
struct TAEDA_API Node {
  Op op;
  Type type;
  NodeId args[3] = {-1, -1, -1};
  int index = 0;  // Input, Uniform, State: number; Load: buffer; Round: dtype; Random: Draw
  uint64_t bits[2] = {0, 0};           // Constant: its bytes; the imaginary part in the second word
  const symbolic::Expr* at = nullptr;  // Load, Index: where; Random: the element's number

  bool operator==(const Node& other) const;
};

// A symbol of index expressions that stands for a value: the index of an indirect access. Values
// outside of 0 .. extent - 1 (where it wraps: -extent .. extent - 1) set the kernel's error word.
struct Indirect {
  const symbolic::Expr* symbol;
  NodeId value;  // I64
  const symbolic::Expr* extent;
  bool wraps;
};

// Owns the nodes. Arguments come before their users, equal nodes are one node, and simplifications
// are made only where they keep every bit. Not thread-safe.
class TAEDA_API ExprGraph {
 public:
  NodeId input(int index, Type type);
  NodeId uniform(int index, Type type);
  NodeId constant(double value, Type type);
  NodeId constant_int(int64_t value, Type type);
  NodeId constant_complex(double real, double imag, Type type);
  // Adds op over its arguments. A constant argument of another type is read as one of the type that
  // its siblings have. Throws TypeError where the argument types do not fit.
  NodeId apply(Op op, NodeId a, NodeId b = -1, NodeId c = -1);
  NodeId cast(NodeId a, Type type);
  // A node of another graph; its arguments are nodes of this one.
  NodeId copy(const Node& node) { return intern(node); }

  // Masked loads touch no memory where the mask is false.
  NodeId load(int buffer, Type type, const symbolic::Expr* at, NodeId mask = -1, NodeId other = -1);
  NodeId index(const symbolic::Expr* at, Type type = Type::I64);
  NodeId round(NodeId a, DType dtype);
  NodeId random(Draw draw, const symbolic::Expr* element, NodeId seed, NodeId offset,
                NodeId limit = -1);
  NodeId state(int number, Type type);
  // A symbol for a value. The range check belongs to each access that uses it.
  const symbolic::Expr* indirect(symbolic::ExprPool& pool, const std::string& name, NodeId value,
                                 const symbolic::Expr* extent, bool wraps);
  const std::vector<Indirect>& indirects() const { return indirects_; }
  // The range of an indirect index in other words.
  void set_extent(size_t indirect, const symbolic::Expr* extent) {
    indirects_[indirect].extent = extent;
  }
  // Null for a symbol that stands for no value.
  const Indirect* find_indirect(const symbolic::Expr* symbol) const;

  // Operands, and the values that stand in a node's index.
  SmallVector<NodeId, 4> dependencies(NodeId id) const;
  const Node& node(NodeId id) const { return nodes_[id]; }
  int size() const { return static_cast<int>(nodes_.size()); }
  // The value of a constant, its real part where it is complex.
  double constant_value(NodeId id) const;
  // The nodes that the roots need, arguments first. The order follows from the expressions alone,
  // not from the order in which a compiler evaluated a body's arguments.
  std::vector<NodeId> reachable(const std::vector<NodeId>& roots) const;
  // One line per node, renumbered from 0, then the roots: the same text for the same expression.
  std::string dump(const std::vector<NodeId>& roots) const;

 private:
  NodeId intern(const Node& node);
  NodeId retype_constant(NodeId id, Type type);
  NodeId simplify(Op op, NodeId a, NodeId b, NodeId c);
  NodeId fold(Op op, NodeId a, NodeId b);
  NodeId fold_cast(NodeId a, Type type);  // -1 where it has no such value

  struct NodeHash {
    size_t operator()(const Node& node) const;
  };
  std::vector<Node> nodes_;
  std::unordered_map<Node, NodeId, NodeHash> index_;
  std::vector<Indirect> indirects_;
};

}  // namespace taeda::kernel
