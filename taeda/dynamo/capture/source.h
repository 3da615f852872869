// Where the values of a program come from: paths that begin at a slot of a frame or at an object
// that is kept, and lead through attributes, items and cells.
#pragma once

#include <Python.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "taeda/core/tensor.h"
#include "taeda/dynamo/evaluator/owned.h"

namespace taeda::dynamo {

enum class Step : uint8_t {
  Local,           // slot `index` of frame `frame`; see Sources::function
  Pinned,          // `key` itself
  InstanceDict,    // the __dict__ of an instance
  ThreadDict,      // the one that a threading.local has in this thread
  Item,            // of a dict, by key
  Index,           // of a list or tuple
  KeyedItem,       // of a dict, by the value of the path `index`
  Values,          // of a dict: a tuple of them, in its order
  Keys,            // of a dict or set: a tuple of its keys or members, in its order
  Type,            // of an object
  TypeLookup,      // a name in the classes of a type
  Member,          // a slot of a class with __slots__, by name
  CellContents,    //
  Closure,         // a cell of a function
  Default,         // of a function's positional parameters
  KeywordDefault,  // by name
  MethodFunction,  // of a bound method
  MethodSelf,      //
  Grad,            // of a tensor
  Turned,          // of a conjugate or negative tensor: its values as they lie in memory
  Referent,        // of a weak reference
  Viewed,          // the dict of a types.MappingProxyType, or of dict.keys() and the like
  Remembered,      // by a function of functools.lru_cache: of the dict of its results, by key
  Handled,         // the exception that the thread handles
  Thread,          // its number
  Upcoming,        // what an iterator gives `index` calls after the next one
  Leaf,   // of a tensor: a new one of the class `key` with its values and a gradient of its own
  Drawn,  // what Python's generator `index` of the region gives: a run draws it
};

struct Source {
  Step step = Step::Pinned;
  int parent = -1;
  int index = 0;
  int frame = 0;
  PyObject* key = nullptr;  // borrowed: `Sources` keeps it
};

// Each path once; parents come before what is read from them.
class Sources {
 public:
  int local(int frame, int slot, PyObject* name);
  // The function of a frame. Those of all frames are the slots of one more frame behind them.
  int function(int frame, int num_frames);
  int pinned(PyObject* object, std::string name);
  int drawn(int index);
  int of(Step step, int parent, int index = 0, PyObject* key = nullptr);

  const Source& operator[](int id) const { return all_[id]; }
  int size() const { return static_cast<int>(all_.size()); }
  const std::vector<Source>& all() const { return all_; }
  // As PyTorch writes it: L['self']._modules['fc'].
  std::string text(int id) const;
  std::vector<Owned> take_kept() { return std::move(kept_); }

 private:
  using Key = std::tuple<Step, int, int, int, PyObject*>;
  int add(Source source, std::string name = {});

  std::vector<Source> all_;
  std::vector<std::string> names_;  // of locals and pinned objects
  std::map<Key, int> known_;
  std::map<std::pair<int, std::string>, int> items_;  // of keys that are texts or numbers
  std::vector<Owned> kept_;
};

// A name of a module of the standard library or of the package, looked up once per place that asks;
// the process keeps it. Null with an error where there is none.
PyObject* imported(const char* module, const char* name);
// A new reference.
PyObject* imported_module(const char* name);
// The same of a module that the program imported by now: null without an error where it did not, or
// where the import is still under way. An object of a class cannot be there before the class.
PyObject* loaded(const char* module, const char* name);
// The same for a place that asks often: null until the program imported the module.
class Loaded {
 public:
  Loaded(const char* module, const char* name) : module_(module), name_(name) {}
  PyObject* get() {
    if (found_ == nullptr) found_ = loaded(module_, name_);
    return found_;
  }
  PyTypeObject* type() { return reinterpret_cast<PyTypeObject*>(get()); }

 private:
  const char* module_;
  const char* name_;
  PyObject* found_ = nullptr;
};

// collections.deque
PyTypeObject* deque_type();

// A weak reference that is called as those of C: weakref.ref, weakref.KeyedRef.
bool is_weak_reference(PyObject* object);
// threading.local, and classes of it whose instances do nothing in a new thread.
bool is_thread_local(PyTypeObject* type);

// The keys of a dict, or the members of a set, in its order and as a tuple, whatever its class
// says; null with an error.
PyObject* keys_in_order(PyObject* container);
// The same of what a list, a set or a deque holds.
PyObject* items_in_order(PyObject* container);
// Writes to dicts and ordered dicts, which keep their order beside their items, without what a
// class of the program does at a write.
int set_dict_item(PyObject* dict, PyObject* key, PyObject* value);
int delete_dict_item(PyObject* dict, PyObject* key);

// The dict that a types.MappingProxyType or a view of a dict shows, borrowed; null for other
// objects and mappings.
PyObject* viewed_mapping(PyObject* object);
// The same of any mapping.
PyObject* shown_mapping(PyObject* object);
// The method of a class of dicts that makes views as this one: a new reference.
PyObject* maker_of_view(PyObject* view);
// The same kind of view of another dict: a new reference.
PyObject* same_view(PyObject* view, PyObject* mapping);

// How many fields a tuple has: a struct sequence (os.stat_result) has some behind its end.
Py_ssize_t num_fields(PyObject* tuple);
// A tuple of a class with these fields, whose __new__ is not asked.
PyObject* make_tuple(PyTypeObject* type, PyObject* fields);

// What an item of the dict that functools.lru_cache keeps holds, borrowed; null where that is not
// known.
PyObject* remembered_result(PyObject* place);

// What an iterator of C will give that many calls after the next one, without calling it: a new
// reference; null without an error at its end, and for iterators of which it is not known. An
// object that no program has where its container changed and refuses the call.
PyObject* upcoming(PyObject* iterator, int ahead);
// The dict or set that an iterator of C goes through, borrowed; null for others and for one at its
// end.
PyObject* iterated_by_keys(PyObject* iterator);
// The function, the arguments and the named arguments that make a generator anew whose body did not
// begin; None for others.
Owned call_of_generator(PyObject* generator);
// Whether it is an iterator of C that says by `__reduce__` where it is, and stays as it is.
bool tells_its_place(PyObject* object);
// Whether iterators of the class go through a dict from its end.
bool goes_backwards(PyTypeObject* type);
// Of an iterator of a dict: what it gives ("keys"), how many it gave, whether it goes backwards;
// null without an error where it refuses to go on.
Owned place_in_dict(PyObject* iterator, PyObject* dict);
// Whether an iterator of a deque that is asked no more would have refused to go on.
bool refuses_deque(PyObject* iterator, PyObject* deque);

// The values of a tensor as they lie in memory: without its conjugate and negative bit, and with
// its history.
Tensor turned(const Tensor& t);
// A value of a path from that of its parent, borrowed from it or put into `held`; null where there
// is none. Runs no code of the program.
PyObject* follow(const Source& source, PyObject* parent, std::vector<Owned>& held);

}  // namespace taeda::dynamo
