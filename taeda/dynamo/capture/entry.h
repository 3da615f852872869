// A captured region, compiled: guards, a function of tensors, and what is done with its results.
#pragma once

#include <Python.h>

#include <memory>
#include <string>
#include <vector>

#include "taeda/dynamo/capture/guards.h"
#include "taeda/dynamo/evaluator/regions.h"
#include "taeda/fx/shared_inputs.h"

namespace taeda::dynamo {

// One step behind the compiled function: makes a value, or writes to an object of the program. The
// value of a step is known by the step's number.
struct Action {
  enum class Kind : uint8_t {
    Constant,      // `object`
    Path,          // the value of a source, `number`
    Output,        // of the compiled function, `number`
    Tuple,         // of class `object`, where it is not null
    List,          // empty; FillList gives it its items
    FillList,      //
    Dict,          // empty, made by calling `object` where it is not null
    FillDict,      // keys and values in turn
    Set,           //
    FillSet,       //
    FrozenSet,     //
    Slice,         //
    Cell,          // empty
    FillCell,      //
    Function,      // with the code `object`: globals, defaults, keyword defaults, closure
    Method,        // function, object
    Instance,      // of class `object`, without attributes
    FillInstance,  // its __dict__ gets names and values in turn
    Call,          // `object` called with the parts
    SetState,      // __setstate__(part)
    WaitingSlots,  // of a generator that did not begin, with -1 for empty ones: waits at `number`
    // Writes to objects of the program.
    WriteList,    // all items
    WriteSet,     //
    WriteItem,    // of a dict: key, value
    DeleteItem,   // key
    WriteCell,    //
    EmptyCell,    //
    WriteMember,  // of C or a slot: name, and the value where it is not deleted
    WriteGrad,    // of a tensor
    RequireGrad,  // of a tensor, `number`: whether
    SetModes,     // those of the entry's end
    SetHandled,   // the exception that the thread handles: part, or None
  };
  Kind kind;
  int target = -1;
  std::vector<int> parts;
  PyObject* object = nullptr;  // kept by the entry
  int64_t number = 0;
};

// A call of a generator of Python's random numbers, before the compiled function. The graph has
// what it gives as an input.
struct Draw {
  int generator = -1;        // the source of a random.Random
  PyObject* name = nullptr;  // of the method; kept by the entry
  PyObject* args = nullptr;  // a tuple of constants
  int source = -1;           // of the result; -1: it is called for its effect
};

// A call of a function that remembers its results, which the guards found in its memory: made so
// that the function counts it.
struct RememberedCall {
  PyObject* callable = nullptr;  // kept by the entry, like its arguments
  PyObject* args = nullptr;
  PyObject* kwargs = nullptr;
  mutable bool is_made = false;  // by the capture, for the first run
};

struct FrameRecipe {
  int function = -1;  // a step
  PyCodeObject* code = nullptr;
  std::vector<int> slots;  // steps; -1 for empty ones, and untouched(source) for others
  // A slot that the region leaves as it is, empty or not.
  static int untouched(int source) { return -2 - source; }
  const Instruction* now = nullptr;
  const Instruction* next = nullptr;
};

// The class of C that a container is one of, or derived from by class statements; null for others.
PyTypeObject* container_of(PyTypeObject* type);
// The number, text, bytes or frozen set that an instance of a class of the program is, without its
// attributes; null for others.
Owned plain_value(PyObject* object);
// types.SimpleNamespace, and classes derived from it: a __dict__, which C compares and shows.
PyTypeObject* namespace_type();
bool is_namespace(PyTypeObject* type);
// Whether attributes of its instances that C does not compute are those of a __dict__, where they
// are looked for and written as in most objects.
bool shows_attributes(PyTypeObject* type);

// Whether a filter of the process makes errors of warnings.
bool are_warnings_errors();

// Whether a break is an error where this thread captures now, as the program may say anywhere.
bool& fails_at_breaks();

// What the thread says about calls of operators.
struct Modes {
  bool has_grad, is_inference, casts[2], caches_casts;
  bool determinism[3];       // required, a warning is enough, memory is filled
  uint32_t attention_forms;  // that may be taken
  DType default_dtype, cast_dtypes[2];
  Device default_device;
  int cast_depth;      // regions of autocast
  size_t num_levels;   // of function transforms
  int64_t dual_level;  // of forward mode; -1: none
  std::string saved_hooks_refusal;
  bool fails_at_breaks;  // see fails_at_breaks()
  static Modes now();
  // Sets the thread back; levels of transforms that began since are ended.
  void restore() const;
  bool operator==(const Modes&) const = default;
};

// How inputs share memory.
fx::Sharing sharing_of(const std::vector<PyObject*>& inputs);

struct Entry {
  GuardProgram guards;
  Modes modes;        // at the region's beginning
  Modes modes_after;  // and at its end
  Owned compiled;
  std::vector<int> inputs;  // sources
  std::vector<Draw> draws;
  std::vector<RememberedCall> remembered;
  std::vector<Action> actions;
  std::vector<Owned> kept;
  int result = -1;  // a step; -1: frames go on
  std::vector<FrameRecipe> frames;
  bool is_foreign = false;      // a backend of the program made it: errors in it are the caller's
  bool runs_with_grad = false;  // the compiled function does, though the region begins without
  bool checks_memory = false;   // inputs share memory as they did
  bool warns = false;           // tells warnings, which are no errors
  bool checks_modes = true;     // those of the beginning are guards
  bool is_filtered = false;     // guards were taken away: inputs may be missing
  fx::Sharing sharing;
  std::vector<int> written;    // sources of inputs that the function has written to where it fails
  std::vector<int> needed;     // sources of inputs and steps
  Py_ssize_t num_outputs = 0;  // that steps take from the function

  // Whether the guards hold for these slots of frames.
  bool takes(PyObject* const* const* frames, std::vector<PyObject*>& values,
             std::vector<Owned>& held, std::string* reason = nullptr) const;
  // The same by the guards of tensors alone.
  bool fits(PyObject* const* const* frames, std::vector<PyObject*>& values,
            std::vector<Owned>& held) const;
  // Once inputs and steps are there.
  void note_needed();
  // Runs the function and the steps behind it. Failed, FailedBehind: with an error, which the
  // function raised, or what comes behind it.
  enum class Run : uint8_t { Done, Failed, FailedBehind };
  Run run(const std::vector<PyObject*>& values, Ending& ending) const;

 private:
  bool has_needed(const std::vector<PyObject*>& values) const;
  bool has_outputs(PyObject* given) const;
};

}  // namespace taeda::dynamo
