// The one lowering of pointwise operators.
#include "taeda/backends/lowered/pointwise.h"

#include <cmath>

#include "taeda/backends/lowered/domain.h"
#include "taeda/ops/kernel_name.h"
#include "taeda/ops/number_range.h"

namespace taeda::lowered {

namespace {

using kernel::Node;
using kernel::NodeId;
using kernel::Op;

bool is_half(DType t) { return t == DType::Half || t == DType::BFloat16; }

// Numbers beside small integers or halves count in their dtype, unless the operator takes them as
// they are.
bool narrows_numbers(const PointwiseOp& op, Span<const Tensor*> inputs, DType common) {
  if (inputs.size() != 2) return false;
  if (is_half(common)) return !(op.accept & kExactNumbers);
  return is_integral(common) && item_size(common) < 8;
}

// An input: a tensor of the device, or a number that lies on the host.
struct Input {
  const Tensor* tensor;
  bool is_number;
  int place = -1;  // its operand or its number
};

void check_numbers(DType common, Span<Scalar> scalars) {
  const DType held = is_half(common) ? DType::Float : common;
  for (const Scalar& s : scalars) check_fits(s, held);
}

thread_local const TakePointwise::Taker* t_taker = nullptr;

}  // namespace

TakePointwise::TakePointwise(Taker take) : take_(std::move(take)), outer_(t_taker) {
  t_taker = &take_;
}
TakePointwise::~TakePointwise() { t_taker = outer_; }

Sym in_common(kernel::ExprGraph& graph, const PointwiseCall& call, int input, Sym element) {
  const Tensor& t = *call.inputs[input];
  if (t.dim() != 0 || t.dtype() == call.common || t.dtype() == DType::Bool) return element;
  const Sym value = Sym::from_id(graph.cast(element.id, type_in(call.common)));
  const bool narrows = narrows_numbers(call.op, call.inputs, call.common);
  return narrows ? kernel::narrowed(graph, value, call.common) : value;
}

Sym pointwise_value(kernel::ExprGraph& graph, const PointwiseCall& call,
                    FunctionRef<Sym(int)> input, FunctionRef<Sym(int)> number) {
  const Type type = type_in(call.common);
  kernel::ExprGraph own;
  const kernel::TracedBody traced = call.body.trace(own, type);
  TAEDA_INTERNAL_CHECK(traced.input_types.size() == call.inputs.size() &&
                           traced.num_uniforms == static_cast<int>(call.scalars.size()),
                       call.op.name);
  const auto leaf = [&](const Node& node) -> NodeId {
    if (node.op == Op::Uniform) return number(node.index).id;
    const Sym value = in_common(graph, call, node.index, input(node.index));
    return graph.cast(value.id, node.type);
  };
  const Sym result = Sym::from_id(kernel::inlined(graph, own, traced.root, leaf));
  const bool is_computed = graph.node(result.id).type == type && call.op.rule != DTypeRule::Self;
  if (!is_computed || call.out.dtype() == call.common) return result;
  return kernel::narrowed(graph, result, call.common);
}

void run_pointwise(const SymbolicBody& body, const PointwiseOp& op, DType common, const Tensor& out,
                   Span<const Tensor*> inputs, Span<Scalar> scalars) {
  const PointwiseCall call{body, op, common, out, inputs, scalars};
  if (t_taker) return (*t_taker)(call);
  const Type type = type_in(common);
  TAEDA_CHECK_NOT_IMPLEMENTED(body.has(type), "\"", kernel_name(op.name, out.device()),
                              "\" not implemented for '", common, "'");
  check_numbers(common, scalars);
  if (out.numel() == 0) return;
  Launch launch(body.name, out.device());
  launch.compute_in(type);
  launch.fact(static_cast<int64_t>(common));

  Domain domain(out.sizes(), {IntVec(out.strides())});
  std::vector<Input> given;
  for (const Tensor* t : inputs) {
    given.push_back({t, t->is_cpu()});
    if (!t->is_cpu()) domain.strides.push_back(broadcast_strides(*t, out.sizes()));
  }
  domain.arrange();
  const std::vector<int> axes = launch.axes(domain.sizes);
  const int to = launch.operand(out, domain.strides[0]);
  size_t next = 1;
  for (Input& input : given) {
    launch.fact(input.is_number);
    launch.fact(input.tensor->dim() == 0);
    launch.fact(static_cast<int64_t>(input.tensor->dtype()));
    if (input.is_number)
      input.place = launch.number(read_scalar(*input.tensor), type_in(input.tensor->dtype()));
    else
      input.place = launch.operand(*input.tensor, domain.strides[next++]);
  }
  std::vector<int> numbers;
  for (const Scalar& s : scalars) numbers.push_back(launch.number(s, type));

  launch.run([&](KernelBuilder& k) {
    const auto input = [&](int i) {
      return given[i].is_number ? launch.uniform(k, given[i].place) : k.load(given[i].place);
    };
    const auto number = [&](int i) { return launch.uniform(k, numbers[i]); };
    const Sym result = pointwise_value(k.graph(), call, input, number);
    k.loop(axes, [&] { k.store(to, result); });
  });
}

}  // namespace taeda::lowered
