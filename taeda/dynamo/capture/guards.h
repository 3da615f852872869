// Guards: what a captured region assumed of the program's objects, as a flat list of checks on
// paths. Checking runs no code of the program.
#pragma once

#include <Python.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "taeda/core/tensor.h"
#include "taeda/dynamo/capture/dict_mark.h"
#include "taeda/dynamo/capture/source.h"
#include "taeda/fx/shapes/shape_env.h"

namespace taeda::dynamo {

// The dimensions of a tensor that the program marked, as bits: mark_dynamic and the like. Those
// that a compiled program found to change are told on its results, and are not guarded.
struct SizeMarks {
  uint64_t dynamic = 0, maybe_dynamic = 0, unbacked = 0, constant = 0, propagated = 0;

  static SizeMarks of(PyObject* tensor);
  bool are_within(const SizeMarks& others) const;
};

// What a tensor of an input is; sizes and strides that are symbols are -1 here and checked by the
// guards on numbers.
struct TensorGuard {
  PyTypeObject* type;
  DType dtype;
  Device device;
  Layout layout;
  bool requires_grad, is_conj, is_neg, is_inference;
  IntVec sizes, strides;
  SizeMarks marks;  // a tensor with others asks for another region
  // Where they were asked.
  std::optional<bool> is_leaf = std::nullopt;
  std::optional<int64_t> offset = std::nullopt;

  // Empty where the tensor fits, else what differs.
  std::string difference(PyObject* object) const;
  bool fits(PyObject* object) const;
};

// The guard of a tensor of at most two dimensions without symbols, as a cache line.
struct alignas(64) FlatTensor {
  static constexpr size_t kDims = 2;
  PyObject* object;  // alive while the marks hold
  const TensorImpl* impl;
  PyTypeObject* type;
  DType dtype;
  Device device;
  uint8_t ndim;
  bool requires_grad;
  int64_t sizes[kDims], strides[kDims];

  FlatTensor(PyObject* tensor, const TensorGuard& guard);
  bool fits() const;
  void prefetch() const {
    constexpr size_t kLine = 64;
    __builtin_prefetch(object);
    const auto* at = reinterpret_cast<const char*>(impl);
    for (size_t i = 0; i < sizeof(TensorImpl); i += kLine) __builtin_prefetch(at + i);
  }
  static bool describes(const TensorGuard& guard);
};

// Note [Guards of classes]: nobody changed a class as long as its version is the same. A class
// with another version still fits where it and its bases have the same names and, by these, the
// same values but for data: who reads data of a class guards the value itself. So a program may
// count in an attribute of a class.
class ClassGuard {
 public:
  // Shared among the guards of a class. `is_strict`: data are the same, too. What it looks at is
  // added to what each of its owners keeps, where the collector sees it.
  static std::shared_ptr<const ClassGuard> of(PyTypeObject* type, bool is_strict,
                                              std::vector<Owned>& kept);
  bool fits(PyTypeObject* type) const {
    return (type->tp_version_tag == version_ && version_ != 0) || fits_again(type);
  }

 private:
  bool fits_again(PyTypeObject* type) const;
  mutable unsigned version_ = 0;
  bool is_strict_ = false;
  std::vector<std::pair<PyTypeObject*, PyObject*>> names_;  // the class and its bases, with a dict
};

struct Check {
  enum class Kind : uint8_t {
    Is,           // this object
    Address,      // an object at this address, which is not kept
    TypeIs,       // an object of exactly this class
    TypeVersion,  // a class (or the class of an object) that nobody changed: classes[number]
    Equal,        // a constant of the same class and value
    Length,       // of a list, tuple, dict or set
    Keys,         // of a dict, in order: `object` is a tuple
    Absent,       // a dict without the key `object`, or a list without such an item
    Present,      // a dict or list with it
    AbsentKey,    // two paths in `number`: a dict, set or list without the key of the other
    PresentKey,   // and one with it
    Same,         // the value of the path `number`
    Distinct,     // not the value of the path `number`
    AllDistinct,  // groups[number]: paths, `source` the last of them, to as many objects
    Code,         // a function with this code
    Definition,   // a method of C, by the address of its definition
    Tensor,       // tensors[number]
    PlainCall,    // a module whose call is a call of `forward`
    Unbound,      // a slot without a value
    NoMember,     // an object whose slot `object` of its class has no value
    Member,       // an object whose slot `object` of its class has one
    Subclasses,   // a class from which the classes of the tuple `object` are derived, no others
    AbcToken,     // no class was registered with an abstract one since `object`
  };
  Kind kind;
  int source;
  PyObject* object = nullptr;  // kept by the program
  int64_t number = 0;
};

// What type.__subclasses__ gives: a list, null with an error.
Owned subclasses_of(PyTypeObject* type);
// Changes with every class that is registered with an abstract one.
Owned abc_token();
// Whether two constants have one class and one value; NaN is any NaN, and -0.0 is not 0.0.
bool same_constant(PyObject* a, PyObject* b);
// `constant in list`, of numbers and texts; none where there are other items before an equal one,
// which functions of the program may compare.
std::optional<bool> list_contains(PyObject* list, PyObject* constant);

class GuardProgram {
 public:
  using Slots = std::function<PyObject*(int frame, int slot)>;

