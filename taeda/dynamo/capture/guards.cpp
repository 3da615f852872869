#include "taeda/dynamo/capture/guards.h"

#include <structmember.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "python/interop/tensor_object.h"
#include "taeda/autograd/variable.h"
#include "taeda/base/str.h"

namespace taeda::dynamo {

bool (*is_plain_module_call)(PyObject* module) = nullptr;
void (*tables_of_plain_call)(PyObject* module, std::vector<PyObject*>& tables) = nullptr;

namespace {

bool same_items(PyObject* a, PyObject* b) {
  const Py_ssize_t count = PyTuple_GET_SIZE(a);
  if (count != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!same_constant(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
  return true;
}

bool same_number(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

}  // namespace

Owned abc_token() {
  static PyObject* const ask = imported("_abc", "get_cache_token");
  Owned token(ask == nullptr ? nullptr : PyObject_CallNoArgs(ask));
  if (!token) PyErr_Clear();
  return token;
}

bool same_constant(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) return same_number(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  if (PyTuple_Check(a)) return same_items(a, b);
  if (PyComplex_Check(a)) {
    const Py_complex x = reinterpret_cast<PyComplexObject*>(a)->cval;
    const Py_complex y = reinterpret_cast<PyComplexObject*>(b)->cval;
    return same_number(x.real, y.real) && same_number(x.imag, y.imag);
  }
  if (PySlice_Check(a)) {
    const auto* x = reinterpret_cast<PySliceObject*>(a);
    const auto* y = reinterpret_cast<PySliceObject*>(b);
    return same_constant(x->start, y->start) && same_constant(x->stop, y->stop) &&
           same_constant(x->step, y->step);
  }
  // Classes derived from these may have an __eq__ of their own.
  if (PyUnicode_Check(a)) return PyUnicode_Compare(a, b) == 0;
  if (PyBytes_Check(a))
    return PyBytes_GET_SIZE(a) == PyBytes_GET_SIZE(b) &&
           std::memcmp(PyBytes_AS_STRING(a), PyBytes_AS_STRING(b), PyBytes_GET_SIZE(a)) == 0;
  if (PyFloat_Check(a)) return same_number(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  if (PyLong_Check(a)) {
    Owned equal(PyLong_Type.tp_richcompare(a, b, Py_EQ));
    return equal.get() == Py_True;
  }
  const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal == 1;
}

SizeMarks SizeMarks::of(PyObject* tensor) {
  SizeMarks marks;
  PyObject* dict = reinterpret_cast<python::TensorObject*>(tensor)->dict;
  if (dict == nullptr || PyDict_GET_SIZE(dict) == 0) return marks;
  const int64_t ndim = python::tensor_of(tensor).dim();
  const auto read = [&](PyObject* name, uint64_t& bits) {
    PyObject* indices = PyDict_GetItemWithError(dict, name);
    for (int64_t d = 0; indices != nullptr && d < ndim; ++d) {
      const Owned index(PyLong_FromLongLong(d));
      if (index && PySequence_Contains(indices, index.get()) == 1) bits |= uint64_t{1} << d;
    }
    PyErr_Clear();
  };
  static PyObject* const names[] = {
      PyUnicode_InternFromString("_dynamo_dynamic_indices"),
      PyUnicode_InternFromString("_dynamo_weak_dynamic_indices"),
      PyUnicode_InternFromString("_dynamo_unbacked_indices"),
      PyUnicode_InternFromString("_dynamo_static_indices"),
      PyUnicode_InternFromString("_dynamo_propagated_dynamic_indices")};
  read(names[0], marks.dynamic);
  read(names[1], marks.maybe_dynamic);
  read(names[2], marks.unbacked);
  read(names[3], marks.constant);
  read(names[4], marks.propagated);
  return marks;
}

bool SizeMarks::are_within(const SizeMarks& others) const {
  return !(dynamic & ~others.dynamic) && !(maybe_dynamic & ~others.maybe_dynamic) &&
         !(unbacked & ~others.unbacked) && !(constant & ~others.constant);
}

bool TensorGuard::fits(PyObject* object) const {
  if (Py_TYPE(object) != type) return false;
  const Tensor& t = python::tensor_of(object);
  if (t.dtype() != dtype || t.device() != device || t.layout() != layout ||
      autograd::requires_grad(t) != requires_grad || t.is_conj() != is_conj ||
      t.is_neg() != is_neg || t.is_inference() != is_inference || t.impl()->has_symbolic_sizes() ||
      t.dim() != static_cast<int64_t>(sizes.size()) ||
      (is_leaf && autograd::is_leaf(t) != *is_leaf) || (offset && t.storage_offset() != *offset))
    return false;
  const IntList own = t.sizes(), own_strides = t.strides();
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] >= 0 && sizes[d] != own[d]) return false;
    if (strides[d] >= 0 && strides[d] != own_strides[d]) return false;
  }
  return SizeMarks::of(object).are_within(marks);
}

bool FlatTensor::describes(const TensorGuard& guard) {
  const auto is_symbol = [](int64_t v) { return v < 0; };
  return guard.sizes.size() <= kDims && guard.layout == Layout::Strided && !guard.is_conj &&
         !guard.is_neg && !guard.is_inference && !guard.is_leaf && !guard.offset &&
         std::none_of(guard.sizes.begin(), guard.sizes.end(), is_symbol) &&
         std::none_of(guard.strides.begin(), guard.strides.end(), is_symbol);
}

FlatTensor::FlatTensor(PyObject* tensor, const TensorGuard& guard)
    : object(tensor),
      impl(python::tensor_of(tensor).impl()),
      type(guard.type),
      dtype(guard.dtype),
      device(guard.device),
      ndim(static_cast<uint8_t>(guard.sizes.size())),
      requires_grad(guard.requires_grad),
      sizes{},
      strides{} {
  std::copy(guard.sizes.begin(), guard.sizes.end(), sizes);
  std::copy(guard.strides.begin(), guard.strides.end(), strides);
}

// False also where the object has another tensor by now: a run of all checks tells more.
__attribute__((always_inline)) inline bool FlatTensor::fits() const {
  const Tensor& t = python::tensor_of(object);
  if (Py_TYPE(object) != type || t.impl() != impl) return false;
  const bool is_like = impl->dtype() == dtype && impl->dim() == ndim && impl->device() == device &&
                       !impl->has_symbolic_sizes() && !impl->is_conj() && !impl->is_neg() &&
                       !impl->is_inference() && autograd::requires_grad(t) == requires_grad;
  if (!is_like) return false;
  const int64_t* own = impl->sizes().data();
  const int64_t* own_strides = impl->strides().data();
  for (size_t d = 0; d < ndim; ++d)
    if (sizes[d] != own[d] || strides[d] != own_strides[d]) return false;
  return reinterpret_cast<python::TensorObject*>(object)->dict == nullptr ||
         SizeMarks::of(object).are_within({});
}

std::string TensorGuard::difference(PyObject* object) const {
  if (!python::is_tensor(object)) return str("expected a tensor, got ", Py_TYPE(object)->tp_name);
  if (Py_TYPE(object) != type)
    return str("expected type ", type->tp_name, ", got ", Py_TYPE(object)->tp_name);
  const Tensor& t = python::tensor_of(object);
  if (t.dtype() != dtype)
    return str("dtype mismatch. expected ", dtype_name(dtype), ", actual ", dtype_name(t.dtype()));
  if (t.device() != device)
    return str("device mismatch. expected ", device, ", actual ", t.device());
  if (autograd::requires_grad(t) != requires_grad)
    return str("requires_grad mismatch. expected requires_grad=", requires_grad ? 1 : 0);
  if (t.dim() != static_cast<int64_t>(sizes.size()))
    return str("rank mismatch. expected ", sizes.size(), ", actual ", t.dim());
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] >= 0 && sizes[d] != t.sizes()[d])
      return str("size mismatch at index ", d, ". expected ", sizes[d], ", actual ", t.sizes()[d]);
    if (strides[d] >= 0 && strides[d] != t.strides()[d])
      return str("stride mismatch at index ", d, ". expected ", strides[d], ", actual ",
                 t.strides()[d]);
  }
  if (is_leaf && autograd::is_leaf(t) != *is_leaf)
    return str("is_leaf mismatch. expected is_leaf=", *is_leaf ? 1 : 0);
  if (offset && t.storage_offset() != *offset)
    return str("storage offset mismatch. expected ", *offset, ", actual ", t.storage_offset());
  if (!SizeMarks::of(object).are_within(marks)) return "other dimensions are marked";
  return "another tensor";
}

