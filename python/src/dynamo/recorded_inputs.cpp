// Inputs of a recorded graph: tensors and numbers of the program, with their guards.
#include <algorithm>
#include <cctype>
#include <cmath>

#include "python/interop/errors.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/wrap.h"
#include "python/src/dynamo/recorder_parts.h"
#include "python/src/fx/fx_fake.h"
#include "taeda/autograd/grad_level.h"
#include "taeda/autograd/variable.h"
#include "taeda/base/str.h"
#include "taeda/dispatch/levels.h"
#include "taeda/dynamo/capture/errors.h"
#include "taeda/fx/input_history.h"
#include "taeda/fx/shapes/sym_expr_node.h"
#include "taeda/ops/functions.h"

namespace taeda::python {

using dynamo::Break;

namespace {

// L['self']._modules['fc'] as the name of a node: L_self_modules_fc_
std::string node_name(const std::string& source) {
  std::string name;
  for (const char c : source) {
    const bool is_word = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (is_word && !(c == '_' && !name.empty() && name.back() == '_')) name += c;
    if (!is_word && !name.empty() && name.back() != '_') name += '_';
  }
  return name;
}

}  // namespace

// Which sizes of an input a setting names: True for all, a tuple, or None. Of a number, whether.
Ref GraphRecorder::told_changes(const std::string& name) const {
  if (changing_sources_.get() == Py_None) return Ref::share(Py_None);
  return Ref(checked(PyObject_CallFunction(changing_sources_.get(), "s", name.c_str())));
}

// Remembers the numbers of an input; -1 stands for those that were others before.
static const std::vector<int64_t>& compare(std::vector<int64_t>& seen, IntList now) {
  for (size_t d = 0; d < now.size(); ++d)
    if (seen[d] != now[d]) seen[d] = -1;
  return seen;
}

// mark_dynamic(tensor, dim, min=, max=): the region is for sizes in between.
static void read_limits(PyObject* tensor, std::vector<fx::DimConstraint>& constraints) {
  const Ref ranges(PyObject_GetAttrString(tensor, "_dynamo_dynamic_range"));
  if (!ranges) return PyErr_Clear();
  const Ref all(checked(PySequence_Tuple(ranges.get())));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all.get()); ++i) {
    const auto number = [&](const char* name, int64_t otherwise) {
      const Ref value(checked(PyObject_GetAttrString(PyTuple_GET_ITEM(all.get(), i), name)));
      return value.get() == Py_None ? otherwise : PyLong_AsLongLong(value.get());
    };
    const auto d = static_cast<size_t>(number("dim", 0));
    if (d >= constraints.size()) continue;
    constraints[d].kind = fx::DimConstraint::Kind::Strict;
    constraints[d].range = {number("min", 0), number("max", symbolic::IntRange::kMax)};
  }
  if (PyErr_Occurred()) throw_python_error();
}

