// Capture: evaluates a program's instructions on stand-ins, so that what it does to tensors becomes
// a graph and nothing of the program is changed.
//
// Note [Stand-ins]: an object of the program is *outside* and has a source. What capture puts on
// the stack for it depends on its class:
//   constants             themselves, with a guard on their value
//   tensors               fake tensors, inputs of the graph
//   numbers that change   symbolic numbers
//   list, dict, set       a *twin*: an object of the same class that is filled when somebody looks
//                         inside (of a dict, key by key) and compared with what it was at the end
//   tuples, methods       new ones, of stand-ins
//   instances             themselves; their attributes are those of a twin of their __dict__
//   functions, classes    themselves, with a guard on what they do
//   everything else       themselves; whatever asks something of them is a break
// So identity holds among stand-ins as it does among the objects, C functions can be called on
// them, and code that they call comes back through the hook. Everything else on the stack was made
// by the captured program and dies with the capture; recipes (recipes.cpp) say how the compiled
// region makes it again.
//
// Note [Breaks]: an instruction that cannot be captured throws Break. Its operands are put back and
// nodes of the graph that it made are dropped; the region ends before it. In a frame that a C
// function called, the call of that function is the break.
#pragma once

#include <Python.h>

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "taeda/dynamo/capture/entry.h"
#include "taeda/dynamo/capture/errors.h"
#include "taeda/dynamo/capture/recorder.h"
#include "taeda/dynamo/evaluator/regions.h"

namespace taeda::dynamo {

// A class statement whose instances have nothing in C but what this class has.
bool is_derived(PyTypeObject* type, PyTypeObject* base);
// Whether instances of a class have nothing in C but their __dict__ and slots.
bool is_plain_instance(PyTypeObject* type);
// Values that nothing can change: numbers, texts, dtypes, members of enumerations.
bool is_immutable(PyObject* object);
// Functions of C, methods of its classes among them, which nothing can change.
bool is_native_function(PyObject* object);
// functools.partial
bool is_partial(PyObject* object);
// The method of a class that a method of C which is bound to an object belongs to; null for others.
PyObject* descriptor_of(PyObject* method);
// list.append
PyObject* list_append();
// random.Random
bool is_python_generator(PyObject* object);
bool is_python_generator_class(PyTypeObject* type);
// The function that functools.lru_cache wraps; null for other callables. Borrowed.
PyObject* cached_function_of(PyObject* callable);
// Whether the program may notice that the object ends: a class with __del__, or weak references
// with something to call.
bool has_end(PyObject* object);
// The same of an object or of what a container, an iterator of one or an instance holds.
bool holds_end(PyObject* object);
// Whether it tells of too little memory or stack, of which a capture needs more than its program.
bool is_lack_of_room(PyObject* exception);
// What gives __dict__ of a class, which its class may have another attribute by the name of: a new
// reference.
PyObject* getter_of_names();
// Of a function or class, as people know it.
std::string name_of(PyObject* callable);
bool is_enum_class(PyTypeObject* type);
PyTypeObject* defaultdict_type();
// Of a dict, in its order and as a tuple, whatever its class says.
Owned keys_of(PyObject* dict);
// Dicts that are read key by key.
bool is_lazy_dict(PyObject* object);
// Whether an object is a symbolic number, or a list, tuple or dict with one somewhere inside.
bool has_symbols(PyObject* object, bool looks_into_dicts = true);
// Keys that stand for themselves, in guards too.
bool is_known_key(PyObject* key);
// A key with constants for the symbols in it: a size that decides where something is found, as in
// cache[height, width], is what it is now, and its value a guard.
Owned constant_key(PyObject* key);

// Calls of functions that remember their results which captures made before the program came to
// them: a capture of the same call of the program finds them here, by function and key.
using EarlyCalls = std::vector<std::pair<Owned, Owned>>;

class Capture final : public Capturing {
 public:
  // Why a region ends before an error that the program may not have.
  static constexpr const char* kDoubt = "an error of tensors, which the program raises itself";

  // `sources` are shared with the recorder, which adds the guards of tensors.
  Capture(Sources& sources, GuardProgram& guards, Recorder& recorder,
          const std::vector<const State*>& frames);
  ~Capture() override;

