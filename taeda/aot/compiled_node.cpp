// Backwards of compiled programs, as autograd calls them.
#include "taeda/aot/compiled_node.h"

#include <algorithm>

#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/variable.h"
#include "taeda/autograd/view_history.h"
#include "taeda/ops/functions.h"

namespace taeda::aot {

namespace {

bool is_kept_as_tensor(const Value& v) { return v.is<Tensor>() && v.get<Tensor>().defined(); }

}  // namespace

Tensor laid_out(const Tensor& t, const SymIntVec& strides) {
  bool is_alike = true;
  for (size_t d = 0; d < strides.size(); ++d)
    is_alike &= t.sym_sizes()[d] == SymInt(1) || t.sym_strides()[d] == strides[d];
  if (is_alike) return t;
  return t.new_empty_strided(t.sym_sizes(), SymIntList(strides)).copy_(t);  // of the same class
}

Unread::Unread(size_t input, const Value& value) : input_(input) {
  const bool is_leaf = is_kept_as_tensor(value) && autograd::requires_grad(value.get<Tensor>()) &&
                       autograd::is_leaf(value.get<Tensor>());
  if (!is_kept_as_tensor(value) || is_leaf) {
    number_or_leaf_ = value;
    return;
  }
  const Tensor& t = value.get<Tensor>();
  sizes_ = SymIntVec(t.sym_sizes());
  strides_ = SymIntVec(t.sym_strides());
  dtype_ = t.dtype();
  device_ = t.device();
}

Value Unread::value() const {
  if (!number_or_leaf_.is_none()) return number_or_leaf_;
  return Value(taeda::empty_strided(sizes_, strides_, dtype_, std::nullopt, device_));
}

void CompiledNode::apply(Span<Tensor> grads, std::vector<Tensor>& grad_inputs) {
  apply_and_show(grads, grad_inputs, {},
                 [](uint32_t, const Tensor& grad) -> Tensor { return grad; });
}

void CompiledNode::apply_and_show(Span<Tensor> grads, std::vector<Tensor>& grad_inputs,
                                  Span<uint32_t> asked, autograd::ShowInner show) {
  for (const auto& [i, error] : function_->traced().overwritten)
    TAEDA_CHECK(!grads[i].defined(), error);
  if (std::ranges::none_of(grads, [](const Tensor& t) { return t.defined(); })) return;
  // A gradient that is to have one itself is computed from the inputs.
  const bool is_recorded = autograd::grad_enabled();
  std::vector<Tensor> given = is_recorded ? grads.vec() : materialized(grads);
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i].defined()) given[i] = laid_out(given[i], strides_[i]);
  std::vector<Tensor> found;
  if (is_recorded) {
    found = run_twice(given, asked, show);
  } else if (asked.empty()) {
    found = function_->run_backward(unpack_saved(grads), grads, given, written_);
  } else {
    found = function_->run_and_show(unpack_saved(grads), grads, given, written_, asked, show);
  }
  function_->drop_unreached(grads, found);
  route(std::move(found), grad_inputs);
}

std::vector<Tensor> CompiledNode::run_twice(const std::vector<Tensor>& grads, Span<uint32_t> asked,
                                            autograd::ShowInner show) {
  std::vector<Tensor> inner;
  std::vector<Tensor> found = function_->run_twice(unpack_inputs(), grads, random_, asked, inner);
  for (size_t i = 0; i < asked.size(); ++i)
    TAEDA_CHECK_KIND(ErrorKind::NotImplemented,
                     !inner[i].defined() || show(asked[i], inner[i]).is_same(inner[i]),
                     "a hook that replaces the gradient of a compiled program's result which "
                     "others of its results are made of, in a backward with create_graph=True");
  return found;
}

void CompiledNode::release_saved() {
  CustomNode::release_saved();
  for (autograd::SavedTensor& s : more_) s.release();
}

void CompiledNode::release_resources() {
  more_.clear();
  others_.clear();
  written_.clear();
  CustomNode::release_resources();
}

void CompiledNode::keep(std::vector<Value> to_save, std::vector<Value> primals,
                        std::vector<Unread> others, std::vector<Tensor> written,
                        Span<Tensor> outputs, RandomStates random) {
  written_ = std::move(written);
  others_ = std::move(others);
  random_ = std::move(random);
  std::vector<Tensor> tensors;
  for (Value& v : to_save) {
    const bool is_kept = is_kept_as_tensor(v);
    if (is_kept) tensors.push_back(v.get<Tensor>());
    saved_values_.push_back({is_kept ? Value() : std::move(v), Place::Saved, tensors.size() - 1});
    if (!is_kept) saved_values_.back().place = Place::Here;
  }
  save(tensors, outputs);
  for (Value& v : primals) {
    const auto found = std::ranges::find_if(tensors, [&](const Tensor& t) {
      return is_kept_as_tensor(v) && t.is_same(v.get<Tensor>());
    });
    if (!is_kept_as_tensor(v)) {
      primals_.push_back({std::move(v), Place::Here, 0});
    } else if (found != tensors.end()) {
      primals_.push_back({Value(), Place::Saved, static_cast<size_t>(found - tensors.begin())});
    } else {
      primals_.push_back({Value(), Place::More, more_.size()});
      more_.emplace_back(v.get<Tensor>(), false);
    }
  }
  remember_outputs(outputs);
  for (const Tensor& t : outputs)
    strides_.push_back(t.defined() ? fx::tangent_strides(t) : SymIntVec());
}

void CompiledNode::accept_writes() {
  for (autograd::SavedTensor& s : saved()) s.accept_writes();
  for (autograd::SavedTensor& s : more_) s.accept_writes();
}

Value CompiledNode::unpack(const Kept& k) {
  if (k.place == Place::Here) return k.value;
  const autograd::SavedTensor& s = (k.place == Place::Saved ? saved() : more_).at(k.number);
  return Value(s.unpack_with_history(this));
}

// Eager does not look at what it does not read, which may have been overwritten.
std::vector<Value> CompiledNode::unpack_saved(Span<Tensor> grads) {
  std::vector<Value> values;
  for (const Kept& k : saved_values_) {
    const Tensor unread = k.place == Place::Here || function_->reads_saved(values.size(), grads)
                              ? Tensor()
                              : saved().at(k.number).kept_tensor();
    values.push_back(unread.defined() ? Value(unread) : unpack(k));
  }
  return values;
}

// The tensor as an input whose history is that of this one when the program began.
Value CompiledNode::with_history_of_input(const Value& copy, size_t input) const {
  if (!is_kept_as_tensor(copy)) return copy;
  size_t number = 0;
  for (size_t i = 0; i < input; ++i) number += is_tensor_argument(i);
  const autograd::Edge& edge = next_edge(number);
  if (!edge) return copy;
  const Tensor made = autograd::detached(copy.get<Tensor>());
  autograd::assign_node(made.impl(), edge.function, edge.input_nr);
  return Value(made);
}

std::vector<Value> CompiledNode::unpack_inputs() {
  std::vector<Value> inputs(function_->num_inputs());
  const Partition& parts = *function_->parts();
  for (size_t i = 0; i < parts.primal_inputs.size(); ++i) {
    Value& input = inputs[parts.primal_inputs[i]] = unpack(primals_[i]);
    // Of an input that the program writes to a copy is kept.
    if (parts.primals[i].kind != Saved::Kind::Input)
      input = with_history_of_input(input, parts.primal_inputs[i]);
  }
  for (const Unread& other : others_) inputs[other.input()] = other.value();
  return inputs;
}

}  // namespace taeda::aot