namespace {

PyTypeObject* class_of(PyObject* object) {
  return PyType_Check(object) ? reinterpret_cast<PyTypeObject*>(object) : Py_TYPE(object);
}

bool has_member(PyObject* object, PyObject* name) {
  PyObject* found = _PyType_Lookup(Py_TYPE(object), name);
  if (found == nullptr || !Py_IS_TYPE(found, &PyMemberDescr_Type)) return true;
  const auto* member = reinterpret_cast<PyMemberDescrObject*>(found)->d_member;
  PyObject* const* place =
      reinterpret_cast<PyObject* const*>(reinterpret_cast<const char*>(object) + member->offset);
  return *place != nullptr;
}

bool is_abc_token(PyObject* token) {
  Owned now = abc_token();
  return now && same_constant(now.get(), token);
}

Py_ssize_t length_of(PyObject* object) {
  if (PyList_Check(object)) return PyList_GET_SIZE(object);
  if (PyTuple_Check(object)) return PyTuple_GET_SIZE(object);
  if (PyDict_Check(object)) return PyDict_GET_SIZE(object);
  if (PyAnySet_Check(object)) return PySet_GET_SIZE(object);
  if (Py_IS_TYPE(object, deque_type())) return PySequence_Size(object);
  return -1;
}

bool has_keys(PyObject* dict, PyObject* keys) {
  if (!PyAnySet_Check(dict) &&
      (!PyDict_Check(dict) || PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys)))
    return false;
  if (PyAnySet_Check(dict) || PyODict_Check(dict)) {
    Owned items(keys_in_order(dict));
    if (!items) PyErr_Clear();
    return items && same_constant(items.get(), keys);
  }
  Py_ssize_t position = 0, i = 0;
  PyObject *key, *value;
  while (PyDict_Next(dict, &position, &key, &value))
    if (!same_constant(key, PyTuple_GET_ITEM(keys, i++))) return false;
  return true;
}