  Flow execute(State& state) override;
  bool check_signals() override;
  PyObject* take_interruption() override { return interruption_.release(); }
  void begin_frame(State& state) override;
  bool begin_call(State& state) override;
  void end_frame(TaedaFrame* frame) override;
  void break_call() override { is_broken_ = true; }
  PyObject* give_to_c(TaedaFrame* frame, PyObject* result) override;
  void note_raised() override {}
  void finish() override;
  bool close(PyObject* value) override;
  bool close(const std::vector<const State*>& frames) override;

  // What was captured; null where it cannot be compiled.
  std::unique_ptr<Entry> take_entry() { return std::move(entry_); }
  // Ends the region before the instruction of this number, at which an earlier capture of the same
  // program raised; 0 for none.
  void break_at(int64_t number, std::string reason) {
    break_at_ = number;
    break_reason_ = std::move(reason);
  }
  // Whether a break is an error, and calls that an earlier capture of the same call made.
  void set_whole(bool is_whole) { is_whole_ = is_whole; }
  void share_early_calls(EarlyCalls* calls) { early_calls_ = calls; }
  // Once the region is compiled. The program comes to the other calls behind it.
  void settle_early_calls();
  // The exception at hand leaves the program: the region should have ended before it was raised.
  void end_at_raised(std::string reason);
  // Where the region should have ended, so that it could be compiled; 0 where that is not known.
  int64_t ends_at() const { return ends_at_; }
  // The first instruction whose error may be another in the program, of a capture that must not end
  // there; 0 for none.
  int64_t doubts_at() const { return doubts_at_ == break_at_ ? 0 : doubts_at_; }
  // Whether the capture changed the program, so that the region is another one now.
  bool begins_again() const { return ends_at_ == Abandoned::kAsAWhole; }
  // Why the region ended or was not compiled; empty where the frames returned.
  const std::string& reason() const { return reason_; }
  // Whether there was too little memory or stack for it: the program runs as it is this time.
  bool lacks_room() const { return lacks_room_; }
  // A backend failed, or the capture was interrupted: the exception.
  Owned take_failure() { return std::move(failure_); }

 private:
  friend class Recipes;

  struct Twin {
    PyObject* original = nullptr;  // kept by `held_`
    int source = -1;
    bool is_open = false;
    Owned seen;     // of a dict: what was read, by key, as it was put into the twin
    Owned missing;  // a set of keys that were not there, or were deleted
    Owned deleted;  // a set of keys that were deleted, and perhaps written again
    std::vector<PyObject*> snapshot;  // of a list or set: its items when it was opened
    std::vector<Owned> added;         // by who did not look inside
    Owned keys;  // of an open dict some of whose keys are objects: a dict of the keys' stand-ins
  };
  struct Outside {
    int source = -1;
    PyObject* original = nullptr;    // of the program, kept by `held_`; null for numbers
    Twin* twin = nullptr;            // where the stand-in is one
    PyObject* attributes = nullptr;  // the twin of its __dict__
    bool is_opaque = false;
    bool is_written = false;  // of a cell
    Owned contents;           // of a cell that was written; null: emptied
  };
  // Who gets what a frame gives that was not entered (Note [Numbers for C]).
  enum class Taker : uint8_t {
    C,
    Reader,   // a function of C that goes by classes
    Capture,  // the capture, which called for C
  };
  struct Frame {
    int number = 0;
    std::vector<bool> is_unread;  // slots that still hold objects of the program
    Owned locals;                 // the dict of locals()
    bool is_shown_to_c = false;   // what it gives: C looks inside
    Owned owner;                  // the class of the first argument, where C called
    Taker taker = Taker::C;
  };

