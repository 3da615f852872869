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

bool GraphRecorder::is_told_to_change(const std::string& name) const {
  if (changing_sources_.get() == Py_None) return false;
  const Ref found(
      checked(PyObject_CallMethod(changing_sources_.get(), "fullmatch", "s", name.c_str())));
  return found.get() != Py_None;
}

// Remembers the numbers of an input; -1 stands for those that were others before.
static const std::vector<int64_t>& compare(std::vector<int64_t>& seen, IntList now) {
  if (seen.size() != now.size()) {
    seen.assign(now.begin(), now.end());
  } else {
    for (size_t d = 0; d < now.size(); ++d)
      if (seen[d] != now[d]) seen[d] = -1;
  }
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

GraphRecorder::Changes GraphRecorder::changes_of(const Tensor& t, PyObject* object,
                                                 const std::string& name) {
  using fx::DimDynamic;
  const auto rank = static_cast<size_t>(t.dim());
  // Sizes that are equal by chance stay apart, except where all sizes are symbols from the start.
  Changes changes{std::vector<DimDynamic>(
                      rank, dynamic_ == Dynamic::Always ? DimDynamic::Duck : DimDynamic::Static),
                  std::vector<fx::DimConstraint>(rank)};
  std::vector<DimDynamic>& dims = changes.dims;
  if (is_told_to_change(name)) {
    dims.assign(rank, DimDynamic::Dynamic);
    return changes;
  }
  // Parameters have the sizes they have.
  PyObject* parameter = parameter_class();
  const int is_parameter = parameter ? PyObject_IsInstance(object, parameter) : 0;
  if (is_parameter < 0) throw_python_error();
  if (is_parameter) {
    dims.assign(rank, DimDynamic::Static);
    return changes;
  }
  const std::vector<int64_t>& sizes = compare(history_.sizes[name], t.sizes());
  const std::vector<int64_t>& strides = compare(history_.strides[name], t.strides());
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
  return changes;
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

PyObject* GraphRecorder::import_tensor(PyObject* real, int source, const std::string& name) {
  const Natively natively;
  const Tensor& t = tensor_of(real);
  if (fx::is_fake(t) || t.impl()->has_symbolic_sizes() || dispatch::wrapper_of(t))
    throw Break{"a fake tensor of the program"};
  if (t.layout() != Layout::Strided) throw Break{"a tensor that is not strided"};
  if (t.is_conj() || t.is_neg()) throw Break{"a tensor whose values are still to be turned"};
  if (has_new_histories_) check_histories(t);
  const Changes changes = changes_of(t, real, name);
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
  dynamo::TensorGuard guard{Py_TYPE(real),
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
  bool has_symbols = fake.impl()->sym_storage_offset().is_symbolic();
  for (size_t d = 0; d < dims.size(); ++d) {
    const SymInt& size = fake.sym_sizes()[d];
    const SymInt& stride = fake.sym_strides()[d];
    has_symbols |= size.is_symbolic() || stride.is_symbolic();
    guard.sizes.push_back(size.is_symbolic() ? -1 : t.sizes()[d]);
    guard.strides.push_back(stride.is_symbolic() ? -1 : t.strides()[d]);
  }
  guards_.checks.push_back(
      {dynamo::Check::Kind::Tensor, source, nullptr, static_cast<int64_t>(guards_.tensors.size())});
  guards_.tensors.push_back(std::move(guard));
  if (has_symbols) guards_.shaped.push_back(source);
  tracer_->add_input(unique_name(name), fake);
  const bool is_subclass = is_of_asked_class(real);
  has_subclasses_ |= is_subclass;
  Ref object(checked(is_subclass ? tensor_object(Py_TYPE(real), fake) : wrap(fake)));
  input_of_[fake.impl()] = inputs_.size();
  Tensor example = fake.detach();
  autograd::set_requires_grad(example, autograd::requires_grad(t));
  fx::match_history(example, t);
  mode_->note_real(example, t);
  inputs_.push_back({fake, Ref::share(object.get()), Ref(checked(wrap(example))), Ref::share(real),
                     source, fake.impl()->version()});
  return object.release();
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
  if ((!is_new && known->second != value) || (is_told && is_argument(source)))
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

PyObject* GraphRecorder::import_number(PyObject* real, int source, const std::string& name) {
  // What an autograd Function reads by itself is no input of its node.
  if (is_in_rehearsal()) return nullptr;
  const Natively natively;
  if (is_told_to_change(name)) {
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
