// Post-ops as attributes of oneDNN's primitives: Note [Post-ops].
#pragma once

#include "taeda/backends/cpu/gemm/onednn.h"
#include "taeda/backends/cpu/gemm/post_ops.h"
#include "taeda/base/span.h"

namespace taeda::cpu::onednn {

// What a primitive with post-ops is made for, beside its sizes: equal words for equal attributes.
using PostOpWords = SmallVector<int64_t, 8>;
PostOpWords words_of(const PostOps& ops);

// Whether the library's operations give what eager's give: activations for infinities and NaN, too,
// and several lines a * x + b their own numbers. Tried once for each.
bool computes_as_eager(const PostOps& ops);

// The attributes of one primitive, with memory objects for operands. Without operations there are
// none.
class PostOpAttributes {
 public:
  // `sizes`: of the result.
  PostOpAttributes(const PostOps& ops, Span<int64_t> sizes);
  ~PostOpAttributes();
  PostOpAttributes(const PostOpAttributes&) = delete;

  Handle get() const { return attributes_; }
  // Whether the attributes could be made, and the primitive of this description takes them.
  bool find_arguments(Handle primitive_desc);
  // The operands of a call, behind its other arguments.
  bool bind(const PostOps& ops, SmallVector<Bound, 12>& arguments) const;

 private:
  struct Operand {
    int place;     // among the post-ops
    int argument;  // of the primitive
    Handle memory;
  };
  bool add(const PostOp& op, int place, Span<int64_t> sizes);

  bool is_good_ = true;
  Handle attributes_ = nullptr, list_ = nullptr;
  SmallVector<Operand, 4> operands_;
};

// Whether both descriptions are of one implementation: a library that falls back to a slow one for
// the attributes is not asked.
bool are_implemented_alike(Handle desc, Handle other);

}  // namespace taeda::cpu::onednn