  // ---- stand-ins (stand_ins.cpp) ----
  // Each gives a new reference.
  PyObject* import(PyObject* real, int source);
  PyObject* import_tuple(PyObject* real, int source);
  PyObject* import_frozen_set(PyObject* real, int source);
  PyObject* import_slice(PyObject* real, int source);
  PyObject* make_twin(PyObject* real, int source);
  PyObject* make_container(PyObject* real, int source);
  PyObject* import_partial(PyObject* real, int source);
  PyObject* import_native_method(PyObject* real, int source);
  PyObject* stand_for(PyObject* real, PyObject* made, int source);
  PyObject* note_outside(PyObject* real, int source, bool is_opaque = false);
  Outside* find(PyObject* object);
  Twin* twin_of(PyObject* object);
  void keep(PyObject* object) { held_.emplace_back(Py_NewRef(object)); }
  // Fills a twin, and guards the items of one or of a tuple. Others are left alone.
  void open(PyObject* object) {
    fill(object);
    read_items(object);
  }
  void fill(PyObject* object);
  void open_dict(Twin& twin, PyObject* object);
  // Containers may hold themselves: each is looked into once.
  using Seen = std::unordered_set<PyObject*>;
  void open_deep(PyObject* object, int depth, Seen& seen);
  void open_deep(PyObject* object) {
    Seen seen;
    open_deep(object, 0, seen);
  }
  // ---- constants in lists and tuples (unread_items.cpp) ----
  // Note [Unread items]: a constant in a list or a tuple of the program has no guard until somebody
  // looks at it: `sizes[0]` says nothing of sizes[1]. Who looks at a container opens it, which
  // reads all that is unread; subscripts, fields of named tuples and len() do not. A call hands
  // tuples on to a function of Python as they are, and is taken to read them in all other cases.
  using Unread = std::map<Py_ssize_t, int>;  // sources by place
  // The stand-in of an item; one whose guard can wait is noted.
  PyObject* import_item(PyObject* item, int source, Py_ssize_t place, Unread& unread);
  void note_unread(PyObject* container, Unread unread);
  void read_unread(PyObject* item, int source);
  void read_items(PyObject* container);
  void read_item(PyObject* container, PyObject* place);
  void read_found(PyObject* tuple, const PyObject* found);
  void read_deep(PyObject* object) {
    if (!unread_items_.empty()) open_deep(object);
  }
  bool holds_namespace(PyObject* object, int depth, Seen& seen);
  bool holds_namespace(PyObject* object) {
    Seen seen;
    return holds_namespace(object, 0, seen);
  }
  // The stand-in of a dict of the program that is not reached by a path of the program's own.
  PyObject* pinned_dict(PyObject* dict, const std::string& name);
  int pin(PyObject* object);
  bool is_opaque(PyObject* object);
  bool is_operator(PyObject* object);
  void check(Check::Kind kind, int source, PyObject* object = nullptr, int64_t number = 0);
  void check_pair(Check::Kind kind, int a, int b);
  void check_all_distinct(const std::set<int>& paths);
  void check_class(PyTypeObject* type);
  // Items of dicts, twins among them. Borrowed; null where there is none.
  PyObject* dict_get(PyObject* dict, PyObject* key);
  bool dict_set(PyObject* dict, PyObject* key, PyObject* value);
  void note_place(Twin& twin, PyObject* dict, PyObject* key);
  bool dict_delete(PyObject* dict, PyObject* key);

  // ---- attributes (attributes.cpp) ----
  PyObject* attribute(PyObject* object, PyObject* name);
  PyObject* instance_attribute(PyObject* object, PyObject* name, bool is_plain = false);
  PyObject* class_attribute(PyTypeObject* type, PyObject* name);
  PyObject* names_of_class(PyTypeObject* type);
  // What a class has by a name as far as the captured program wrote it: a value of the capture.
  PyObject* class_lookup(PyTypeObject* type, PyObject* name, bool& is_written);
  void set_class_attribute(PyTypeObject* type, PyObject* name, PyObject* value);
  PyObject* call_getter(PyObject* getter, PyObject* object);
  void call_setter(PyObject* property, PyObject* object, PyObject* value);
  PyObject* function_attribute(PyObject* object, PyObject* name);
  // Data that super() finds behind a class; null for methods and the like.
  PyObject* super_data(PyObject* type, PyObject* object, PyObject* name);
  Flow load_super_attr(State& state, int argument);
  PyObject* tensor_attribute(PyObject* object, PyObject* name);
  PyObject* own_attribute_of_tensor(PyObject* object, PyTypeObject* type, PyObject* name);
  PyObject* tensor_attributes_of(PyObject* object);
  PyObject* slot_of(PyObject* object, PyObject* real, int source, PyObject* name);
  void set_slot(PyObject* object, PyObject* real, int source, PyObject* name, PyObject* value);
  PyObject* bind(PyObject* found, PyObject* object, PyTypeObject* type, PyObject* name);
  PyObject* attributes_of(PyObject* object);
  void set_attribute(PyObject* object, PyObject* name, PyObject* value, bool is_plain = false);
  bool set_requires_grad(PyObject* tensor, bool wanted);
  static bool is_truth_value(PyObject* value);  // one of the graph is guarded where it is needed
  static bool need_truth(PyObject* value);
  // Calls a Python function for a C function's sake; its frame comes back through the hook.
  PyObject* call_nested(PyObject* function, std::vector<PyObject*> arguments);
  PyObject* call_special(PyObject* method, std::vector<PyObject*> arguments);