// By identity, as tensors and objects of most classes are found.
PyObject* keyed_item(PyObject* dict, PyObject* key) {
  if (dict == nullptr || key == nullptr || !PyDict_Check(dict)) return nullptr;
  PyObject* value = PyDict_GetItemWithError(dict, key);
  if (value == nullptr) PyErr_Clear();
  return value;
}

bool has_subclasses(PyObject* type, PyObject* expected) {
  if (!PyType_Check(type)) return false;
  Owned now = subclasses_of(reinterpret_cast<PyTypeObject*>(type));
  const bool is_like = now && PyList_GET_SIZE(now.get()) == PyTuple_GET_SIZE(expected);
  if (!now) PyErr_Clear();
  for (Py_ssize_t i = 0; is_like && i < PyTuple_GET_SIZE(expected); ++i)
    if (PyList_GET_ITEM(now.get(), i) != PyTuple_GET_ITEM(expected, i)) return false;
  return is_like;
}

// None where functions of the program would say it.
std::optional<bool> contains(PyObject* container, PyObject* key) {
  if (PyList_CheckExact(container)) return list_contains(container, key);
  if (!PyDict_Check(container) && !PyAnySet_Check(container)) return std::nullopt;
  const int contains =
      PyDict_Check(container) ? PyDict_Contains(container, key) : PySet_Contains(container, key);
  if (contains >= 0) return contains == 1;
  PyErr_Clear();
  return std::nullopt;
}

}  // namespace

// Two paths to one object, the first of them in the order of addresses.
static std::optional<std::pair<int, int>> first_twice(const std::vector<int>& sources,
                                                      const std::vector<PyObject*>& values) {
  thread_local std::vector<std::pair<PyObject*, int>> found;
  found.clear();
  for (const int source : sources) found.emplace_back(values[source], source);
  std::sort(found.begin(), found.end());
  const auto twice = std::adjacent_find(
      found.begin(), found.end(),
      [](const auto& a, const auto& b) { return a.first == b.first && a.first != nullptr; });
  if (twice == found.end()) return std::nullopt;
  return std::pair(twice->second, std::next(twice)->second);
}

