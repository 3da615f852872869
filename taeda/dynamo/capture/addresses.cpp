// Addresses that the program asks for by id().
//
// Note [Addresses]: the address of an object of the program is that of the object itself, not of
// what stands for it; one that the captured program made has that of the capture. As a number of
// its own it is a value of each run: memos that are made in the region tell objects apart, which
// takes that they stay different (identities_), and recipes ask anew. Where it meets another
// number, becomes one, or a text, it is *settled*: a constant, good for whatever object has it. An
// object that was made has none to settle.
#include <algorithm>

#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

namespace {

void* pointer_of(PyObject* number) {
  void* address = PyLong_AsVoidPtr(number);
  PyErr_Clear();
  return address;
}

// Calls `visit` with the integers in an object and in the containers that it holds.
template <class Visit>
void visit_numbers(PyObject* object, const Visit& visit, int depth = 0) {
  constexpr int kDeepest = 4;
  if (PyLong_CheckExact(object)) return visit(object);
  if (depth > kDeepest) return;
  if (PyDict_Check(object)) {
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(object, &position, &key, &value)) {
      visit_numbers(key, visit, depth + 1);
      visit_numbers(value, visit, depth + 1);
    }
  } else if (PyList_Check(object) || PyTuple_Check(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
      visit_numbers(PySequence_Fast_GET_ITEM(object, i), visit, depth + 1);
  } else if (PyAnySet_Check(object)) {
    const Owned items(need(keys_in_order(object)));
    visit_numbers(items.get(), visit, depth + 1);
  }
}

bool is_of_containers(PyObject* callable) {
  if (!Py_IS_TYPE(callable, &PyMethodDescr_Type) && !Py_IS_TYPE(callable, &PyWrapperDescr_Type) &&
      !PyType_Check(callable))
    return false;
  PyTypeObject* owner =
      PyType_Check(callable) ? reinterpret_cast<PyTypeObject*>(callable) : PyDescr_TYPE(callable);
  return container_of(owner) != nullptr || owner == &PyTuple_Type || owner == &PyFrozenSet_Type;
}

// Functions of C that give on what they are given, or ask how much it is.
bool passes_on(PyObject* callable) {
  static PyObject* const known[] = {
      imported("builtins", "len"), imported("builtins", "iter"), imported("builtins", "next"),
      imported("builtins", "isinstance"), reinterpret_cast<PyObject*>(&PyBool_Type)};
  const bool is_iterator =
      PyType_Check(callable) && reinterpret_cast<PyTypeObject*>(callable)->tp_iternext != nullptr;
  return is_iterator || std::find(std::begin(known), std::end(known), callable) != std::end(known);
}

}  // namespace

// id(object)
PyObject* Capture::address_of(PyObject* object) {
  const Outside* outside = find(object);
  const bool is_of_program = outside != nullptr && outside->source >= 0 && outside->original;
  void* address = is_of_program ? outside->original : object;
  keep(object);
  if (is_of_program) identities_.insert(outside->source);
  addresses_[address] = object;
  Owned number(need(PyLong_FromVoidPtr(address)));
  if (large_numbers_.contains(address)) settle_addresses(number.get());
  return number.release();
}

// A number of the program that is the address of an object tells which object it is.
void Capture::note_large_number(PyObject* number) {
  constexpr int64_t kLeast = 1 << 20;
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow < 0 || (overflow == 0 && value < kLeast)) return;
  large_numbers_.insert(pointer_of(number));
  settle_addresses(number);
}

bool Capture::is_address(PyObject* number) const {
  return !addresses_.empty() && PyLong_CheckExact(number) &&
         addresses_.contains(pointer_of(number));
}

PyObject* Capture::object_at(PyObject* number) const { return addresses_.at(pointer_of(number)); }

// Whether all addresses in a number or a tuple are those of objects of the program, which are
// guarded to be these.
bool Capture::settle_addresses(PyObject* value) {
  if (addresses_.empty()) return true;
  bool is_settled = true;
  visit_numbers(value, [&](PyObject* number) {
    if (!is_address(number)) return;
    const Outside* outside = find(object_at(number));
    if (outside == nullptr || outside->source < 0 || outside->original == nullptr) {
      is_settled = false;
      return;
    }
    check(Check::Kind::Address, outside->source, nullptr,
          reinterpret_cast<int64_t>(outside->original));
    addresses_.erase(pointer_of(number));
  });
  return is_settled;
}

// What becomes another number, or a text.
void Capture::need_settled(PyObject* value) {
  if (!settle_addresses(value)) throw Break{"the address of an object of the capture as a number"};
}

// What is searched, and where: addresses are told apart from addresses without a guard on each.
void Capture::settle_met(PyObject* a, PyObject* b) {
  if (addresses_.empty()) return;
  bool has_addresses = false, has_numbers = find(b) != nullptr;
  for (PyObject* part : {a, b})
    visit_numbers(
        part, [&](PyObject* number) { (is_address(number) ? has_addresses : has_numbers) = true; });
  if (!has_addresses || !has_numbers) return;
  settle_addresses(a);
  settle_addresses(b);
}

// Whether a container of the program had no items: which no address of it can be. It is looked into
// where an address may come to be there, or be asked for.
bool Capture::opens_empty(PyObject* container) {
  const Twin* twin = addresses_.empty() ? nullptr : twin_of(container);
  if (twin == nullptr || PyDict_Check(container)) return false;
  const Py_ssize_t size = PyObject_Size(twin->original);
  need(size < 0 ? -1 : 0);
  if (size == 0) open(container);
  return size == 0;
}

// Of a call of a function of C: methods of containers compare what they find, others may make
// anything of it.
void Capture::check_addresses(const Call& call) {
  if (addresses_.empty()) return;
  if (is_of_containers(call.callable)) {
    for (size_t i = 1; i < call.values.size(); ++i) settle_met(call.values[i], call.values[0]);
    return;
  }
  if (passes_on(call.callable)) return;
  for (PyObject* value : call.values) {
    if (is_address(value))
      need_settled(value);
    else
      settle_addresses(value);
  }
}

}  // namespace taeda::dynamo