  // ---- calls (calls.cpp) ----
  struct Call {
    PyObject* callable;
    std::vector<PyObject*> values;  // borrowed; positional ones first
    size_t positional;
    PyObject* names;  // a tuple, or null
  };
  // The result, a new reference; null where a frame is entered.
  PyObject* call(State& state, Call call);
  void read_arguments(const Call& call);
  PyObject* make_super(State& state);
  PyObject* call_module(State& state, const Call& call);
  // Of classes (class_calls.cpp).
  PyObject* call_class(State& state, const Call& call);
  bool is_making_of_class(const Call& call) const;
  PyObject* make_instance(const Call& call);
  // Of class statements (class_statements.cpp).
  // Null for other calls.
  PyObject* call_of_class_statement(const Call& call);
  PyObject* wrap_functions(const Call& call);
  PyObject* make_class(const Call& call);
  PyObject* own_namespace(const State& state);
  Flow load_name(State& state, int argument);
  Flow store_name(State& state, int argument);
  PyObject* call_plainly(const Call& call);
  Owned detached(PyObject* tensor);
  bool is_new_of_tensors(const Call& call) const;
  PyObject* new_tensor(PyTypeObject* type, const Call& call);
  PyObject* make_tensor(const Call& call);
  PyObject* class_item(PyTypeObject* type, PyObject* key);
  PyObject* call_subclasses(const Call& call);
  PyObject* call_class_getter(PyObject* descriptor, PyObject* name, const Call& call);
  PyObject* call_partial(State& state, const Call& call);
  PyObject* call_native(const Call& call, CallKind kind);
  // Of functions that C calls (called_by_c.cpp).
  bool is_entered_by_c(PyObject* callable);
  static bool is_iterator_of_c(PyObject* object);
  static bool looks_inside(const Call& call);
  // Of texts and hashes that tell what no guard knows (texts.cpp).
  static void check_text(const Call& call);
  static void check_text_of(PyObject* objects);
  void check_hash(const Call& call);
  void check_hash(PyObject* object);
  bool is_value_of_c(PyObject* object);
  bool can_compare(PyObject* a, PyObject* b, bool is_ordered);
  bool asks_for_identity(const Call& call);
  void note_compared_in(PyObject* object, Seen& seen);
  void note_compared(PyObject* object, PyObject* container);
  void note_compared(PyObject* object);
  void note_compared(const Call& call);
  static bool is_found_by_going_on(PyObject* container);
  void note_same_class(PyObject* object);
  PyObject* call_hash(const Call& call);
  // Puts one that the hook would not see into a function of Python.
  void put_in_function(Call& call);
  PyObject* in_function(PyObject* called);
  PyObject* call_extreme(const Call& call);
  PyObject* call_math(const Call& call);
  PyObject* call_number_function(const Call& call);
  PyObject* call_logarithm(const Call& call);
  PyObject* call_on_numbers(const Call& call);
  static bool is_within_finite(PyObject* number);
  PyObject* call_arithmetic(const Call& call);
  PyObject* call_finite(const Call& call);
  PyObject* call_builtin(const Call& call, bool& is_known);
  PyObject* length_of(PyObject* object);
  PyObject* call_operator(const Call& call);
  PyObject* operand_of(PyObject* value);
  PyObject* call_mode(const Call& call);
  PyObject* call_function(const Call& call);
  PyObject* call_function_by_position(const Call& call);
  PyObject* call_body(const Call& call);
  PyObject* call_as_operator(const Call& call);
  PyObject* call_bound(const Call& call);
  Owned bound_object(PyObject* value);
  PyObject* call_lock(const Call& call);
  PyObject* method_substitute_of(const Call& call);
  void note_member(PyObject* object);
  PyObject* call_warn(const Call& call);
  PyObject* clear_frame(const Call& call);
  PyObject* call_constant(const Call& call);
  Owned program_value(PyObject* value);
  bool are_filters_changed();
  static bool is_record_of_warnings(PyObject* object);
  static constexpr const char* kRecordsWarnings = "a warning that the program records and reads";
  PyObject* call_named_log(const Call& call);
  PyObject* add_log(const Call& call);
  bool can_tell(PyObject* value);
  PyObject* call_function_mode(const Call& call);
  PyObject* make_leaf(PyObject* type, PyObject* tensor);
  PyObject* call_subclass(const Call& call);
  PyObject* call_hook(const Call& call);
  PyObject* remove_hook(const Call& call);
  PyObject* initialize_module(const Call& call);
  PyObject* add_hook_body(const Call& call);
  PyObject* add_effect(const Call& call);
  PyObject* make_unknown();
  PyObject* call_single_dispatch(const Call& call);
  PyObject* call_cached(const Call& call, PyObject* function);
  PyObject* call_remembered(const Call& call, PyObject* function, PyObject* memory);
  Owned rehearse(const Call& call, PyObject* function);
  class Rehearsal;
  bool take_early_call(PyObject* callable, PyObject* key);
  bool is_taken(const EarlyCalls::value_type& made) const {
    return taken_calls_.contains({made.first.get(), made.second.get()});
  }
  // ---- keys that are objects (keys.cpp) ----
  bool is_constant_key(PyObject* key);
  PyObject* real_key_of(PyObject* key, int* path);
  bool is_made_key(PyObject* key);
  std::vector<Owned> import_keys(PyObject* keys, int source);
  void check_key(bool is_there, const Twin& twin, PyObject* key, int path);
  PyObject* find_in_set(Twin& twin, PyObject* key);
  PyObject* find_in_list(const Twin& twin, PyObject* key);
  bool contains_at_first(const Twin& twin, PyObject* key);
  static Owned keys_at_first(const Twin& twin);
  static bool keeps_order(const Twin& twin, PyObject* own, PyObject* keys);
  void note_identity(PyObject* key);
  void note_key(PyObject*& key);
  void note_identities_in(PyObject* container);
  void note_identities(const Call& call, PyObject* result);
  void note_order(PyObject* set, const std::vector<Owned>& items);
  void check_order(PyObject* set) const;
  void check_order(const Call& call) const;
  // ---- classes (class_checks.cpp) ----
  PyObject* call_isinstance(PyObject* object, PyObject* classes);
  bool has_protocol(PyObject* object, PyObject* protocol);
  // ---- numbers for C (special_methods.cpp) ----
  PyObject* call_conversion(const Call& call);
  PyObject* call_reader(const Call& call);
  PyObject* call_method_of_numbers(const Call& call);
  PyObject* with_numbers(PyObject* value, Seen& seen);
  Owned index_of(PyObject* key);
  void read_bounds(State& state);
  // ---- random numbers of Python (python_random.cpp) ----
  // Null for other calls.
  PyObject* call_draw(const Call& call);
  PyObject* make_generator(const Call& call);
  // ---- iterators of the program (iterators.cpp) ----
  PyObject* next_of(PyObject* iterator);
  static PyObject* function_of_slot(const Call& call);
  PyObject* number_of_tensor(const Call& call);
  PyObject* call_next(const Call& call);
  bool is_changed(PyObject* container);
  static bool is_changed(const Twin& twin, PyObject* own);
  // ---- handlers of operators (handlers.cpp) ----
  class HandlerWorld;
  explicit Capture(Capture& program);
  Capture* other() const;
  bool has_changed(PyObject* original, PyObject* key);
  bool has_changed_class(PyTypeObject* type, PyObject* name) const;
  void check_unwritten(PyObject* original, PyObject* key = nullptr);
  void check_unwritten_class(PyTypeObject* type, PyObject* name);
  void check_unwritten_cell(PyObject* cell);
  void check_unwritten_slot(PyObject* object, PyObject* name);
  void check_untaken(PyObject* iterator);
  PyObject* shown(PyObject* value);
  PyObject* part_of(PyObject* wrapper, PyObject* name, PyObject* value);
  PyObject* own_part_of(PyObject* wrapper, PyObject* name);
  bool set_own_part(PyObject* wrapper, PyObject* name, PyObject* value);
  void set_part(PyObject* wrapper, PyObject* name, PyObject* value);
  PyObject* new_part_of(PyObject* object, PyObject* name);
  PyObject* slot_of_wrapper(PyObject* wrapper, PyObject* name);
  PyObject* known_to_other(PyObject* value);
  bool adds_unseen(const Call& call);
  Twin* unseen_list(const Call& call);
  PyObject* call_of_handlers(const Call& call, CallKind kind);
  Flow for_iter(State& state, int argument);
  // ---- weak references and ends of objects (ends.cpp) ----
  PyObject* make_reference(const Call& call);
  PyObject* referent_of(PyObject* proxy);
  bool is_noticed(PyObject* object);  // when it ends
  void check_ends_in(PyObject* container);
  // What a container holds, and after a write: that nothing it lost is shown by weak references.
  static Owned items_of(PyObject* container);
  void check_references(PyObject* container, const Owned& items) const;
  void check_end(const State& state, PyObject* const* variable);
  void check_end_of(const State& state, PyObject* const* variable);
  void check_ends_of(const State& state, const PyObject* returned);
  void end_generators(const State& state, PyObject* returned);
  std::unordered_set<PyObject*> outliving(PyObject* returned);
  static Owned tuple_of(const Call& call);
  // ---- addresses (addresses.cpp) ----
  PyObject* address_of(PyObject* object);
  void note_large_number(PyObject* number);
  bool is_address(PyObject* number) const;
  PyObject* object_at(PyObject* number) const;
  bool settle_addresses(PyObject* value);
  void need_settled(PyObject* value);
  void settle_met(PyObject* a, PyObject* b);
  bool opens_empty(PyObject* container);
  void check_addresses(const Call& call);
  std::vector<const void*> pending_writes();
  bool enter(State& state, const Call& call);
  PyObject* locals_of(State& state);
  PyObject* local_value(State& state, int slot);

