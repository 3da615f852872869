// The inverses of view operators.
#include "taeda/fx/view_steps.h"

#include <string>

#include "taeda/dispatch/dispatcher.h"
#include "taeda/dispatch/levels.h"
#include "taeda/dispatch/modes.h"
#include "taeda/ops/operators.h"

namespace taeda::fx {
namespace {

using dispatch::Operator;
using dispatch::Stack;
using dispatch::Value;
using dispatch::ViewInverse;

Operator* copying_form(const Operator& op) {
  return dispatch::find_operator(std::string(op.name) + "_copy", op.overload);
}

// Whether function transforms or autograd see the call before the modes do.
bool is_seen_below(const Stack& stack) {
  bool is_seen = dispatch::num_levels() > 0;
  for (const Value& v : stack)
    for_each_tensor(v, [&](const Tensor& t) { is_seen |= t.requires_grad(); });
  return is_seen;
}

Tensor call(std::string_view name, std::string_view overload, Stack stack, bool copies = false) {
  Operator* op = dispatch::find_operator(name, overload);
  TAEDA_INTERNAL_CHECK(op, "there is no operator ", name, ".", overload);
  call_view(*op, stack, copies);
  return stack.at(0).get<Tensor>();
}

SymInt symint_of(const Value& v) { return v.is<SymInt>() ? v.get<SymInt>() : SymInt(v.to_int()); }

std::vector<int64_t> inverse_of(const std::vector<int64_t>& order) {
  const auto ndim = static_cast<int64_t>(order.size());
  std::vector<int64_t> inverse(order.size());
  for (int64_t i = 0; i < ndim; ++i)
    inverse[static_cast<size_t>((order[static_cast<size_t>(i)] + ndim) % ndim)] = i;
  return inverse;
}

// Moves the place in the storage that as_strided names.
void shift_offset(const Operator& op, Stack& stack, const SymInt& by) {
  if (&op == &ops::as_strided && !stack.at(3).is_none()) stack[3] = Value(symint_of(stack[3]) + by);
}

// A contiguous copy of `part`, whose memory can be viewed as another dtype.
Tensor laid_out(const Tensor& part) {
  return call("contiguous", "", {Value(part), Value(MemoryFormat::Contiguous)});
}

}  // namespace

bool has_copying_form(const Operator& op) { return copying_form(op) != nullptr; }

void call_view(Operator& op, Stack& stack, bool copies) {
  Operator* copying = copies ? copying_form(op) : nullptr;
  if (!copying) return dispatch::call_boxed(op, stack);
  if (!is_seen_below(stack) && dispatch::offer_whole(*copying, stack)) return;
  dispatch::call_boxed(*copying, stack);
}

// ---- Note [Moved memory] ----

void move_to_memory_of(Operator& op, Stack& stack, const Tensor& seen, size_t position) {
  const SymInt moved = stack.at(position).get<Tensor>().impl()->sym_storage_offset() -
                       seen.impl()->sym_storage_offset();
  shift_offset(op, stack, moved);
}

ViewStep::ViewStep(Operator& op, Stack args, size_t position, size_t output)
    : op_(&op), args_(std::move(args)), position_(position), output_(output) {
  shift_offset(op, args_, -args_.at(position_).get<Tensor>().impl()->sym_storage_offset());
  args_.at(position_) = Value();
}

int64_t ViewStep::dim_of(const Tensor& whole, size_t i) const {
  const int64_t dim = args_.at(i).to_int();
  return dim < 0 ? dim + whole.dim() : dim;
}

bool ViewStep::is_part() const { return op_->traits.inverse == ViewInverse::SliceEach; }

Stack ViewStep::slice_arguments(const Tensor& whole) const {
  const int64_t dim = dim_of(whole, 2);
  const SymInt size = symint_of(args_.at(1)), start = SymInt(static_cast<int64_t>(output_)) * size;
  const SymInt end = start + size, all = whole.sym_size(dim);
  return {Value(whole), Value(dim), Value(start), Value(end < all ? end : all), Value(SymInt(1))};
}

Tensor ViewStep::apply(const Tensor& whole, bool copies) const {
  if (is_part()) return call("slice", "Tensor", slice_arguments(whole), copies);
  Stack stack = args_;
  stack[position_] = Value(whole);
  shift_offset(*op_, stack, whole.impl()->sym_storage_offset());
  call_view(*op_, stack, copies);
  Tensor result;
  size_t at = 0;
  for (const Value& v : stack)
    for_each_tensor(v, [&](const Tensor& t) {
      if (at++ == output_) result = t;
    });
  return copies && !has_copying_form(*op_) ? result.clone() : result;
}

bool ViewStep::has_inverse() const { return op_->traits.inverse != ViewInverse::None; }

Tensor ViewStep::invert(const Tensor& whole, const Tensor& part, bool copies) const {
  const auto apply_itself = [&](Stack stack) {
    stack[position_] = Value(part);
    return call(op_->name, op_->overload, std::move(stack), copies);
  };
  switch (op_->traits.inverse) {
    case ViewInverse::Same: return part;
    case ViewInverse::Reshape: {
      std::vector<SymInt> sizes(whole.sym_sizes().begin(), whole.sym_sizes().end());
      return call(copies ? "view" : "reshape", "", {Value(part), Value(std::move(sizes))}, copies);
    }
    case ViewInverse::DType:
      return call("view", "dtype", {Value(laid_out(part)), Value(whole.dtype())}, copies);
    case ViewInverse::Itself: return apply_itself(args_);
    case ViewInverse::Permutation: {
      Stack stack = args_;
      stack.at(1) = Value(inverse_of(args_.at(1).get<std::vector<int64_t>>()));
      return apply_itself(std::move(stack));
    }
    case ViewInverse::Scatter: {
      Stack stack = args_;
      stack[position_] = Value(whole);
      stack.insert(stack.begin() + 1, Value(part));
      return call(std::string(op_->name) + "_scatter", "", std::move(stack));
    }
    case ViewInverse::SelectEach:
      return call(
          "select_scatter", "",
          {Value(whole), Value(part), args_.at(1), Value(SymInt(static_cast<int64_t>(output_)))});
    case ViewInverse::SliceEach: {
      Stack stack = slice_arguments(whole);
      stack.insert(stack.begin() + 1, Value(part));
      return call("slice_scatter", "", std::move(stack));
    }
    case ViewInverse::Conjugate: return call("conj_physical", "", {Value(part)});
    case ViewInverse::Negative: return call("neg", "", {Value(part)});
    case ViewInverse::AsReal:
      return call("view_as_real", "", {Value(call("resolve_conj", "", {Value(part)}))}, copies);
    case ViewInverse::AsComplex:
      return call("view_as_complex", "", {Value(call("resolve_neg", "", {Value(laid_out(part))}))},
                  copies);
    case ViewInverse::None: break;
  }
  fail(ErrorKind::Runtime, "no inverse of ", op_->full_name());
}

}  // namespace taeda::fx
