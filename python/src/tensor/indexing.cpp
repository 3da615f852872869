// Reads Python indices: integers, slices, None, Ellipsis, bools, masks, index tensors and
// sequences.
#include "python/src/tensor/indexing.h"

#include <limits>
#include <utility>

#include "python/interop/errors.h"
#include "python/interop/gil.h"
#include "python/interop/numbers.h"
#include "python/interop/sym_numbers.h"
#include "python/interop/tensor_object.h"
#include "python/interop/tensor_values.h"
#include "python/interop/wrap.h"
#include "python/src/args/arg_match.h"
#include "python/src/dispatch/overrides.h"
#include "python/src/tensor/class_reads.h"
#include "python/src/tensor/factories.h"
#include "python/src/tensor/tensor_type.h"
#include "taeda/autograd/variable.h"
#include "taeda/dispatch/levels.h"
#include "taeda/dispatch/modes.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/indexing/index_checks.h"
#include "taeda/ops/indexing/index_shape.h"
#include "taeda/ops/number_range.h"
#include "taeda/ops/shape.h"
#include "taeda/ops/view_part/stepped.h"

namespace taeda::python {

namespace {

// The parts of an index; views into the caller's tuple.
struct Items {
  PyObject* const* data;
  Py_ssize_t size;
  PyObject* const* begin() const { return data; }
  PyObject* const* end() const { return data + size; }
};

bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

bool is_plain_integer(PyObject* o) {
  return PyLong_CheckExact(o) || (!is_tensor(o) && !PyBool_Check(o) && is_integer(o)) ||
         numpy_scalar_kind(o) == NumpyKind::Int;
}

bool is_basic(PyObject* o) {
  return is_plain_integer(o) || PySlice_Check(o) || o == Py_None || o == Py_Ellipsis;
}

bool has_symbolic_part(PyObject* o) {
  if (!PySlice_Check(o)) return is_symint(o);
  const auto* s = reinterpret_cast<PySliceObject*>(o);
  return is_symint(s->start) || is_symint(s->stop) || is_symint(s->step);
}

// Bounds are left to the operator, which adjusts them without asking for the size.
Tensor sliced_symbolically(const Tensor& view, int64_t dim, PyObject* o) {
  const auto* s = reinterpret_cast<PySliceObject*>(o);
  const auto bound = [](PyObject* b) {
    return b == Py_None ? std::nullopt : std::optional(to_symint(b));
  };
  const SymInt step = s->step == Py_None ? SymInt(1) : to_symint(s->step);
  TAEDA_CHECK_VALUE(step > SymInt(0), "step must be greater than zero");
  if (s->start == Py_None && s->stop == Py_None && step == SymInt(1)) return view;
  return taeda::slice(view, dim, bound(s->start), bound(s->stop), step);
}

struct SliceBounds {
  int64_t start, stop, step, length;
};
SliceBounds bounds_of(PyObject* slice, int64_t size) {
  Py_ssize_t start = 0, stop = 0, step = 0;
  if (PySlice_Unpack(slice, &start, &stop, &step) < 0) throw_python_error();
  TAEDA_CHECK_VALUE(step > 0, "step must be greater than zero");
  const Py_ssize_t length = PySlice_AdjustIndices(size, &start, &stop, step);
  return {start, stop, step, length};
}

// As it was given, negative ones too: that is what modes see in PyTorch. The dimension of the
// message is the item's place in the index, also after `...` and None.
int64_t checked_position(PyObject* o, int64_t place, int64_t size) {
  const int64_t i = to_int64(o);
  TAEDA_CHECK_INDEX(i >= -size && i < size, "index ", i, " is out of bounds for dimension ", place,
                    " with size ", size);
  return i;
}
int64_t wrapped_position(PyObject* o, int64_t place, int64_t size) {
  const int64_t i = checked_position(o, place, size);
  return i < 0 ? i + size : i;
}

// The start or stop of a slice as it was given; numbers beyond int64 are its limits.
SymInt given_bound(PyObject* bound, int64_t absent) {
  if (bound == Py_None) return SymInt(absent);
  const Py_ssize_t value = PyNumber_AsSsize_t(bound, nullptr);
  if (value == -1 && PyErr_Occurred()) throw_python_error();
  return SymInt(static_cast<int64_t>(value));
}
SymInt given_start(PyObject* slice) {
  return given_bound(reinterpret_cast<PySliceObject*>(slice)->start, 0);
}
SymInt given_stop(PyObject* slice) {
  return given_bound(reinterpret_cast<PySliceObject*>(slice)->stop,
                     std::numeric_limits<int64_t>::max());
}

// Whether a mode, a class or a transform sees each step of an index.
bool is_observed(const Tensor& t) {
  const KeySet keys = (t.keys() | local_keys().include) - local_keys().exclude;
  return keys.has(Key::Python) || keys.has(Key::Fake) || keys.has(Key::TransformFront);
}

// Raises the error for a single item as the index of a tensor without dimensions.
void check_not_scalar(const Tensor& self, PyObject* index) {
  if (self.dim() > 0) return;
  TAEDA_CHECK_INDEX(!PySlice_Check(index), "slice() cannot be applied to a 0-dim tensor.");
  const int64_t i = is_plain_integer(index) ? to_int64(index) : 0;
  TAEDA_CHECK_INDEX(i == 0, "index ", i, " is out of bounds for dimension 0 with size 0");
  TAEDA_CHECK_INDEX(false,
                    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                    "`tensor.item<T>()` in C++ to "
                    "convert a 0-dim tensor to a number");
}

// A tuple, or a short list that holds more than numbers: x[[0, 1]] picks rows, x[[rows, columns]]
// is x[rows, columns].
bool is_index_tuple(PyObject* index) {
  if (PyTuple_Check(index)) return true;
  if (!PyList_Check(index) || PyList_GET_SIZE(index) >= 32) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(index); ++i) {
    PyObject* o = PyList_GET_ITEM(index, i);
    if (is_tensor(o) || PySlice_Check(o) || o == Py_Ellipsis || o == Py_None ||
        (PySequence_Check(o) && !PyUnicode_Check(o)))
      return true;
  }
  return false;
}

// How many dimensions of the indexed tensor an item uses up.
int64_t dims_used(PyObject* o) {
  if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o)) return 0;
  if (is_tensor(o) && is_mask(tensor_of(o))) return tensor_of(o).dim();
  return 1;
}

