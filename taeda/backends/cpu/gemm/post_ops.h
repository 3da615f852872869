// Work behind a product in words that a library knows.
//
// Note [Post-ops]: what is done to each element of a product or a convolution may be said twice: as
// the caller's work on blocks (FinishBlock), and as a list of operations of a library. Where the
// library computes the product it does them as well, before it writes an element; elsewhere, and
// where it has no fast way for them, blocks are finished. Its activations round as the library
// rounds, so results are those of the finished blocks within the tolerance of products.
#pragma once

#include "taeda/base/small_vector.h"
#include "taeda/core/dtype.h"

namespace taeda::cpu {

struct PostOp {
  // Activations, alpha * x + beta, and x with an element of an operand.
  enum class Kind : uint8_t {
    Relu,
    Tanh,
    Sigmoid,
    Silu,
    Gelu,
    GeluTanh,
    Linear,
    Add,
    Sub,
    Mul,
    Div
  };
  Kind kind;
  float alpha = 1, beta = 0;
  // An operand: where it starts, and its strides along the dimensions of the result, 0 where it is
  // broadcast.
  const void* data = nullptr;
  DType dtype = DType::Float;
  SmallVector<int64_t, 5> strides = {};

  bool has_operand() const { return kind >= Kind::Add; }
};

using PostOps = SmallVector<PostOp, 4>;

constexpr const char* kPostOpNames[] = {"relu",   "tanh", "sigmoid", "silu", "gelu", "gelu_tanh",
                                        "linear", "add",  "sub",     "mul",  "div"};

}  // namespace taeda::cpu
