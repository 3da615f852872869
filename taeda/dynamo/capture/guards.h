// Guards: what a captured region assumed of the program's objects, as a flat list of checks on
// paths. Checking runs no code of the program.
#pragma once

#include <Python.h>

#include <functional>
#include <string>
#include <vector>

#include "taeda/core/tensor.h"
#include "taeda/dynamo/capture/source.h"
#include "taeda/fx/shapes/shape_env.h"

namespace taeda::dynamo {

// What a tensor of an input is; sizes and strides that are symbols are -1 here and checked by the
// guards on numbers.
struct TensorGuard {
  PyTypeObject* type;
  DType dtype;
  Device device;
  Layout layout;
  bool requires_grad, is_conj, is_neg, is_inference;
  IntVec sizes, strides;
  int64_t offset;

  // Empty where the tensor fits, else what differs.
  std::string difference(PyObject* object) const;
  bool fits(PyObject* object) const;
};

struct Check {
  enum class Kind : uint8_t {
    Is,           // this object
    TypeIs,       // an object of exactly this class
    TypeVersion,  // a class (or the class of an object) that nobody changed
    Equal,        // a constant of the same class and value
    Length,       // of a list, tuple, dict or set
    Keys,         // of a dict, in order: `object` is a tuple
    Absent,       // a dict without the key `object`
    Same,         // the value of the path `number`
    Distinct,     // not the value of the path `number`
    Code,         // a function with this code
    Definition,   // a method of C, by the address of its definition
    Tensor,       // tensors[number]
    PlainCall,    // a module whose call is a call of `forward`
  };
  Kind kind;
  int source;
  PyObject* object = nullptr;  // kept by the program
  int64_t number = 0;
};

// Whether two constants have one class and one value; NaN is itself, and -0.0 is not 0.0.
bool same_constant(PyObject* a, PyObject* b);

class GuardProgram {
 public:
  using Slots = std::function<PyObject*(int frame, int slot)>;

  std::vector<Source> sources;
  std::vector<std::string> texts;  // of sources
  std::vector<Check> checks;       // by source, parents first
  std::vector<TensorGuard> tensors;
  std::vector<Owned> kept;
  // Numbers that symbols stand for: sizes, strides and offset of tensors, and ints.
  std::vector<int> shaped;  // their sources
  fx::GuardSet numbers;
  IntrusivePtr<fx::ShapeEnv> env;

  // The values of all paths, borrowed; false where a check fails. `reason`, where it is asked for,
  // says which.
  bool run(PyObject* const* const* frames, std::vector<PyObject*>& values, std::vector<Owned>& held,
           std::string* reason = nullptr) const;

 private:
  bool holds(const Check& check, const std::vector<PyObject*>& values) const;
  std::string explain(const Check& check, const std::vector<PyObject*>& values) const;
};

// Whether calls of a module are calls of its `forward`; set by the bindings.
extern bool (*is_plain_module_call)(PyObject* module);

}  // namespace taeda::dynamo