GraphRecorder::Changes GraphRecorder::changes_of(const Tensor& t, PyObject* object, int source,
                                                 const std::string& name) {
  using fx::DimDynamic;
  const auto rank = static_cast<size_t>(t.dim());
  // Sizes that are equal by chance stay apart, except where all sizes are symbols from the start.
  Changes changes{std::vector<DimDynamic>(
                      rank, dynamic_ == Dynamic::Always ? DimDynamic::Duck : DimDynamic::Static),
                  std::vector<fx::DimConstraint>(rank)};
  std::vector<DimDynamic>& dims = changes.dims;
  const Ref told = told_changes(name);
  if (told.get() == Py_True) {
    dims.assign(rank, DimDynamic::Dynamic);
    return changes;
  }
  const auto take_told = [&] {
    const Py_ssize_t count = told.get() == Py_None ? 0 : PyTuple_GET_SIZE(told.get());
    for (Py_ssize_t i = 0; i < count; ++i) {
      const auto d = static_cast<size_t>(PyLong_AsLong(PyTuple_GET_ITEM(told.get(), i)));
      if (d < rank) dims[d] = DimDynamic::Dynamic;
    }
  };
  // Parameters have the sizes they have, but those that a run makes of its inputs.
  PyObject* parameter = sources_[source].step == dynamo::Step::Leaf ? nullptr : parameter_class();
  const int is_parameter = parameter ? PyObject_IsInstance(object, parameter) : 0;
  if (is_parameter < 0) throw_python_error();
  if (is_parameter) {
    dims.assign(rank, DimDynamic::Static);
    take_told();
    return changes;
  }
  const auto [known, is_new] = history_.sizes.try_emplace(name, t.sizes().begin(), t.sizes().end());
  std::vector<int64_t>& known_strides = history_.strides[name];
  // Of another rank than before: the sizes of an input that changes so much change as well.
  if (known->second.size() != rank) known->second.assign(rank, -1);
  if (is_new || known_strides.size() != rank)
    known_strides.assign(t.strides().begin(), t.strides().end());
  const std::vector<int64_t>& sizes = compare(known->second, t.sizes());
  const std::vector<int64_t>& strides = compare(known_strides, t.strides());
  if (dynamic_ == Dynamic::WhereChanged)
    for (size_t d = 0; d < rank; ++d) {
      if (sizes[d] == -1) dims[d] = DimDynamic::Dynamic;
      changes.strides |= strides[d] == -1;
    }
  const auto marked = [&](uint64_t marks, DimDynamic how) {
    for (size_t d = 0; d < rank; ++d)
      if (marks >> d & 1) dims[d] = how;
  };
  const dynamo::SizeMarks marks = dynamo::SizeMarks::of(object);
  if (dynamic_ == Dynamic::WhereChanged) marked(marks.propagated, DimDynamic::Dynamic);
  marked(marks.constant, DimDynamic::Static);
  marked(marks.maybe_dynamic, DimDynamic::Dynamic);
  marked(marks.dynamic, DimDynamic::Dynamic);
  marked(marks.unbacked, DimDynamic::Unbacked);
  for (size_t d = 0; d < rank; ++d)
    if (marks.dynamic >> d & 1) changes.constraints[d].kind = fx::DimConstraint::Kind::Relaxed;
  read_limits(object, changes.constraints);
  take_told();
  return changes;
}

// Sizes of a tensor inside of a wrapper that are a symbol there.
void GraphRecorder::change_with_owner(Changes& changes, const Tensor& t, int path) const {
  int owner = path;
  const auto is_owner = [&](const Input& input) {
    return input.source == owner && input.fake.defined() &&
           class_dispatches(Py_TYPE(input.real.get()));
  };
  for (owner = sources_[path].parent; owner >= 0; owner = sources_[owner].parent) {
    const auto input = std::find_if(inputs_.begin(), inputs_.end(), is_owner);
    if (input == inputs_.end()) continue;
    const Tensor& outer = tensor_of(input->real.get());
    if (outer.dim() != t.dim()) return;
    for (size_t d = 0; d < changes.dims.size(); ++d)
      if (input->fake.sym_sizes()[d].is_symbolic() && outer.sizes()[d] == t.sizes()[d] &&
          changes.dims[d] == fx::DimDynamic::Static)
        changes.dims[d] = fx::DimDynamic::Dynamic;
    return;
  }
}

// A size that is outside of what its mark says is an error of the marks.
fx::ShapeEnv::Geometry GraphRecorder::geometry_of(const Tensor& t, const std::string& name,
                                                  const Changes& changes) {
  try {
    return env_->create_geometry(t.sizes(), t.strides(), t.storage_offset(), name, changes.dims,
                                 changes.constraints, changes.strides);
  } catch (const fx::ConstraintViolation&) {
    translate_exception();
    throw dynamo::Refused{};
  }
}

// Functions that turn the values of an input by its bits are calls of the graph's beginning, where
// neither levels of transforms nor a mode that the program set are on.
void GraphRecorder::check_turned(const Tensor& t, PyObject* real) const {
  const bool is_without_grad =
      autograd::requires_grad(t) && !(starts_with_grad_ && autograd::grad_enabled());
  if (is_without_grad || dispatch::num_levels() > 0 || is_in_rehearsal() || is_of_asked_class(real))
    throw Break{"a tensor whose values are still to be turned"};
}

