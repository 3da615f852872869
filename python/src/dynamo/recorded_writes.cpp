// Memory that calls of a graph write to, and truth values that they take.
#include <string_view>

#include "python/interop/sym_numbers.h"
#include "python/src/dynamo/recorder_parts.h"
#include "python/src/fx/fx_types.h"
#include "taeda/autograd/grad_mode.h"
#include "taeda/autograd/variable.h"
#include "taeda/dynamo/capture/errors.h"
#include "taeda/ops/indexing/index_checks.h"
#include "taeda/ops/spec.h"

namespace taeda::python {

using dynamo::Break;

namespace {

Ref name_of(PyObject* function) {
  Ref name(PyObject_GetAttrString(function, "__name__"));
  if (!name) PyErr_Clear();
  return name && PyUnicode_Check(name.get()) ? std::move(name) : Ref();
}

// Names of functions that write to their first tensor: add_, __setitem__.
bool writes_by_name(PyObject* function) {
  const Ref name = name_of(function);
  const char* text = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
  if (!text) return false;
  const std::string_view s(text);
  return s == "__setitem__" || s == "setitem" || (s.ends_with("_") && !s.ends_with("__"));
}

bool sets_item_by_name(PyObject* function) {
  const Ref name = name_of(function);
  const char* text = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
  return text && std::string_view(text).find("setitem") != std::string_view::npos;
}

bool overlaps_partly(const Tensor& written, const Tensor& other) {
  try {
    check_no_partial_overlap(written, other);
    return false;
  } catch (const Error&) {
    return true;
  }
}

// An index that gives a view.
bool is_basic(PyObject* index) {
  if (PyTuple_Check(index)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index); ++i)
      if (!is_basic(PyTuple_GET_ITEM(index, i))) return false;
    return true;
  }
  return PyLong_CheckExact(index) || is_symint(index) || PySlice_Check(index) ||
         index == Py_Ellipsis || index == Py_None;
}

// `t[index] = value` writes to the view alone: of value itself in `t[index] += 1`.
bool overlaps_item_partly(PyObject* args, dispatch::Mode& mode) {
  if (PyTuple_GET_SIZE(args) != 3 || !is_tensor(PyTuple_GET_ITEM(args, 0)) ||
      !is_tensor(PyTuple_GET_ITEM(args, 2)) || !is_basic(PyTuple_GET_ITEM(args, 1)))
    return true;
  const GraphRecorder::Natively natively;
  const dispatch::ActiveMode active(mode);
  const Ref view(PyObject_GetItem(PyTuple_GET_ITEM(args, 0), PyTuple_GET_ITEM(args, 1)));
  if (view) return overlaps_partly(tensor_of(view.get()), tensor_of(PyTuple_GET_ITEM(args, 2)));
  PyErr_Clear();  // the call itself raises
  return true;
}

}  // namespace

WrittenMemory::WrittenMemory(PyObject* function, PyObject* args, PyObject* kwargs,
                             dispatch::Mode& mode)
    : args_(args) {
  PyObject* out = kwargs ? PyDict_GetItemString(kwargs, "out") : nullptr;
  if (out)
    for_each_tensor(out, [&](PyObject* o) {
      sizes_.emplace_back(tensor_of(o), SymIntVec(tensor_of(o).sym_sizes()));
    });
  if (!writes_by_name(function)) return;
  check_repeats();
  std::optional<Tensor> written;
  for_each_tensor(args, [&](PyObject* o) {
    if (!written)
      written = tensor_of(o);
    else if (overlaps_partly(*written, tensor_of(o)) &&
             !(sets_item_by_name(function) && !overlaps_item_partly(args, mode)))
      throw Break{"a write to a part of the memory of an argument"};
  });
}

// Whether it is a view, and so an error, an input alone does not tell.
void GraphRecorder::check_detached(PyObject* function, PyObject* args) const {
  const Ref name = name_of(function);
  if (!name || PyUnicode_CompareWithASCIIString(name.get(), "detach_") != 0) return;
  for_each_tensor(args, [&](PyObject* o) {
    if (input_of_.contains(tensor_of(o).impl())) throw Break{"detach_ of a tensor from outside"};
  });
}

void GraphRecorder::check_write(const Tensor& written) const {
  // A view that is older than a write goes back to what all are views of.
  for (const TensorImpl* input : seen_own_flags_)
    if (input->storage() == written.storage())
      throw Break{"a write after views of a view that requires gradients by itself"};
  const auto found = input_of_.find(written.impl());
  if (found == input_of_.end() || !autograd::grad_enabled() || !autograd::requires_grad(written))
    return;
  try {
    autograd::check_inplace(tensor_of(inputs_[found->second].real.get()), true);
  } catch (const Error&) {
    throw Break{"a write that autograd refuses"};
  }
}

// resize_ gives more memory to a tensor of the program, or to one that others look into: no value
// of a graph is that.
void GraphRecorder::check_grown(const Tensor& grown) const {
  if (input_of_.contains(grown.impl())) throw Break{"a tensor of the program that becomes larger"};
  for (const fx::Node* node : since(0))
    dispatch::for_each_tensor(node->val(), [&](const Tensor& t) {
      if (t.defined() && t.impl() != grown.impl() && t.storage() == grown.storage())
        throw Break{"a tensor with views that becomes larger"};
    });
}