bool GuardProgram::holds(const Check& check, const std::vector<PyObject*>& values) const {
  PyObject* value = values[check.source];
  using Kind = Check::Kind;
  if (value == nullptr || check.kind == Kind::Unbound)
    return value == nullptr && check.kind == Kind::Unbound;
  switch (check.kind) {
    case Kind::Is: return value == check.object;
    case Kind::Address: return reinterpret_cast<int64_t>(value) == check.number;
    case Kind::TypeIs: return reinterpret_cast<PyObject*>(Py_TYPE(value)) == check.object;
    case Kind::TypeVersion: return classes[check.number]->fits(class_of(value));
    case Kind::Equal: return same_constant(value, check.object);
    case Kind::Length: return length_of(value) == check.number;
    case Kind::Keys: return has_keys(value, check.object);
    case Kind::Absent: return contains(value, check.object) == false;
    case Kind::Present: return contains(value, check.object) == true;
    case Kind::AbsentKey:
    case Kind::PresentKey: {
      PyObject* key = values[check.number & 0xFFFFFFFF];
      PyObject* container = values[check.number >> 32];
      return key != nullptr && container != nullptr &&
             contains(container, key) == (check.kind == Kind::PresentKey);
    }
    case Kind::NoMember: return !has_member(value, check.object);
    case Kind::Member: return has_member(value, check.object);
    case Kind::Subclasses: return has_subclasses(value, check.object);
    case Kind::AbcToken: return is_abc_token(check.object);
    case Kind::Same: return value == values[check.number];
    case Kind::Distinct: return value != values[check.number];
    case Kind::AllDistinct: return !first_twice(groups[check.number], values);
    case Kind::Code:
      return PyFunction_Check(value) && PyFunction_GET_CODE(value) == check.object &&
             reinterpret_cast<int64_t>(PyFunction_GET_GLOBALS(value)) == check.number;
    case Kind::Definition:
      return PyCFunction_Check(value) &&
             reinterpret_cast<int64_t>(reinterpret_cast<PyCFunctionObject*>(value)->m_ml) ==
                 check.number;
    case Kind::Tensor: return tensors[check.number].fits(value);
    case Kind::PlainCall: return is_plain_module_call(value);
    case Kind::Unbound: return false;
  }
  return false;
}

namespace {

std::string shown(PyObject* object) {
  if (object == nullptr) return "nothing";
  Owned text(PyObject_Repr(object));
  const char* bytes = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (bytes == nullptr) PyErr_Clear();
  const std::string whole = bytes == nullptr ? Py_TYPE(object)->tp_name : bytes;
  constexpr size_t kLongest = 120;
  return whole.size() <= kLongest ? whole : whole.substr(0, kLongest) + "...";
}

}  // namespace

std::string GuardProgram::explain(const Check& check, const std::vector<PyObject*>& values) const {
  PyObject* value = values[check.source];
  const std::string& path = texts[check.source];
  using Kind = Check::Kind;
  if (value == nullptr) return str(path, " is not there");
  switch (check.kind) {
    case Kind::Is: return str(path, " is ", shown(value), ", expected ", shown(check.object));
    case Kind::Address: return str("id(", path, ") is another one");
    case Kind::TypeIs:
      return str("type(", path, ") is ", Py_TYPE(value)->tp_name, ", expected ",
                 reinterpret_cast<PyTypeObject*>(check.object)->tp_name);
    case Kind::TypeVersion: return str("class ", class_of(value)->tp_name, " was changed");
    case Kind::Equal: return str(path, " == ", shown(value), ", expected ", shown(check.object));
    case Kind::Length:
      return str("len(", path, ") == ", length_of(value), ", expected ", check.number);
    case Kind::Keys: return str("keys of ", path, " differ from ", shown(check.object));
    case Kind::Present: return str(path, " has no ", shown(check.object));
    case Kind::Absent: return str(path, " has ", shown(check.object), ", which it had not");
    case Kind::AbsentKey:
      return str(texts[check.number >> 32], " has ", texts[check.number & 0xFFFFFFFF],
                 ", which it had not");
    case Kind::PresentKey:
      return str(texts[check.number >> 32], " has no ", texts[check.number & 0xFFFFFFFF]);
    case Kind::NoMember: return str(path, " has ", shown(check.object), ", which it had not");
    case Kind::Member: return str(path, " has no ", shown(check.object));
    case Kind::Subclasses: return str("subclasses of ", path, " are not ", shown(check.object));
    case Kind::AbcToken: return "a class was registered with an abstract class";
    case Kind::Same: return str(path, " is not ", texts[check.number], " any more");
    case Kind::Distinct: return str(path, " is ", texts[check.number]);
    case Kind::AllDistinct: {
      const auto twice = first_twice(groups[check.number], values);
      return twice ? str(texts[twice->second], " is ", texts[twice->first]) : path;
    }
    case Kind::Code:
    case Kind::Definition: return str(path, " is another function");
    case Kind::Tensor: return str("tensor '", path, "' ", tensors[check.number].difference(value));
    case Kind::PlainCall: return str(path, " has hooks, or another way to be called");
    case Kind::Unbound: return str(path, " has a value");
  }
  return path;
}