  // ---- instructions (instructions.cpp) ----
  using Handler = Flow (Capture::*)(State& state, int argument);
  struct Way {
    Handler handler = nullptr;
    int operands = 0;  // of the plain handler: how many are looked into
    bool writes = false;
    int below = 0;  // of a container that is built: how many new items lie on it
  };
  static const std::array<Way, 256>& ways();
  // Takes the exception at hand where it is Ctrl-C inside of a function of C (interruptions.cpp).
  bool take_interruption_of(const State& state);
  void take_own_error();
  // Whether the exception at hand is none of the program's for sure (raised.cpp). `is_exact`: it
  // is one of the program's; `is_own`: no frame ended in the instruction of this number;
  // `saw_symbols`: C did, which frames gave to it.
  bool breaks_at_error(const State& state, const std::vector<Owned>& operands, bool is_exact,
                       bool is_own, bool saw_symbols, int64_t number);
  bool is_doubtful(const State& state, const std::vector<Owned>& operands, PyObject* raised);
  bool may_change(const State& state, const std::vector<Owned>& operands) const;
  bool shows_tensor(PyObject* operand) const;
  void read_stack(State& state);
  Flow dispatch(State& state);
  void note_generator(PyObject* object);
  Frame& frame_of(const State& state);
  PyObject* read_slot(State& state, int slot);
  Flow load_fast(State& state, int argument);
  Flow load_fast_and_clear(State& state, int argument);
  Flow load_fast_load_fast(State& state, int argument);
  Flow store_fast(State& state, int argument);
  Flow store_fast_load_fast(State& state, int argument);
  Flow store_fast_store_fast(State& state, int argument);
  Flow delete_fast(State& state, int argument);
  Flow make_cell(State& state, int argument);
  Flow copy_free_vars(State& state, int argument);
  Flow load_deref(State& state, int argument);
  // A new reference; null where it is empty.
  PyObject* cell_contents(PyObject* cell);
  Flow store_deref(State& state, int argument);
  Flow delete_deref(State& state, int argument);
  PyObject* global_value(const State& state, PyObject* name);
  Flow load_global(State& state, int argument);
  Flow store_global(State& state, int argument);
  Flow delete_global(State& state, int argument);
  Flow load_attr(State& state, int argument);
  Flow load_method(State& state, int argument);
  Flow store_attr(State& state, int argument);
  Flow delete_attr(State& state, int argument);
  bool is_key(PyObject* object);
  Flow binary_subscr(State& state, int argument);
  Flow store_subscr(State& state, int argument);
  Flow delete_subscr(State& state, int argument);
  Flow contains(State& state, int argument);
  Flow is_op(State& state, int argument);
  Flow compare_op(State& state, int argument);
  Flow build_set(State& state, int argument);
  Flow build_map(State& state, int argument);
  Flow make_function(State& state, int argument);
  void check_distinct(PyObject* a, PyObject* b);
  void import_defaults(TaedaFrame* frame);
  bool is_made(PyObject* function) const { return made_functions_.contains(function); }
  bool is_of_program(PyObject* callable);
  bool holds_values(PyObject* object) const;
  Flow call_instruction(State& state, int argument);
  Flow call_kw(State& state, int argument);
  Flow call_function_ex(State& state, int argument);
  PyObject* module_of(PyObject* name);
  Owned absolute_name(const State& state, PyObject* name, PyObject* level);
  void load_parts(PyObject* package, PyObject* package_name, PyObject* names);
  Flow import_name(State& state, int argument);
  Flow import_from(State& state, int argument);
  Flow return_generator(State& state, int argument);
  Flow refuse(State& state, int argument);
  Flow match_class(State& state, int argument);
  void check_arithmetic(State& state, int operation);
  bool is_known_power(PyObject* base, PyObject* exponent);
  static PyObject* number_of(PyObject* number);
  void check_divisor(PyObject* dividend, PyObject* divisor);
  Flow before_with(State& state, int argument);
  Flow with_except_start(State& state, int argument);
  // ---- errors that may name sizes (raised.cpp) ----
  static constexpr const char* kNamesSizes = "an error whose text may name sizes";
  bool names_sizes(const State& state, PyObject* exception,
                   const std::vector<Owned>& operands) const;
  Flow push_exc_info(State& state, int argument);
  Flow check_exc_match(State& state, int argument);
  Flow raise_varargs(State& state, int argument);
  Flow reraise(State& state, int argument);
  // ---- assertions (assertions.cpp) ----
  static const Instruction* fails_unless(const State& state, const Instruction& jump, bool truth);
  bool has_handler() const;
  void take_assertion(State& state, const Instruction& jump);
  void take_condition(State& state, const Instruction& jump);
  Flow pop_jump(State& state, int argument);
  Flow to_bool(State& state, int argument);
  Flow format_value(State& state, int argument);
  Flow finish_call(State& state, PyObject** words, Call call);