// A view that was not recorded requires gradients where its base does.
void GraphRecorder::check_own_flags(PyObject* result) {
  for_each_tensor(result, [&](PyObject* o) {
    const TensorImpl* t = tensor_of(o).impl();
    const auto input = input_of_.find(t->view_base());
    if (input == input_of_.end() || !t->view_base()->requires_grad_flag()) return;
    const Tensor& real = tensor_of(inputs_[input->second].real.get());
    const TensorImpl* base = real.impl()->view_base();
    if (!base || base->requires_grad_flag() || !autograd::is_leaf(real)) return;
    if (t->view_origin() == ViewOrigin::InNoGrad || t->view_origin() == ViewOrigin::InInference)
      throw Break{"an unrecorded view of a view that requires gradients by itself"};
    seen_own_flags_.insert(t->view_base());
  });
}

void WrittenMemory::check_after() const {
  if (sizes_.empty()) check_repeats();
  for (const auto& [t, before] : sizes_)
    if (t.sym_sizes() != SymIntList(before)) throw Break{"a call that resizes its out"};
}

void WrittenMemory::check_repeats() const {
  bool is_first = true;
  for_each_tensor(args_, [&](PyObject* o) {
    if (is_first && repeats_elements(tensor_of(o)))
      throw Break{"a write to a tensor whose elements share memory"};
    is_first = false;
  });
}

static bool has_gradient(const dispatch::Value& val) {
  bool found = false;
  dispatch::for_each_tensor(
      val, [&](const Tensor& t) { found |= t.defined() && autograd::requires_grad(t); });
  return found;
}

PyObject* GraphRecorder::set_data(PyObject* tensor, PyObject* value) {
  const Tensor& t = tensor_of(tensor);
  const bool is_input = input_of_.contains(t.impl());
  if (is_in_rehearsal() || num_levels() > 0 || is_subclass(tensor) || is_subclass(value) ||
      t.is_conj() || t.is_neg() || !overrides().modes.empty() ||
      (!is_input && autograd::requires_grad(t)))
    throw Break{"a write to an attribute of a tensor"};
  // Attributes of objects with handlers stay, and these compute with them.
  const Ref both(checked(PyTuple_Pack(2, tensor, value)));
  if (asks_handlers(both.get(), nullptr))
    throw Break{"new data of a class with __torch_dispatch__"};
  // A graph's input has the sizes that it begins with among the gradients.
  if (is_input && autograd::requires_grad(t) &&
      tensor_of(value).sym_sizes() != SymIntList(t.sym_sizes()))
    throw Break{"new data of other sizes for a tensor that requires gradients"};
  // Saved tensors show the new data in eager, of which a graph knows nothing.
  if (const fx::Node* used = is_input && autograd::requires_grad(t) ? tracer_->node_of(t) : nullptr)
    for (const fx::Node* user : used->users().list())
      if (has_gradient(user->val())) throw Break{"new data for a tensor that gradients go through"};
  static PyObject* const detach =
      checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), "detach"));
  const Ref args(checked(PyTuple_Pack(1, value)));
  Ref data(call(detach, args.get(), nullptr));
  if (!data) return nullptr;
  const Natively natively;
  try {
    autograd::set_data(t, tensor_of(data.get()));
  } catch (...) {
    translate_exception();
    return nullptr;
  }
  fx::Node* const before = tracer_->node_of(t);
  fx::Node* const node = tracer_->node_of(tensor_of(data.get()));
  tracer_->track(t, *node);
  gets_data_.insert(t.impl());
  if (autograd::requires_grad(t))
    new_data_.try_emplace(t.impl(), NewData{before, nullptr}).first->second.data = node;
  return data.release();
}

// A tensor like it takes the gradient, or refuses it.
bool GraphRecorder::check_grad(PyObject* tensor, PyObject* grad) {
  const Natively natively;
  const Tensor& t = tensor_of(tensor);
  const auto input = input_of_.find(t.impl());
  try {
    const Tensor like = tensor_of(grad).is_same(t) ? t : autograd::detached(t);
    if (input != input_of_.end())
      if (const Tensor& real = tensor_of(inputs_[input->second].real.get());
          autograd::is_leaf(real))
        autograd::set_grad_dtype(like, autograd::grad_dtype(real));
    autograd::set_grad(like, tensor_of(grad));
    return true;
  } catch (...) {
    translate_exception();
    return false;
  }
}

// Where gradients are on, the data has the input's place among the gradients.
void GraphRecorder::use_new_data(const Tensor& t) {
  const auto found = new_data_.find(t.impl());
  if (found == new_data_.end()) return;
  const auto& [input, data] = found->second;
  const fx::Node* now = tracer_->node_of(t);
  if (now && (now != data || !autograd::grad_enabled())) return;
  if (!autograd::grad_enabled()) return tracer_->track(t, *data);
  const Natively natively;
  static PyObject* const with_data = attribute_of("taeda.compiler._new_data", "with_data");
  fx::Node& node = create(with_data, {fx::Arg(*input), fx::Arg(*data)}, nullptr);
  node.set_meta_value("stack_trace", dispatch::Value(user_lines()));
  node.set_val(dispatch::Value(t));
  tracer_->track(t, node);
}

Ref with_truth_values(PyObject* function, PyObject* args) {
  Ref known;
  const bool is_of_c = PyCFunction_Check(function) || Py_IS_TYPE(function, &PyMethodDescr_Type) ||
                       Py_IS_TYPE(function, &PyWrapperDescr_Type);
  if (!is_of_c || !PyTuple_Check(args)) return known;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    PyObject* given = PyTuple_GET_ITEM(args, i);
    if (!is_symbool(given)) continue;
    const int truth = PyObject_IsTrue(given);
    if (truth < 0) throw dynamo::Raised{};
    if (!known) {
      const Ref items(checked(PySequence_List(args)));
      known = Ref(checked(PyList_AsTuple(items.get())));
    }
    PyTuple_SetItem(known.get(), i, Py_NewRef(truth ? Py_True : Py_False));
  }
  return known;
}

}  // namespace taeda::python