const char* GuardProgram::name_of(Check::Kind kind) {
  using Kind = Check::Kind;
  switch (kind) {
    case Kind::Is:
    case Kind::Address: return "ID_MATCH";
    case Kind::TypeIs: return "TYPE_MATCH";
    case Kind::TypeVersion: return "CLASS_MATCH";
    case Kind::Equal: return "CONSTANT_MATCH";
    case Kind::Length: return "SEQUENCE_LENGTH";
    case Kind::Keys: return "DICT_KEYS_MATCH";
    case Kind::Absent:
    case Kind::Present:
    case Kind::AbsentKey:
    case Kind::PresentKey: return "DICT_CONTAINS";
    case Kind::Same:
    case Kind::Distinct:
    case Kind::AllDistinct: return "DUPLICATE_INPUT";
    case Kind::Code: return "CLOSURE_MATCH";
    case Kind::Definition: return "BUILTIN_MATCH";
    case Kind::Tensor: return "TENSOR_MATCH";
    case Kind::PlainCall: return "EMPTY_NN_MODULE_HOOKS_DICT";
    case Kind::Unbound: return "NOT_PRESENT_IN_GENERIC_DICT";
  }
  return "";
}

std::string GuardProgram::text(const Check& check) const {
  const std::string& path = texts[check.source];
  using Kind = Check::Kind;
  switch (check.kind) {
    case Kind::Is: return str(path, " is ", shown(check.object));
    case Kind::Address: return str("id(", path, ") == ", check.number);
    case Kind::TypeIs:
      return str("type(", path, ") is ", reinterpret_cast<PyTypeObject*>(check.object)->tp_name);
    case Kind::TypeVersion: return str(path, " is unchanged");
    case Kind::Equal: return str(path, " == ", shown(check.object));
    case Kind::Length: return str("len(", path, ") == ", check.number);
    case Kind::Keys: return str("keys of ", path, " are ", shown(check.object));
    case Kind::Absent: return str(shown(check.object), " not in ", path);
    case Kind::Present: return str(shown(check.object), " in ", path);
    case Kind::AbsentKey:
      return str(texts[check.number & 0xFFFFFFFF], " not in ", texts[check.number >> 32]);
    case Kind::PresentKey:
      return str(texts[check.number & 0xFFFFFFFF], " in ", texts[check.number >> 32]);
    case Kind::NoMember: return str(path, " has no ", shown(check.object));
    case Kind::Member: return str(path, " has ", shown(check.object));
    case Kind::Subclasses: return str("subclasses of ", path, " are ", shown(check.object));
    case Kind::AbcToken: return "no class was registered with an abstract class";
    case Kind::Same: return str(path, " is ", texts[check.number]);
    case Kind::Distinct: return str(path, " is not ", texts[check.number]);
    case Kind::AllDistinct: {
      std::string others;
      for (const int source : groups[check.number])
        if (source != check.source) others += (others.empty() ? "" : " nor ") + texts[source];
      return str(path, " is not ", others, ", which are distinct");
    }
    case Kind::Code:
    case Kind::Definition: return str(path, " is the same function");
    case Kind::Tensor: {
      const TensorGuard& guard = tensors[check.number];
      std::string sizes;
      for (const int64_t size : guard.sizes)
        sizes += (sizes.empty() ? "" : ", ") + (size < 0 ? std::string("?") : str(size));
      return str(path, ": ", dtype_name(guard.dtype), " tensor (", sizes, ") on ", guard.device,
                 guard.requires_grad ? ", requires grad" : "");
    }
    case Kind::PlainCall: return str(path, " has no hooks");
    case Kind::Unbound: return str(path, " has no value");
  }
  return path;
}

namespace {

bool is_pair(const Check& check) {
  return check.kind == Check::Kind::Same || check.kind == Check::Kind::Distinct ||
         check.kind == Check::Kind::AllDistinct || check.kind == Check::Kind::AbsentKey ||
         check.kind == Check::Kind::PresentKey;
}

// Whether the outcome of a check of a stable path follows from unchanged dicts.
bool is_decided_by_dicts(Check::Kind kind, PyObject* value) {
  using Kind = Check::Kind;
  switch (kind) {
    // An instance may be given another class.
    case Kind::TypeIs: return !(Py_TYPE(value)->tp_flags & Py_TPFLAGS_HEAPTYPE);
    case Kind::Keys: return PyDict_Check(value) && !PyODict_Check(value);
    case Kind::Present:
    case Kind::Absent: return !PyList_Check(value);
    case Kind::Is:
    case Kind::Definition:
    case Kind::PlainCall: return true;  // with its tables, which are looked at
    case Kind::Equal: return !PyAnySet_Check(value);
    case Kind::Length: return PyDict_Check(value) || PyTuple_Check(value);
    default: return false;
  }
}

}  // namespace

