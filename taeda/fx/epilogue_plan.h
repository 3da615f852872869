// What an epilogue does, before it is a graph (Note [Epilogue]).
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "taeda/fx/epilogue.h"

namespace taeda::fx {

struct EpiloguePlan {
  // To an input.
  struct Write {
    size_t input;
    bool is_recorded = false;                   // by autograd
    bool is_counted = true;                     // among the writes to the input
    bool is_first = false;                      // before it has its new sizes, which are less
    std::optional<size_t> value = {};           // elements that are written
    std::vector<int64_t> single = {};           // dimensions of which the first element is
    std::optional<std::vector<Arg>> look = {};  // new sizes, strides and offset
  };
  // Where a result comes from.
  struct Result {
    enum class Kind : uint8_t { Value, Input, View } kind;
    size_t number;
  };
  struct View {
    enum class Kind : uint8_t {
      Plain,
      Detached,    // the root of views that are detached from the base
      Unrecorded,  // requires gradients with the base, and has none
      Cut,         // has gradients, which an unrecorded view of the base ends
      Own,         // has a gradient of its own, not through the base
    };
    const Node* node;  // of the program's graph; null where the memory is told by `look`
    Result base;       // a value, an input or a detached root
    std::vector<const Node*> steps = {};  // that lead to the node, the last one first
    std::vector<Arg> look = {};
    int64_t moved = 0;  // places that the steps name
    Kind kind = Kind::Plain;
    bool is_older = false;                    // than the last write
    bool is_counted = true;                   // writes to a detached root, among those to the base
    std::optional<size_t> history = {};       // the value that has it
    ViewOrigin origin = ViewOrigin::Default;  // of one with a gradient of its own
  };

  bool is_needed = false;
  std::vector<Epilogue::Given> values;
  std::vector<Write> writes;
  std::vector<size_t> counted;  // inputs whose version alone changed
  std::vector<View> views;
  std::vector<Result> results;
  std::unordered_map<const Node*, size_t> of_value;  // nodes that are values
  std::unordered_set<const Node*> numbers;           // nodes that inputs tell, computed again
};

// The argument whose memory the results of a call look at; none where they have their own.
const Node* viewed(const Node& node);

// The place in the storage that a view names, which is an argument of as_strided; null for others.
const Arg* place_named_by(const Node& view);

IntrusivePtr<Graph> epilogue_graph(const TracedProgram& program, const EpiloguePlan& plan);

}  // namespace taeda::fx