// A number to be assigned, as a tensor of the kind that the target is.
Tensor assigned_number(PyObject* value, const Tensor& self) {
  const Scalar number = rounded_to(to_scalar(value), self.dtype());
  const bool is_written_here = self.is_cpu() || self.is_meta();
  if (is_observed(self) || !is_written_here)
    return taeda::scalar_tensor(number, self.dtype(), {}, self.device());
  return scalar_tensor_of(number, self.dtype(), self.device());
}

// Only basic items and nothing to record: the whole index as one view.
Tensor apply_basic(const Tensor& self, Items items, int64_t used) {
  IntVec sizes, strides;
  int64_t offset = self.storage_offset(), dim = 0, place = 0, ellipsis_length = self.dim() - used;
  const IntList old_sizes = self.sizes(), old_strides = self.strides();
  const auto keep = [&](int64_t count) {
    for (; count > 0; --count, ++dim) {
      sizes.push_back(old_sizes[dim]);
      strides.push_back(old_strides[dim]);
    }
  };
  for (PyObject* o : items) {
    if (o == Py_None) {
      sizes.push_back(1);
      strides.push_back(dim < self.dim() ? old_sizes[dim] * old_strides[dim] : 1);
    } else if (o == Py_Ellipsis) {
      keep(std::exchange(ellipsis_length, 0));
    } else if (PySlice_Check(o)) {
      const SliceBounds b = bounds_of(o, old_sizes[dim]);
      offset += b.start * old_strides[dim];
      sizes.push_back(b.length);
      strides.push_back(stepped(old_strides[dim], b.step).word());
      ++dim;
    } else {
      offset += wrapped_position(o, place, old_sizes[dim]) * old_strides[dim];
      ++dim;
    }
    ++place;
  }
  keep(self.dim() - dim);
  return taeda::as_strided(self, as_symint(sizes), as_symint(strides), SymInt(offset));
}