GuardProgram::Witness::Token GuardProgram::token_of(int local,
                                                    const std::vector<PyObject*>& values) const {
  Witness::Token token;
  PyObject* object = values[local];
  if (object == nullptr) return token;
  if (object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object) ||
      PyFloat_CheckExact(object) || PyUnicode_CheckExact(object) || PyType_Check(object)) {
    token.constant = Owned(Py_NewRef(object));
    return token;
  }
  const int dict = dict_path_[local];
  if (dict < 0 || values[dict] == nullptr || python::is_tensor(object)) return token;
  const auto [begin, end] = first_check_[local];
  for (int i = begin; i < end; ++i)
    if (checks[i].kind == Check::Kind::TypeIs) token.type = Py_TYPE(object);
  return token;
}

void GuardProgram::prepare() {
  const size_t count = sources.size();
  locals_.clear();
  unstable_.clear();
  pairs_.clear();
  stable_pairs_.clear();
  witness_.is_set = false;
  root_.assign(count, -1);
  is_stable_.assign(count, false);
  dict_path_.assign(count, -1);
  below_.assign(count, {});
  first_check_.assign(count, {0, 0});
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    const Source& source = sources[i];
    const int id = static_cast<int>(i);
    if (source.step == Step::Local) {
      root_[i] = id;
      locals_.push_back(id);
      is_stable_[i] = true;
    } else if (source.parent < 0) {
      is_stable_[i] = true;
    } else {
      root_[i] = root_[source.parent];
      // What a class holds may go with a change of the class, which no dict tells.
      const bool is_kept = source.step == Step::InstanceDict || source.step == Step::Item ||
                           source.step == Step::Type;
      is_stable_[i] = is_stable_[source.parent] && is_kept;
      if (source.step == Step::InstanceDict) dict_path_[source.parent] = id;
      if (!is_stable_[i]) unstable_.push_back(id);
      if (is_stable_[i] && root_[i] >= 0) below_[root_[i]].push_back(id);
    }
    const size_t begin = next;
    for (; next < checks.size() && checks[next].source == id; ++next)
      if (is_pair(checks[next])) add_pair(static_cast<int>(next));
    first_check_[i] = {static_cast<int>(begin), static_cast<int>(next)};
  }
}

void GuardProgram::add_pair(int number) {
  const Check& check = checks[number];
  // Keys may compare as they like.
  if (check.kind == Check::Kind::AbsentKey || check.kind == Check::Kind::PresentKey)
    return pairs_.push_back(number);
  std::vector<int> paths{check.source, static_cast<int>(check.number)};
  if (check.kind == Check::Kind::AllDistinct) paths = groups[check.number];
  const bool is_stable =
      std::all_of(paths.begin(), paths.end(), [&](int path) { return is_stable_[path]; });
  if (!is_stable) return pairs_.push_back(number);
  // A path from a kept object has the root -1, which never changes.
  std::set<int> roots;
  for (const int path : paths) roots.insert(root_[path]);
  for (const int root : roots) stable_pairs_[root].push_back(number);
}

void GuardProgram::keep_only(const std::vector<bool>& wanted, bool keeps_numbers) {
  std::vector<Check> kept_checks;
  ranks_.assign(shaped.size(), -1);
  for (size_t i = 0; i < checks.size(); ++i) {
    const auto place = std::find(shaped.begin(), shaped.end(), checks[i].source);
    if (checks[i].kind == Check::Kind::Tensor && place != shaped.end())
      ranks_[place - shaped.begin()] = static_cast<int64_t>(tensors[checks[i].number].sizes.size());
    if (wanted[i]) kept_checks.push_back(checks[i]);
  }
  checks = std::move(kept_checks);
  if (!keeps_numbers) shaped.clear();
  prepare();
}

bool GuardProgram::follow_source(int id, PyObject* const* const* frames,
                                 std::vector<PyObject*>& values, std::vector<Owned>& held) const {
  const Source& source = sources[id];
  if (source.step == Step::Local) {
    values[id] = frames[source.frame][source.index];
  } else if (source.parent < 0) {
    values[id] = source.key;
  } else {
    PyObject* parent = values[source.parent];
    if (source.step == Step::KeyedItem)
      values[id] = keyed_item(parent, values[source.index]);
    else
      values[id] = parent == nullptr ? nullptr : follow(source, parent, held);
  }
  return values[id] != nullptr;
}