  bool make_entry(PyObject* value, const std::vector<const State*>* frames);
  // The steps of an entry; false with an error of Python.
  bool write_recipes(Entry& entry, PyObject* value, const std::vector<const State*>* frames);

  Sources& sources_;
  GuardProgram& guards_;
  Recorder& recorder_;
  std::vector<Owned> held_;
  std::vector<std::unique_ptr<Twin>> twins_;
  std::unordered_map<PyObject*, Outside> outside_;      // by stand-in
  std::unordered_map<PyObject*, PyObject*> stand_ins_;  // by object of the program; borrowed
  std::unordered_map<PyObject*, Unread> unread_items_;  // by stand-in
  std::unordered_map<TaedaFrame*, Frame> frames_;
  std::unordered_set<PyTypeObject*> checked_classes_;
  std::unordered_set<PyObject*> made_functions_;  // by the captured program; kept
  std::unordered_set<PyObject*> made_classes_;    // Note [Classes of the capture]; kept
  // Those that C is given, and what they call; kept.
  std::unordered_map<PyObject*, PyObject*> callers_;
  std::vector<Owned> generators_;  // weak references to those that began to run
  int64_t writes_ = 0;             // instructions so far that wrote to something
  int64_t num_frames_ended_ = 0;   // of those that were entered or called by C
  bool is_broken_ = false;         // in a frame that a C function called
  Taker taker_ = Taker::C;         // of the next one
  int64_t num_symbols_given_ = 0;  // to C, by such frames
  bool is_abandoned_ = false;
  bool lacks_room_ = false;
  bool is_looked_at_ = false;  // what a frame gives that C calls now (called_by_c.cpp)
  Owned interruption_;         // what a handler of a signal raised
  int64_t num_executed_ = 0;   // instructions
  int num_frames_ = 0;         // in which the region begins
  int64_t break_at_ = 0;       // one of them
  std::string break_reason_;
  int64_t ends_at_ = 0;
  int64_t doubts_at_ = 0;
  int64_t last_generator_at_ = 0;  // where one was made last
  // What calls gave, by address: the last one.
  std::unordered_map<PyObject*, int64_t> made_at_;
  std::unordered_map<PyObject*, PyTypeObject*> names_of_;  // dicts of names of classes
  int64_t scope_began_at_ = 0;  // of locks, function transforms and others
  bool is_in_transform_ = false;
  std::map<uint64_t, int64_t> transforms_began_at_;   // by the number of their outermost level
  std::unordered_map<PyObject*, int64_t> raised_at_;  // by exception; kept
  std::unordered_set<PyObject*> errors_with_sizes_;   // that are on their way; `held_` keeps them
  std::vector<Owned> locks_;                          // held
  int num_leaves_ = 0;                                // that runs make (Step::Leaf)
  int num_undivided_ = 0;                             // scopes in which no region ends
  struct Deferred {
    PyObject* callable;
    std::vector<Owned> constants;
  };
  std::vector<Deferred> deferred_;  // calls for their effect, in their order
  // Calls of the captured program that are made behind the graph.
  struct Effect {
    PyObject* callable;
    std::vector<Owned> parts;
    Owned result;  // stands for what the call gives
  };
  std::vector<Effect> effects_;
  std::map<PyObject*, Owned> grads_;         // that the program gave to its tensors, by stand-in
  std::map<PyObject*, bool> requires_grad_;  // what the program said of its tensors
  // The data that it gave to them, in their order: stand-in and data.
  std::vector<std::pair<PyObject*, Owned>> data_;
  // What was written to slots of classes, by object and name; null: deleted.
  std::map<std::pair<PyObject*, PyObject*>, Owned> members_;
  std::set<int> slotted_;     // the paths of objects whose slots were read or written
  std::set<int> identities_;  // the paths of objects that were keys
  std::unordered_set<PyObject*> unordered_;  // stand-ins of sets that have another order
  // The same of attributes of classes, in their order.
  struct ClassWrite {
    PyTypeObject* type;
    PyObject* name;  // interned; `held_` keeps both
    Owned value;
  };
  std::vector<ClassWrite> class_writes_;
  // How far iterators of the program are.
  struct Taken {
    PyObject* iterator;
    int count = 0;  // of calls of next, the one at the end included
    bool is_at_end = false;
  };
  std::vector<Taken> taken_;
  std::unordered_map<PyObject*, PyObject*> iterator_of_part_;  // that it takes from; kept
  // Handles of hooks, and whether the graph registers them.
  std::unordered_map<PyObject*, bool> hooks_;
  // A function of control flow is captured, whose graph has values and no hooks of them.
  bool is_body_without_hooks_ = false;
  // What the program asked for by id() and is not settled (Note [Addresses]): the stand-in by its
  // address; and the program's own numbers that may be some.
  std::unordered_map<void*, PyObject*> addresses_;
  std::unordered_set<void*> large_numbers_;
  bool is_whole_ = false;
  EarlyCalls* early_calls_ = nullptr;
  std::set<std::pair<PyObject*, PyObject*>> taken_calls_;  // of those; kept
  std::vector<RememberedCall> remembered_;                 // `held_` keeps what they name
  int num_rehearsals_ = 0;   // of functions that remember, that run now
  Owned rehearsed_;          // what they gave, by function and key
  std::vector<Draw> draws_;  // in their order; `held_` keeps what they name
  std::string reason_;
  std::unique_ptr<Entry> entry_;
  Owned failure_;
  Modes modes_;
  const Overrides overrides_;
  PyObject* exception_state_ = nullptr;
  std::unique_ptr<HandlerWorld> handlers_;  // of the program's capture
  Capture* program_ = nullptr;              // of that of handlers: the program's
  // What the program wrote to attributes of wrappers and no graph can hold, by wrapper: a dict.
  std::unordered_map<PyObject*, Owned> own_parts_;
};

}  // namespace taeda::dynamo