  std::vector<Source> sources;
  std::vector<std::string> texts;  // of sources
  std::vector<Check> checks;       // by source, parents first
  std::vector<TensorGuard> tensors;
  std::vector<std::vector<int>> groups;  // of sources
  std::vector<std::shared_ptr<const ClassGuard>> classes;
  std::vector<Owned> kept;
  // What a check asks, for people.
  std::string text(const Check& check) const;
  // Numbers that symbols stand for: sizes, strides and offset of tensors, and ints.
  std::vector<int> shaped;  // their sources
  fx::GuardSet numbers;
  IntrusivePtr<fx::ShapeEnv> env;

  // PyTorch's name of a kind.
  static const char* name_of(Check::Kind kind);

  // Once everything above is there.
  void prepare();
  // Forgets the checks, and what is asked of numbers, that are not wanted. What they guarded is
  // taken for the same from then on.
  void keep_only(const std::vector<bool>& wanted, bool keeps_numbers);
  // The values of all paths, borrowed; false where a check fails. `reason`, where it is asked for,
  // says which.
  bool run(PyObject* const* const* frames, std::vector<PyObject*>& values, std::vector<Owned>& held,
           std::string* reason = nullptr) const;
  // The same where checks of tensors and numbers alone decide.
  bool follow_all(PyObject* const* const* frames, std::vector<PyObject*>& values,
                  std::vector<Owned>& held) const;

 private:
  // Note [Witnesses]: of a dict it is known whether it was changed (Note [Marks of dicts]). A path
  // that leads from a slot or a kept object through dicts alone is *stable*: while the slot holds
  // the same object and no dict on the way was changed, its value is the same, and so is the
  // outcome of checks of classes, constants and items. What was found at the last run that passed
  // is kept as a witness, so that a run of a module with many parameters looks at a mark per dict,
  // at classes and at tensors. It keeps no object of the program alive.
  struct Witness {
    struct Mark {
      PyObject** place;  // where its owner has it; null for a dict that is no __dict__
      DictMark dict;
    };
    // What was found below one slot, or below kept objects.
    struct Part {
      int local = -1;
      std::vector<Mark> marks;                                   // parents first
      std::vector<PyObject*> empty;                              // dicts without items
      std::vector<std::pair<PyObject*, PyTypeObject*>> classes;  // of objects
      std::vector<FlatTensor> tensors;
      std::vector<int> checks;  // others that no dict decides
    };
    // What a slot held. Weak references would be seen by the program. A constant is kept; an
    // instance is known by its address, its class and its dict, whose mark holds for no other dict:
    // whatever has all of them is the same to every check. Other objects count as new ones at every
    // run.
    struct Token {
      Owned constant;
      PyTypeObject* type = nullptr;  // of an instance; kept by the guard on it
      bool is_of(PyObject* now, PyObject* before) const {
        if (constant) return constant.get() == now;
        return type != nullptr && now == before && Py_TYPE(now) == type;
      }
    };
    bool is_set = false;
    std::vector<PyObject*> values;  // alive while the marks hold
    std::vector<Token> tokens;      // by slot, in the order of locals_
    std::vector<Part> parts;
    Part& below(int local);
  };
  bool pass_witness(PyObject* const* const* frames, std::vector<PyObject*>& values,
                    std::vector<Owned>& held) const;
  void set_witness(const std::vector<PyObject*>& values) const;
  Witness::Token token_of(int local, const std::vector<PyObject*>& values) const;
  bool check_numbers(const std::vector<PyObject*>& values, std::string* reason) const;
  bool follow_source(int id, PyObject* const* const* frames, std::vector<PyObject*>& values,
                     std::vector<Owned>& held) const;
  void add_pair(int number);
  bool check_source(int id, const std::vector<PyObject*>& values) const;

  std::vector<int64_t> ranks_;                    // by shaped path, where checks were taken away
  std::vector<int> root_;                         // by path: the slot where it begins, or -1
  std::vector<bool> is_stable_;                   // by path
  std::vector<int> dict_path_;                    // by path: the one to its __dict__, or -1
  std::vector<int> locals_, unstable_;            // paths
  std::vector<std::vector<int>> below_;           // by slot: stable paths that begin there
  std::vector<std::pair<int, int>> first_check_;  // by path: its checks
  // Checks of several paths: of stable ones by the slots where they begin, and the others. While
  // these slots hold the same, so do checks of which object is which.
  std::unordered_map<int, std::vector<int>> stable_pairs_;
  std::vector<int> pairs_;
  mutable Witness witness_;

  bool holds(const Check& check, const std::vector<PyObject*>& values) const;
  std::string explain(const Check& check, const std::vector<PyObject*>& values) const;
};

// Whether calls of a module are calls of its `forward`; set by the bindings.
extern bool (*is_plain_module_call)(PyObject* module);
// The tables of hooks that are empty then; borrowed.
extern void (*tables_of_plain_call)(PyObject* module, std::vector<PyObject*>& tables);

}  // namespace taeda::dynamo