// The tensor of the program made of its values as they lie in memory.
Tensor GraphRecorder::turn(Tensor fake, const Tensor& real, std::vector<fx::Node*>& turns) {
  // Placeholders come first: a node of the graph's beginning takes them.
  fx::Node* first = nullptr;
  std::vector<fx::Node*> late;
  for (fx::Node& node : *graph_) {
    const bool is_input = node.op() == fx::OpCode::Placeholder;
    if (!first && !is_input) first = &node;
    if (first && is_input) late.push_back(&node);
  }
  for (fx::Node* node : late) graph_->move_before(*node, *first);
  std::optional<fx::InsertBefore> here;
  if (first) here.emplace(*graph_, *first);
  const auto add = [&](const char* name, Tensor made) {
    fx::Node& node =
        create(attribute_of("taeda", name), {fx::Arg(*tracer_->node_of(fake))}, nullptr);
    node.set_val(dispatch::Value(made));
    tracer_->track(made, node);
    turns.push_back(&node);
    ++num_turns_;
    fake = std::move(made);
  };
  if (real.is_conj()) add("conj", conj(fake));
  if (real.is_neg()) add("_neg_view", _neg_view(fake));
  return fake;
}

PyObject* GraphRecorder::import_tensor(PyObject* real, int source, const std::string& given_name) {
  const Natively natively;
  const Tensor& given = tensor_of(real);
  const bool is_turned = given.is_conj() || given.is_neg();
  if (is_turned) check_turned(given, real);
  const Tensor t = is_turned ? dynamo::turned(given) : given;
  const int path = is_turned ? sources_.of(dynamo::Step::Turned, source) : source;
  const std::string name = is_turned ? sources_.text(path) : given_name;
  if (fx::is_fake(t) || t.impl()->has_symbolic_sizes() || dispatch::wrapper_of(t))
    throw Break{"a fake tensor of the program"};
  if (const TensorExtra* extra = t.impl()->extra_or_null(); extra && extra->read_from_class != 0)
    throw Break{"a tensor whose class tells its sizes"};
  if (t.layout() != Layout::Strided) throw Break{"a tensor that is not strided"};
  if (const auto* base = t.impl()->view_base())
    for (const Input& input : inputs_)
      if (input.is_told && tensor_of(input.real.get()).impl() == base)
        throw Break{"a view of a tensor whose requires_grad was set"};
  if (has_new_histories_) check_histories(t);
  Changes changes = changes_of(t, real, source, name);
  change_with_owner(changes, t, path);
  const std::vector<fx::DimDynamic>& dims = changes.dims;
  const bool is_static = !changes.strides && std::all_of(dims.begin(), dims.end(), [](auto d) {
    return d == fx::DimDynamic::Static;
  });
  // A stand-in is one of inference where its tensor is, whatever mode the program is in by now.
  const autograd::InferenceMode as_made(t.is_inference());
  Tensor fake;
  if (is_static) {
    fake = mode_->from_tensor(t);
  } else {
    const auto g = geometry_of(t, name, changes);
    fake = mode_->from_tensor(t, g.sizes, g.strides, g.offset);
    mode_->remember(t, fake);
  }
  if (autograd::requires_grad(t) && !autograd::requires_grad(fake))
    autograd::set_requires_grad(fake, true);
  fx::match_history(fake, t);  // what has a history may be written to
  dynamo::TensorGuard guard{is_turned ? tensor_type : Py_TYPE(real),
                            t.dtype(),
                            t.device(),
                            t.layout(),
                            autograd::requires_grad(t),
                            t.is_conj(),
                            t.is_neg(),
                            t.is_inference(),
                            {},
                            {},
                            dynamo::SizeMarks::of(real)};
  if (is_turned) {
    // Its bits, and what it tells of itself; sizes and strides are those in memory.
    dynamo::TensorGuard bits = guard;
    bits.type = Py_TYPE(real);
    bits.is_conj = given.is_conj();
    bits.is_neg = given.is_neg();
    bits.sizes = IntVec(dims.size(), -1);
    bits.strides = IntVec(dims.size(), -1);
    add_guard(source, std::move(bits));
  }
  bool has_symbols = fake.impl()->sym_storage_offset().is_symbolic();
  for (size_t d = 0; d < dims.size(); ++d) {
    const SymInt& size = fake.sym_sizes()[d];
    const SymInt& stride = fake.sym_strides()[d];
    has_symbols |= size.is_symbolic() || stride.is_symbolic();
    guard.sizes.push_back(size.is_symbolic() ? -1 : t.sizes()[d]);
    guard.strides.push_back(stride.is_symbolic() ? -1 : t.strides()[d]);
  }
  add_guard(path, std::move(guard));
  if (has_symbols) guards_.shaped.push_back(path);
  tracer_->add_input(unique_name(name), fake);
  const bool is_subclass = is_of_asked_class(real);
  has_subclasses_ |= is_subclass;
  const Tensor taken = fake;  // by the graph
  std::vector<fx::Node*> turns;
  if (is_turned) {
    kept_.emplace_back(checked(wrap(t)));
    fake = turn(std::move(fake), given, turns);
  }
  // Classes of the program may have methods and operators of their own.
  const bool is_own =
      is_subclass || (Py_TYPE(real) != tensor_type &&
                      reinterpret_cast<PyObject*>(Py_TYPE(real)) != parameter_class());
  Ref object(checked(is_own ? tensor_object(Py_TYPE(real), fake) : wrap(fake)));
  // A handler of operators is asked when the graph runs.
  fake.impl()->set_keys(fake.keys() - KeySet(Key::Python));
  Tensor example = taken.detach();
  input_of_[fake.impl()] = inputs_.size();
  autograd::set_requires_grad(example, autograd::requires_grad(t));
  fx::match_history(example, t);
  mode_->note_real(example, t);
  inputs_.push_back({fake, Ref::share(object.get()), Ref(checked(wrap(example))), Ref::share(real),
                     source, fake.impl()->version()});
  inputs_.back().guard = guards_.tensors.size() - 1;
  if (is_turned) inputs_.back().given = path;
  inputs_.back().turns = std::move(turns);
  return object.release();
}