// Applies items one by one; index tensors are collected for later.
class Walk {
 public:
  Walk(Tensor view, int64_t ellipsis_length)
      : out_{std::move(view), {}}, ellipsis_length_(ellipsis_length) {}

  void add(PyObject* o) {
    add_item(o);
    ++place_;
  }
  Indexed finish() {
    if (!has_tensor_) out_.indices.clear();
    return std::move(out_);
  }

 private:
  void add_item(PyObject* o) {
    Tensor& view = out_.view;
    const bool is_symbolic = view.impl()->has_symbolic_sizes() || has_symbolic_part(o);
    if (is_symbolic && PySlice_Check(o)) {
      view = sliced_symbolically(view, dim_, o);
      skip(1);
    } else if (is_symbolic && is_plain_integer(o)) {
      view = taeda::select(view, dim_, to_symint(o));
    } else if (is_plain_integer(o)) {
      const int64_t i = checked_position(o, place_, view.size(dim_));
      view = taeda::select(view, dim_, SymInt(i));
    } else if (PySlice_Check(o)) {
      const SliceBounds b = bounds_of(o, view.size(dim_));
      // A slice that takes everything leaves the tensor as it is.
      if (b.start != 0 || b.step != 1 || b.length != view.size(dim_))
        view = taeda::slice(view, dim_, given_start(o), given_stop(o), SymInt(b.step));
      skip(1);
    } else if (o == Py_None) {
      view = taeda::unsqueeze(view, dim_);
      skip(1);
    } else if (o == Py_Ellipsis) {
      // A second ellipsis stands for nothing.
      skip(std::exchange(ellipsis_length_, 0));
    } else if (PyBool_Check(o)) {
      add_bool(o == Py_True);
    } else if (is_tensor(o)) {
      add_tensor(tensor_of(o));
    } else {
      add_tensor(tensor_from_index(o));
    }
  }
  void skip(int64_t count) {
    out_.indices.resize(out_.indices.size() + static_cast<size_t>(count));
    dim_ += count;
  }
  void record(Tensor index, int64_t covered) {
    out_.indices.push_back(std::move(index));
    has_tensor_ = true;
    dim_ += covered;
  }
  void add_bool(bool value) {
    out_.view = taeda::unsqueeze(out_.view, dim_);
    Tensor index = make_tensor({value ? 1 : 0}, DType::Int64, out_.view.device());
    if (value) index = taeda::fill_(index, Scalar(0));
    record(std::move(index), 1);
  }
  void add_tensor(const Tensor& t) {
    TAEDA_CHECK_INDEX(is_integral(t.dtype(), true),
                      "tensors used as indices must be long, int, byte or bool tensors");
    // An index that differs between the examples of a batch has no one value to select.
    if (t.dim() > 0 || (dispatch::is_batched(t) && !is_mask(t)))
      return record(t, is_mask(t) ? t.dim() : 1);
    if (t.dtype() == DType::UInt8) warn_of_byte_mask();
    if (is_mask(t)) return add_bool(read_item(t).to_bool());
    const Scalar item = read_item(t);
    // Of a number that only data tells the run finds out.
    const SymInt i = item.is_symbolic() ? SymInt(IntrusivePtr<SymNode>::share(item.node()))
                                        : SymInt(item.to_int());
    const SymInt size = out_.view.sym_size(dim_);
    TAEDA_CHECK_INDEX(i.is_symbolic() || (i >= -size && i < size), "index ", i,
                      " is out of bounds for dimension ", place_, " with size ", size);
    out_.view = taeda::select(out_.view, dim_, i);
  }
  static Tensor tensor_from_index(PyObject* o) {
    TAEDA_CHECK_INDEX(
        PySequence_Check(o),
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
        "indices (got ",
        Py_TYPE(o)->tp_name, ")");
    Tensor t = lifted_from_data(o, DType::Undefined, Device());
    // Numbers are cut to integers; an empty list has no element to tell its type.
    return is_mask(t) ? t : taeda::to(t, Device(), DType::Int64);
  }

