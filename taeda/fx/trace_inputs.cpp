// The inputs of a trace: what the tracer knows of them, and what the program sees.
#include <algorithm>

#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/variable.h"
#include "taeda/fx/input_history.h"
#include "taeda/fx/mode_order.h"
#include "taeda/fx/trace_run.h"
#include "taeda/ops/functions.h"

namespace taeda::fx {
namespace {

bool is_symbolic(const Value& v) {
  return (v.is<SymInt>() && v.get<SymInt>().is_symbolic()) || v.is<IntrusivePtr<SymNode>>();
}

// Such a tensor, if it requires gradients, refuses writes that are recorded.
bool is_view_of_leaf(const Tensor& t) {
  const TensorImpl* base = t.impl()->view_base();
  const autograd::AutogradMetaImpl* meta = base ? autograd::meta_or_null(base) : nullptr;
  return base && (!meta || !meta->grad_fn);
}

bool is_same_look(const Tensor& a, const Tensor& b) {
  return a.sym_sizes() == b.sym_sizes() && a.sym_strides() == b.sym_strides();
}

}  // namespace

Tensor TraceRun::fake_like(const Tensor& t) {
  Tensor fake =
      fake_mode_->from_tensor(t, t.sym_sizes(), t.sym_strides(), t.impl()->sym_storage_offset());
  fake.impl()->set_requires_grad_flag(false);
  return fake;
}

Tensor TraceRun::shown(const Tensor& value) {
  if (!functional_) return value;
  Tensor seen = fake_like(value);
  functional_->add(seen, value);
  return seen;
}

void TraceRun::add_inputs() {
  for (size_t i = 0; i < given_.size(); ++i) add_input(i, given_[i]);
  if (told_)
    for (const SharedMemory& memory : told_->memories) add_shared(memory);
  for (const Value& v : seen_.inputs) note_start(seen_, v);
}

void TraceRun::note_start(Seen& seen, const Value& input) const {
  const bool is_tensor = input.is<Tensor>() && input.get<Tensor>().defined();
  seen.histories.push_back(is_tensor ? written_history(input.get<Tensor>()) : nullptr);
  seen.memories.push_back(is_tensor && functional_ ? functional_->memory_of(input.get<Tensor>())
                                                   : nullptr);
  seen.looks.push_back(is_tensor ? Look(input.get<Tensor>()) : Look());
  seen.had_gradients.push_back(is_tensor && autograd::requires_grad(input.get<Tensor>()));
  const bool counts = is_tensor && input.get<Tensor>().impl()->has_version_counter();
  seen.versions.push_back(counts ? input.get<Tensor>().impl()->version() : 0);
}

void TraceRun::add_input(size_t index, const Value& v) {
  const std::string name =
      index < options_.names.size() ? options_.names[index] : str("arg", index, "_1");
  if (!options_.fakes_inputs || !v.is<Tensor>() || !v.get<Tensor>().defined()) {
    // What is neither a tensor nor a symbol is the same at every run of the graph.
    if (options_.fakes_inputs || v.is<Tensor>() || is_symbolic(v))
      tracer_->add_input(name, v);
    else
      tracer_->graph().placeholder(name);
    seen_.values.push_back(v);
    seen_.inputs.push_back(v);
    return;
  }
  const Tensor& given = v.get<Tensor>();
  const bool is_shared = told_ && std::any_of(told_->memories.begin(), told_->memories.end(),
                                              [&](const SharedMemory& memory) {
                                                return std::ranges::count(memory.inputs, index) > 0;
                                              });
  const bool is_made =
      is_shared || index >= options_.fakes.size() || !options_.fakes[index].defined();
  const Tensor value = fake_like(is_made ? given : options_.fakes[index]);
  tracer_->add_input(name, value);
  seen_.values.emplace_back(value);
  seen_.inputs.emplace_back(is_shared ? Tensor() : with_history(shown(value), value, given, index));
}

Tensor TraceRun::with_history(const Tensor& seen, const Tensor& value, const Tensor& given,
                              size_t index) {
  if (!options_.differentiates || !autograd::requires_grad(given)) return seen;
  autograd::set_requires_grad(seen, true);
  sources_.push_back({seen, {index}, nullptr});
  if (autograd::is_leaf(given)) return seen;
  if (is_view_of_leaf(given)) {
    const Active active(*this);
    return taeda::alias(seen);
  }
  const Tensor inner = shown(value);
  pass_gradients_to(inner, seen);
  return inner;
}

// ---- Note [Shared inputs] ----

void TraceRun::add_shared(const SharedMemory& memory) {
  const Active active(*this);
  const Tensor value = value_of_memory(memory);
  const Tensor root = shown(value);
  for (const SharedFamily& family : memory.families) {
    const bool is_first = &family == &memory.families.front();
    const Tensor own = is_first ? root : autograd::detached(root);
    const Tensor base = base_of_family(own, memory, family);
    for (const size_t i : family.inputs) {
      const Tensor& t = given(i);
      const bool is_whole = is_base(t, family.base) && memory.whole && is_same_look(t, own) &&
                            t.dtype() == own.dtype();
      const auto same = std::find_if(family.inputs.begin(), family.inputs.end(),
                                     [&](size_t other) { return given(other).impl() == t.impl(); });
      if (*same != i)
        seen_.inputs[i] = seen_.inputs[*same];
      else
        seen_.inputs[i] = Value(is_whole ? base : view_of_memory(base, t, memory.place_of(i)));
    }
  }
}

// Of the inputs: the one that covers the others, or all of them in a line.
Tensor TraceRun::value_of_memory(const SharedMemory& memory) {
  if (memory.whole) return seen_.values[*memory.whole].get<Tensor>();
  const InsideMode below(*this);
  const Device device = given(memory.inputs.front()).device();
  Tensor line = taeda::zeros({memory.length}, memory.dtype, std::nullopt, device);
  for (const size_t i : memory.inputs)
    line = scatter_where_looks(line, seen_.values[i].get<Tensor>(), given(i), memory.place_of(i));
  return line;
}

// The tensor that the inputs of a family are views of inside.
Tensor TraceRun::base_of_family(const Tensor& own, const SharedMemory& memory,
                                const SharedFamily& family) {
  if (!options_.differentiates || !family.requires_grad) return own;
  Source source{own, {}, &memory};
  for (const size_t i : family.inputs)
    if (autograd::requires_grad(given(i))) source.inputs.push_back(i);
  if (!family.is_leaf) source.leaf = fake_like(own);
  autograd::set_requires_grad(source.leaf, true);
  if (!family.is_leaf) pass_gradients_to(own, source.leaf);
  sources_.push_back(std::move(source));
  return own;
}

void TraceRun::split(const Source& source, const Tensor& grad, std::vector<Tensor>& by_input) {
  if (!grad.defined()) return;
  if (!source.memory) {
    by_input[source.inputs.front()] = grad;
    return;
  }
  for (const size_t i : source.inputs) {
    const bool is_first = source.memory->place_of(i) == SymInt(0);
    if (!is_first || given(i).dtype() != source.leaf.dtype() ||
        !is_same_look(given(i), source.leaf))
      continue;
    by_input[i] = grad;
    return;
  }
  const autograd::NoGrad unrecorded;
  const Tensor zero =
      taeda::zeros({source.memory->length}, grad.dtype(), std::nullopt, grad.device());
  Tensor rest = taeda::as_strided_scatter(zero, grad, source.leaf.sym_sizes(),
                                          source.leaf.sym_strides(), SymInt(0));
  for (const size_t i : source.inputs) {
    const SymInt& place = source.memory->place_of(i);
    by_input[i] = view_of_memory(rest, given(i), place).clone();
    rest = scatter_where_looks(rest, taeda::zeros_like(by_input[i]), given(i), place);
  }
}

}  // namespace taeda::fx