void GraphRecorder::add_guard(int path, dynamo::TensorGuard guard) {
  guards_.checks.push_back(
      {dynamo::Check::Kind::Tensor, path, nullptr, static_cast<int64_t>(guards_.tensors.size())});
  guards_.tensors.push_back(std::move(guard));
}

// Where a tensor begins in its memory follows from where inputs do that it is a view of.
void GraphRecorder::note_offset(const Tensor& t) {
  for (const Input& input : inputs_) {
    if (!input.fake.defined() || input.fake.storage() != t.storage()) continue;
    if (!input.fake.impl()->sym_storage_offset().is_symbolic())
      guards_.tensors[input.guard].offset = tensor_of(input.real.get()).storage_offset();
  }
}

// Tensors of the program with common memory are apart in the graph. One of them that gets a history
// by a write gives it to the others, where they are views of one tensor.
void GraphRecorder::check_histories(const Tensor& given) const {
  for (const Input& input : inputs_) {
    if (!input.fake.defined() || !autograd::requires_grad(input.fake)) continue;
    const Tensor& real = tensor_of(input.real.get());
    if (!autograd::requires_grad(real) && real.impl() != given.impl() &&
        real.storage() == given.storage())
      throw Break{"a write with gradients to memory that inputs share"};
  }
}

void GraphRecorder::note_histories() {
  for (const Input& input : inputs_) {
    if (!input.fake.defined() || !autograd::requires_grad(input.fake)) continue;
    if (autograd::requires_grad(tensor_of(input.real.get()))) continue;
    has_new_histories_ = true;
    for (const Input& other : inputs_)
      if (other.fake.defined()) check_histories(tensor_of(other.real.get()));
    return;
  }
}

// Numbers that were others before change; with `dynamic=True` all arguments but 0 and 1 do.
template <class Number>
void GraphRecorder::note_change(std::map<std::string, Number>& seen, const std::string& name,
                                Number value, int source) {
  const auto [known, is_new] = seen.try_emplace(name, value);
  const bool is_told = dynamic_ == Dynamic::Always && value != Number(0) && value != Number(1);
  // Of several kinds: an int and a float, or a tensor before.
  const bool is_of_both_kinds = (history_.ints.contains(name) && history_.floats.contains(name)) ||
                                history_.sizes.contains(name);
  if ((!is_new && known->second != value) || is_of_both_kinds || (is_told && is_argument(source)))
    history_.changing[name] = true;
}