  Indexed out_;
  int64_t ellipsis_length_;
  int64_t dim_ = 0;
  int64_t place_ = 0;
  bool has_tensor_ = false;
};

}  // namespace

Indexed apply_index(const Tensor& self, PyObject* index) {
  const Items items = is_index_tuple(index)
                          ? Items{PySequence_Fast_ITEMS(index), PySequence_Fast_GET_SIZE(index)}
                          : Items{&index, 1};
  int64_t used = 0;
  bool all_basic = true;
  for (PyObject* o : items) {
    used += dims_used(o);
    all_basic = all_basic && is_basic(o) && !has_symbolic_part(o);
  }
  if (is_plain_integer(index) || PySlice_Check(index)) check_not_scalar(self, index);
  TAEDA_CHECK_INDEX(used <= self.dim(), "too many indices for tensor of dimension ", self.dim());
  const bool is_recorded = autograd::grad_enabled() && autograd::requires_grad(self);
  const bool is_plain = !is_recorded && !self.impl()->has_symbolic_sizes() && !is_observed(self);
  if (all_basic && items.size > 1 && is_plain) return {apply_basic(self, items, used), {}};
  Walk walk(self, self.dim() - used);
  for (PyObject* o : items) walk.add(o);
  return walk.finish();
}

namespace {

// Whether the tensor, an index, or the value to be assigned overrides.
bool is_indexing_overridden(PyObject* self, PyObject* index, PyObject* value = nullptr) {
  if (is_overridden(self) || (value && overrides(value))) return true;
  if (!PyTuple_Check(index) && !PyList_Check(index)) return overrides(index);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(index); ++i)
    if (overrides(PySequence_Fast_GET_ITEM(index, i))) return true;
  return false;
}

}  // namespace

PyObject* tensor_getitem(PyObject* self_object, PyObject* index) {
  if (is_indexing_overridden(self_object, index)) {
    Overloaded overloaded;
    overloaded.add_if_overrides(self_object);
    overloaded.add_items(index);
    const Ref args(PyTuple_Pack(2, self_object, index));
    return args ? call_override(tensor_callee("__getitem__"), overloaded, args.get(), nullptr)
                : nullptr;
  }
  return guarded([&] {
    const Tensor& self = tensor_of(self_object);
    const bool is_symbolic = self.impl()->has_symbolic_sizes();
    if (PyLong_CheckExact(index) && !is_symbolic) {
      check_not_scalar(self, index);
      return wrap(taeda::select(self, 0, SymInt(checked_position(index, 0, self.size(0)))));
    }
    if (PySlice_Check(index) && !is_symbolic && !has_symbolic_part(index)) {
      check_not_scalar(self, index);
      const SliceBounds b = bounds_of(index, self.size(0));
      return wrap(taeda::slice(self, 0, SymInt(b.start), SymInt(b.stop), SymInt(b.step)));
    }
    Indexed r = apply_index(self, index);
    if (!r.indices.empty()) {
      Tensor result = [&] {
        GilRelease gil(is_large(r.view));
        return taeda::index(r.view, r.indices);
      }();
      return wrap(result);
    }
    // The result is never the tensor itself: x[...] is a new view.
    return wrap(r.view.is_same(self) ? taeda::alias(self) : r.view);
  });
}

namespace {

// Copies a value that broadcasts; one that does not is expanded for the error PyTorch gives.
void assign(Tensor view, const Tensor& value) {
  if (!is_expandable_to(value.sym_sizes(), view.sym_sizes()))
    taeda::expand(value, view.sym_sizes());
  // One element may be the target's own; copy_ alone would refuse it.
  const bool is_own = value.dim() == 0 && view.dim() > 0 && value.storage() == view.storage();
  taeda::copy_(view, is_own ? value.clone() : value);
}

}  // namespace