bool GuardProgram::check_source(int id, const std::vector<PyObject*>& values) const {
  const auto [begin, end] = first_check_[id];
  for (int i = begin; i < end; ++i)
    if (!is_pair(checks[i]) && !holds(checks[i], values)) return false;
  return true;
}

GuardProgram::Witness::Part& GuardProgram::Witness::below(int local) {
  for (Part& part : parts)
    if (part.local == local) return part;
  parts.emplace_back().local = local;
  return parts.back();
}

// Keeps what a run that passed has found.
void GuardProgram::set_witness(const std::vector<PyObject*>& values) const {
  Witness& witness = witness_;
  witness.is_set = false;
  witness.values = values;
  witness.parts.clear();
  witness.tokens.clear();
  for (const int local : locals_) witness.tokens.push_back(token_of(local, values));
  std::vector<std::pair<PyTypeObject*, int>> classes;  // with the slot below which they are checked
  for (size_t i = 0; i < sources.size(); ++i) {
    PyObject* value = values[i];
    if (!is_stable_[i] || value == nullptr) continue;
    Witness::Part& part = witness.below(root_[i]);
    if (PyDict_Check(value)) {
      // Its owner lives while what leads there holds.
      const bool is_owned = sources[i].step == Step::InstanceDict;
      PyObject** place = is_owned ? _PyObject_GetDictPtr(values[sources[i].parent]) : nullptr;
      if (is_owned && place == nullptr) return;
      std::optional<DictMark> mark = DictMark::of(value);
      if (!mark) return;
      part.marks.push_back({place, std::move(*mark)});
    }
    const auto [begin, end] = first_check_[i];
    for (int c = begin; c < end; ++c) {
      const Check& check = checks[c];
      if (check.kind == Check::Kind::Tensor && FlatTensor::describes(tensors[check.number])) {
        part.tensors.emplace_back(value, tensors[check.number]);
        continue;
      }
      if (check.kind == Check::Kind::PlainCall) tables_of_plain_call(value, part.empty);
      // A class is looked at once; that objects have it is a check of its own.
      if (check.kind == Check::Kind::TypeVersion) {
        const std::pair one(class_of(value), root_[i]);
        if (std::find(classes.begin(), classes.end(), one) != classes.end()) continue;
        classes.push_back(one);
      }
      if (is_pair(check) || is_decided_by_dicts(check.kind, value)) continue;
      if (check.kind == Check::Kind::TypeIs)
        part.classes.emplace_back(value, reinterpret_cast<PyTypeObject*>(check.object));
      else
        part.checks.push_back(c);
    }
  }
  for (Witness::Part& part : witness.parts) {
    std::sort(part.empty.begin(), part.empty.end());
    part.empty.erase(std::unique(part.empty.begin(), part.empty.end()), part.empty.end());
  }
  witness.is_set = true;
}

