// Writing kernels step by step.
#include "taeda/kernel/builder/kernel_builder.h"

#include "taeda/base/error.h"
#include "taeda/base/str.h"

namespace taeda::kernel {

KernelBuilder::KernelBuilder(std::string name, Type type) : scope_(kernel_.values, type) {
  kernel_.name = std::move(name);
  open_.push_back(&kernel_.steps);
}

int KernelBuilder::axis(const Expr* extent) {
  const int number = static_cast<int>(axes_.size());
  axes_.push_back({kernel_.axis(str("i", number)), extent});
  return number;
}

int KernelBuilder::operand(DType dtype, std::vector<const Expr*> strides, int alignment) {
  // The elements from the first to the last one that the axes reach.
  const Expr* numel = integer(1);
  for (size_t d = 0; d < strides.size(); ++d)
    numel = pool().add(numel, pool().mul(strides[d], pool().subtract(axes_[d].extent, integer(1))));
  strides_.push_back(std::move(strides));
  return kernel_.add_buffer(
      {str("b", strides_.size() - 1), dtype, numel, Space::Global, alignment});
}

const Expr* KernelBuilder::place(int operand, const Coordinates& at) {
  const Expr* sum = at.plus ? at.plus : integer(0);
  const std::vector<const Expr*>& strides = strides_[operand];
  for (size_t d = 0; d < strides.size(); ++d) {
    const int axis = static_cast<int>(d);
    const auto given = at.along.find(axis);
    // An axis of one element has no loop, and its place is 0.
    if (given == at.along.end() && axes_[axis].extent->is_constant(1)) continue;
    sum = pool().add(
        sum, pool().mul(strides[d], given == at.along.end() ? axes_[axis].var : given->second));
  }
  return sum;
}

Sym KernelBuilder::load(int operand, const Coordinates& at) {
  return Sym::from_id(kernel_.load(operand, place(operand, at)));
}

const Expr* KernelBuilder::indirect(Sym value, const Expr* extent, bool wraps) {
  return graph().indirect(pool(), str("t", num_symbols_++), value.id, extent, wraps);
}

std::vector<Axis> KernelBuilder::loop_axes(const std::vector<int>& axes, Role role) {
  std::vector<Axis> found;
  for (int axis : axes)
    if (!axes_[axis].extent->is_constant(1))
      found.push_back({axes_[axis].var, axes_[axis].extent, role});
  // A loop has an axis, and a reduction has a loop.
  if (found.empty()) found.push_back({kernel_.axis(str("one", num_symbols_++)), integer(1), role});
  return found;
}

void KernelBuilder::loop(const std::vector<int>& axes, FunctionRef<void()> steps) {
  Loop loop{loop_axes(axes, Role::Kept), {}};
  open_.push_back(&loop.steps);
  steps();
  open_.pop_back();
  add(std::move(loop));
}

std::vector<Sym> KernelBuilder::reduce(const std::string& body, const std::vector<int>& axes,
                                       const std::vector<Sym>& values) {
  Reduce reduce{find_reduce_body(body, type_of(values[0])), {}, {}, num_states_};
  Loop loop{loop_axes(axes, Role::Reduced), {}};
  for (const Axis& axis : loop.axes) reduce.axes.push_back(axis.var);
  for (Sym value : values) reduce.values.push_back(value.id);
  std::vector<Sym> results;
  for (Type type : state_types(reduce))
    results.push_back(Sym::from_id(graph().state(num_states_++, type)));
  loop.steps.push_back(std::move(reduce));
  add(std::move(loop));
  return results;
}

void KernelBuilder::scan(const std::string& body, int axis, const std::vector<Sym>& values,
                         FunctionRef<void(const std::vector<Sym>&)> steps) {
  Loop loop{loop_axes({axis}, Role::Scanned), {}};
  Scan scan{find_reduce_body(body, type_of(values[0])), loop.axes[0].var, {}, num_states_};
  for (Sym value : values) scan.values.push_back(value.id);
  std::vector<Sym> results;
  for (Type type : scan.body->result_types)
    results.push_back(Sym::from_id(graph().state(num_states_++, type)));
  loop.steps.push_back(std::move(scan));
  open_.push_back(&loop.steps);
  steps(results);
  open_.pop_back();
  add(std::move(loop));
}

void KernelBuilder::store(int operand, Sym value, const Coordinates& at, StoreMode mode) {
  add(Store{operand, place(operand, at), cast(value, compute_type(dtype(operand))).id, -1, mode});
}

void KernelBuilder::store_if(SymMask mask, int operand, Sym value, const Coordinates& at,
                             StoreMode mode) {
  add(Store{operand, place(operand, at), cast(value, compute_type(dtype(operand))).id, mask.id,
            mode});
}

void KernelBuilder::check(const Expr* symbol) { add(Check{symbol}); }

void KernelBuilder::barrier() { add(Barrier{}); }

Kernel KernelBuilder::finish() {
  TAEDA_INTERNAL_CHECK(open_.size() == 1, "[kernel] a loop of ", kernel_.name, " is open");
  verify(kernel_);
  return std::move(kernel_);
}

}  // namespace taeda::kernel