int tensor_setitem(PyObject* self_object, PyObject* index, PyObject* value) {
  if (value && is_indexing_overridden(self_object, index, value)) {
    Overloaded overloaded;
    overloaded.add_if_overrides(self_object);
    overloaded.add_items(index);
    overloaded.add_if_overrides(value);
    const Ref args(PyTuple_Pack(3, self_object, index, value));
    const Ref answer(
        args ? call_override(tensor_callee("__setitem__"), overloaded, args.get(), nullptr)
             : nullptr);
    return answer ? 0 : -1;
  }
  return guarded_int([&] {
    TAEDA_CHECK_TYPE(value, "Tensor does not support deleting items");
    const Tensor& self = tensor_of(self_object);
    TAEDA_CHECK_TYPE(is_tensor(value) || is_number(value), "can't assign a ",
                     Py_TYPE(value)->tp_name, " to a torch.", self.dtype(), "Tensor");
    if (!is_tensor(value) && !is_observed(self))
      check_fits(rounded_to(to_scalar(value), self.dtype()), self.dtype());
    Indexed r = apply_index(self, index);
    if (r.indices.empty()) {
      if (is_tensor(value))
        assign(r.view, without_leading_ones(tensor_of(value), r.view.dim()));
      else if (repeats_elements(r.view))
        assign(r.view, assigned_number(value, r.view));
      else
        taeda::fill_(r.view, rounded_to(to_scalar(value), r.view.dtype()));
      return 0;
    }
    const Tensor source =
        without_leading_ones(is_tensor(value) ? tensor_of(value) : assigned_number(value, self), 0);
    GilRelease gil(is_large(r.view));
    taeda::index_put_(r.view, r.indices, source);
    return 0;
  });
}

Py_ssize_t tensor_length(PyObject* self) {
  if (is_overridden(self)) {
    const Ref answer(call_method_override(tensor_callee("__len__"), self));
    return answer ? PyNumber_AsSsize_t(answer.get(), PyExc_OverflowError) : -1;
  }
  try {
    const Tensor& t = tensor_of(self);
    const Ref told = sizes_from_class(self);
    TAEDA_CHECK_TYPE(told ? PyTuple_GET_SIZE(told.get()) : t.dim(), "len() of a 0-d tensor");
    if (told) return PyNumber_AsSsize_t(PyTuple_GET_ITEM(told.get(), 0), PyExc_OverflowError);
    return static_cast<Py_ssize_t>(t.sym_size(0).expect_int());
  } catch (...) {
    translate_exception();
    return -1;
  }
}

int tensor_contains(PyObject* self, PyObject* value) {
  if (is_overridden(self)) {
    const Ref answer(call_method_override(tensor_callee("__contains__"), self, value));
    return answer ? PyObject_IsTrue(answer.get()) : -1;
  }
  if (is_tensor(value) && overrides(value)) {
    const Ref equal(PyObject_RichCompare(value, self, Py_EQ));
    const Ref any(equal ? PyObject_CallMethod(equal.get(), "any", nullptr) : nullptr);
    return any ? PyObject_IsTrue(any.get()) : -1;
  }
  return guarded_int([&] {
    TAEDA_CHECK(is_tensor(value) || is_number(value),
                "Tensor.__contains__ only supports Tensor or scalar, but you passed in a <class '",
                Py_TYPE(value)->tp_name, "'>.");
    const Tensor element = is_tensor(value) ? tensor_of(value) : wrapped_scalar(to_scalar(value));
    return static_cast<int>(read_item(taeda::any(taeda::eq(tensor_of(self), element))).to_bool());
  });
}

PyObject* tensor_iter(PyObject* self) {
  if (is_overridden(self)) {
    const Ref rows(PyObject_CallMethod(self, "unbind", "i", 0));
    return rows ? PyObject_GetIter(rows.get()) : nullptr;
  }
  return guarded([&]() -> PyObject* {
    const Tensor& t = tensor_of(self);
    TAEDA_CHECK_TYPE(t.dim() > 0, "iteration over a 0-d tensor");
    Ref rows(checked(wrap(taeda::unbind(t, 0))));
    return PyObject_GetIter(rows.get());
  });
}

}  // namespace taeda::python
