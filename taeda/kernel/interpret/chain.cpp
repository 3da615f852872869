// Chooses chains for this machine.
#include "taeda/kernel/interpret/chain.h"

#include <utility>

#include "taeda/kernel/interpret/isa_tables.h"

namespace taeda::kernel {

TAEDA_ISA_TABLE(ChainTable, kChains, chains)

ChainPrimitive find_chain(Type type) { return chains().run[static_cast<int>(type)]; }

bool find_chain_op(Op op, int side, ChainOp* step) {
  auto either = [&](ChainOp left, ChainOp right) {
    *step = side == 0 ? left : right;
    return true;
  };
  switch (op) {
    case Op::Add: return either(ChainOp::Add, ChainOp::Add);
    case Op::Mul: return either(ChainOp::Mul, ChainOp::Mul);
    case Op::Sub: return either(ChainOp::Sub, ChainOp::SubReversed);
    case Op::Div: return either(ChainOp::Div, ChainOp::DivReversed);
    case Op::Maximum: return either(ChainOp::Maximum, ChainOp::MaximumReversed);
    case Op::Minimum: return either(ChainOp::Minimum, ChainOp::MinimumReversed);
    case Op::Neg: return either(ChainOp::Neg, ChainOp::Neg);
    case Op::Abs: return either(ChainOp::Abs, ChainOp::Abs);
    case Op::Sqrt: return either(ChainOp::Sqrt, ChainOp::Sqrt);
    case Op::Rsqrt: return either(ChainOp::Rsqrt, ChainOp::Rsqrt);
    case Op::Exp: return either(ChainOp::Exp, ChainOp::Exp);
    case Op::Log: return either(ChainOp::Log, ChainOp::Log);
    case Op::Tanh: return either(ChainOp::Tanh, ChainOp::Tanh);
    case Op::Erf: return either(ChainOp::Erf, ChainOp::Erf);
    default: return false;
  }
}

bool find_chain_fold(const ReduceBody& body, ChainOp* step) {
  static constexpr std::pair<const char*, ChainOp> kFolds[] = {{"sum", ChainOp::FoldSum},
                                                               {"prod", ChainOp::FoldProd},
                                                               {"max", ChainOp::FoldMax},
                                                               {"min", ChainOp::FoldMin}};
  for (const auto& [name, op] : kFolds) {
    if (body.name != name) continue;
    *step = op;
    return find_chain(body.type) != nullptr;
  }
  return false;
}

}  // namespace taeda::kernel