PyObject* GraphRecorder::import_float(PyObject* real, int source, const std::string& name) {
  const double value = PyFloat_AS_DOUBLE(real);
  note_change(history_.floats, name, value, source);
  if (!history_.changing.contains(name) || !std::isfinite(value)) return nullptr;
  Ref object(checked(wrap_number(env_, env_->create_float_symbol(value, name))));
  const auto& node = sym_node_of(object.get());
  return add_number(real, source, name, dispatch::Value(node), std::move(object));
}

PyObject* GraphRecorder::add_number(PyObject* real, int source, const std::string& name,
                                    dispatch::Value value, Ref object) {
  tracer_->add_input(unique_name(name), std::move(value));
  guards_.checks.push_back(
      {dynamo::Check::Kind::TypeIs, source, reinterpret_cast<PyObject*>(Py_TYPE(real)), 0});
  guards_.shaped.push_back(source);
  inputs_.push_back(
      {Tensor(), Ref::share(object.get()), Ref::share(object.get()), Ref::share(real), source, 0});
  return object.release();
}

// Whether a number is an argument, or lies in containers that are arguments: what objects have as
// attributes rarely changes.
bool GraphRecorder::is_argument(int source) const {
  using dynamo::Step;
  for (const dynamo::Source* at = &sources_[source]; at->step != Step::Local;
       at = &sources_[at->parent]) {
    const bool is_item = at->step == Step::Index || at->step == Step::Item;
    if (!is_item || at->parent < 0) return false;
  }
  return true;
}

// One that no capture read yet is a constant, except where settings say otherwise.
bool GraphRecorder::may_change(PyObject*, int source, const std::string& name) const {
  if (is_in_rehearsal() || (dynamic_ == Dynamic::Always && is_argument(source))) return true;
  if (history_.ints.contains(name) || history_.floats.contains(name) ||
      history_.sizes.contains(name) || history_.changing.contains(name))
    return true;
  const Natively natively;
  return told_changes(name).get() != Py_None;
}

PyObject* GraphRecorder::import_number(PyObject* real, int source, const std::string& name) {
  // What an autograd Function reads by itself is no input of its node.
  if (is_in_rehearsal()) return nullptr;
  // Handlers may read what the program reads.
  for (const Input& input : inputs_)
    if (!input.fake.defined() && input.source == source) return Py_NewRef(input.object.get());
  const Natively natively;
  if (told_changes(name).get() != Py_None) {
    history_.changing[name] = true;
  } else if (dynamic_ == Dynamic::Never ||
             (PyFloat_CheckExact(real) ? has_constant_floats_ : has_constant_ints_)) {
    return nullptr;
  }
  if (PyFloat_CheckExact(real)) return import_float(real, source, name);
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(real, &overflow);
  if (overflow != 0) return nullptr;
  note_change(history_.ints, name, value, source);
  if (!history_.changing.contains(name)) return nullptr;
  // Products of two fit in 64 bits; larger numbers stay constants.
  constexpr int64_t kMost = int64_t{1} << 31, kLeast = -kMost;
  if (value < kLeast || value > kMost) return nullptr;
  const fx::Expr* symbol =
      env_->create_symbol(value, name, fx::DimDynamic::Dynamic, {}, {kLeast, kMost});
  const SymInt number = env_->symint(symbol);
  return add_number(real, source, name, dispatch::Value(number), Ref(checked(wrap(number))));
}

PyObject* GraphRecorder::import_drawn(bool is_float, int source, const std::string& name) {
  const Natively natively;
  const fx::Expr* symbol = env_->create_unbacked(is_float ? SymKind::Float : SymKind::Int);
  Ref object(checked(wrap_number(env_, symbol)));
  const auto& node = sym_node_of(object.get());
  tracer_->add_input(unique_name(name),
                     is_float ? dispatch::Value(node) : dispatch::Value(SymInt(node)));
  inputs_.push_back(
      {Tensor(), Ref::share(object.get()), Ref::share(object.get()), Ref(), source, 0});
  return object.release();
}

// Inputs of a graph have names of their own.
std::string GraphRecorder::unique_name(const std::string& source) {
  std::string name = node_name(source);
  for (int i = 1; !names_.insert(name).second; ++i) name = str(node_name(source), i);
  return name;
}

}  // namespace taeda::python