bool GuardProgram::pass_witness(PyObject* const* const* frames, std::vector<PyObject*>& values,
                                std::vector<Owned>& held) const {
  const Witness& witness = witness_;
  values = witness.values;
  // What is looked at next is on its way while the present one is: of a large model nothing of it
  // is near.
  constexpr size_t kAhead = 16;
  // Slots that hold other objects now.
  constexpr size_t kMost = 16;
  int changed[kMost];
  size_t num_changed = 0;
  for (size_t i = 0; i < locals_.size(); ++i) {
    const int local = locals_[i];
    PyObject* now = frames[sources[local].frame][sources[local].index];
    if (now == nullptr && witness.values[local] == nullptr) continue;
    if (now != nullptr && witness.tokens[i].is_of(now, witness.values[local])) continue;
    if (num_changed == kMost) return false;
    changed[num_changed++] = local;
    values[local] = now;
  }
  const auto is_changed = [&](const Witness::Part& part) {
    return std::find(changed, changed + num_changed, part.local) != changed + num_changed;
  };
  for (const Witness::Part& part : witness.parts) {
    if (is_changed(part)) continue;
    for (size_t i = 0; i < part.marks.size(); ++i) {
      if (i + kAhead < part.marks.size()) __builtin_prefetch(part.marks[i + kAhead].dict.dict());
      const Witness::Mark& mark = part.marks[i];
      if (mark.place != nullptr && *mark.place != mark.dict.dict()) return false;
      if (!mark.dict.is_unchanged()) return false;
    }
  }
  for (const Witness::Part& part : witness.parts) {
    if (is_changed(part)) continue;
    for (const auto& [object, type] : part.classes)
      if (Py_TYPE(object) != type) return false;
    for (size_t i = 0; i < part.empty.size(); ++i) {
      if (i + kAhead < part.empty.size()) __builtin_prefetch(part.empty[i + kAhead]);
      if (PyDict_GET_SIZE(part.empty[i]) != 0) return false;
    }
    for (size_t i = 0; i < part.tensors.size(); ++i) {
      if (i + kAhead < part.tensors.size()) part.tensors[i + kAhead].prefetch();
      if (!part.tensors[i].fits()) return false;
    }
  }
  for (size_t i = 0; i < num_changed; ++i) {
    if (!check_source(changed[i], values)) return false;
    for (const int id : below_[changed[i]])
      if (!(follow_source(id, frames, values, held), check_source(id, values))) return false;
  }
  for (const Witness::Part& part : witness.parts) {
    if (is_changed(part)) continue;
    for (const int c : part.checks)
      if (!holds(checks[c], values)) return false;
  }
  for (const int id : unstable_) {
    follow_source(id, frames, values, held);
    if (!check_source(id, values)) return false;
  }
  // Pairs of paths, once all have their values.
  for (size_t i = 0; i < num_changed; ++i) {
    const auto found = stable_pairs_.find(changed[i]);
    if (found == stable_pairs_.end()) continue;
    for (const int c : found->second)
      if (!holds(checks[c], values)) return false;
  }
  for (const int c : pairs_)
    if (!holds(checks[c], values)) return false;
  return check_numbers(values, nullptr);
}

bool GuardProgram::follow_all(PyObject* const* const* frames, std::vector<PyObject*>& values,
                              std::vector<Owned>& held) const {
  held.clear();
  values.assign(sources.size(), nullptr);
  for (size_t i = 0; i < sources.size(); ++i)
    follow_source(static_cast<int>(i), frames, values, held);
  for (const Check& check : checks)
    if (check.kind == Check::Kind::Tensor && !holds(check, values)) return false;
  return check_numbers(values, nullptr);
}

bool GuardProgram::run(PyObject* const* const* frames, std::vector<PyObject*>& values,
                       std::vector<Owned>& held, std::string* reason) const {
  if (witness_.is_set && reason == nullptr && pass_witness(frames, values, held)) return true;
  held.clear();
  values.assign(sources.size(), nullptr);
  for (size_t i = 0; i < sources.size(); ++i) {
    follow_source(static_cast<int>(i), frames, values, held);
    const auto [begin, end] = first_check_[i];
    for (int c = begin; c < end; ++c) {
      if (holds(checks[c], values)) continue;
      if (reason != nullptr) *reason = explain(checks[c], values);
      return false;
    }
  }
  if (!check_numbers(values, reason)) return false;
  set_witness(values);
  return true;
}

// Whether a value is a tensor of this rank, or a number where that is -1.
static bool has_rank(PyObject* value, int64_t rank) {
  if (rank < 0) return PyLong_Check(value) || PyFloat_Check(value);
  return python::is_tensor(value) && python::tensor_of(value).dim() == rank;
}

bool GuardProgram::check_numbers(const std::vector<PyObject*>& values, std::string* reason) const {
  if (shaped.empty()) return true;
  std::vector<int64_t> given;
  for (size_t i = 0; i < shaped.size(); ++i) {
    PyObject* value = values[shaped[i]];
    if (value == nullptr) return false;
    if (!ranks_.empty() && !has_rank(value, ranks_[i])) return false;
    if (PyLong_Check(value)) {
      int overflow = 0;
      given.push_back(PyLong_AsLongLongAndOverflow(value, &overflow));
      if (overflow != 0) return false;
      continue;
    }
    if (PyFloat_Check(value)) {
      given.push_back(std::bit_cast<int64_t>(PyFloat_AS_DOUBLE(value)));
      continue;
    }
    const Tensor& t = python::tensor_of(value);
    given.insert(given.end(), t.sizes().begin(), t.sizes().end());
    given.insert(given.end(), t.strides().begin(), t.strides().end());
    given.push_back(t.storage_offset());
  }
  const std::optional<size_t> failure = numbers.first_failure(given);
  if (failure && reason != nullptr) *reason = numbers.texts()[*failure];
  return !failure;
}

}  // namespace taeda::dynamo
