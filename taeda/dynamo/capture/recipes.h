// How values of the captured world become steps of an entry.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "taeda/dynamo/capture/capture.h"

namespace taeda::dynamo {

class Recipes {
 public:
  Recipes(Capture& capture, Entry& entry) : capture_(capture), entry_(entry) {}

  // The step that makes a value.
  int value(PyObject* object);
  void data();
  void taken();
  void warnings();
  bool writes();
  void class_writes();
  void handled(PyObject* exception);
  void function_modes();

 private:
  int add(Action action);
  int note(PyObject* object, int step) { return steps_[object] = step; }
  int constant(PyObject* object);
  int path(int source);
  void check_class(PyObject* object) const;
  void write(Capture::Twin& twin);
  void write_first(PyObject* container);
  static bool is_constant(PyObject* object);
  int make(PyObject* object);
  void fill_cells();
  int address(PyObject* number);
  void check_levels(PyObject* object) const;
  int output(PyObject* object);

  // recipes_of_objects.cpp
  int tuple(PyObject* object);
  void fill_dict(Action::Kind kind, int target, PyObject* dict);
  void fill_container(int made, PyObject* object);
  void fill_slots(int target, PyObject* object);
  void fill_hidden_slot(int target, PyObject* slot, PyObject* item);
  int native_method(PyObject* object);
  int effect(PyObject* object);
  int function(PyObject* object);
  void fill_function(int made, PyObject* object);
  void fill_attributes(int made, PyObject* object);
  int exception(PyObject* object);
  int dict_iterator(PyObject* object, PyObject* dict);
  int set_iterator(PyObject* object, PyObject* set);
  int of_call(PyObject* object, PyObject* parts);
  int generator(PyObject* object);
  int waiting_generator(PyObject* object, TaedaFrame* frame);
  int view(PyObject* object, PyObject* mapping);
  int of_plain_value(PyObject* object, PyObject* plain);
  int other(PyObject* object);

  // Writes to containers of the program.
  static bool is_write(const Action& action);
  void check_alone(const Capture::Twin& written);
  void write_twin(Capture::Twin& twin);
  void append_unseen(const Capture::Twin& twin);
  void write_deque(const Capture::Twin& twin, PyObject* items);
  static bool has_items(PyObject* tuple, const std::vector<PyObject*>& items);
  void write_dict(Capture::Twin& twin, PyObject* own);

  Capture& capture_;
  Entry& entry_;
  std::unordered_map<PyObject*, int> steps_;
  std::unordered_set<PyObject*> begun_values_;      // that are being made
  std::vector<PyObject*> cells_;                    // whose contents are made later
  std::unordered_set<const Capture::Twin*> begun_;  // that were written to, or are being
  std::vector<int> written_;                        // sources
  std::vector<size_t> early_writes_;                // steps that are before the other writes
};

}  // namespace taeda::dynamo
