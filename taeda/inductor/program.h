// A program: what a closed graph computes, as definitions, reductions and calls of operators.
//
// Lowering (lower.h) makes it from a graph, fusion (fuse.h) sorts its units into groups, and each
// group becomes one kernel (write_kernel.h). All expressions belong to one pool.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "taeda/dispatch/value.h"
#include "taeda/fx/graph.h"
#include "taeda/kernel/definition.h"

namespace taeda::inductor {

using kernel::Definition;
using kernel::Place;
using kernel::Reduction;
using symbolic::Expr;

// Memory of a run. Temporaries lie in one arena, an output is allocated by itself, and what a call
// returns stays where the operator put it.
struct Memory {
  enum class Kind : uint8_t { Input, Constant, Temporary, Output, Called };
  Kind kind;
  int number = 0;  // of an input, or of a constant
  DType dtype;
  const Expr* numel;       // elements from its start to its end
  bool is_frozen = false;  // given, and the same in most runs: Note [Frozen inputs]
};

// How the elements of a tensor lie in memory.
struct Geometry {
  int memory = -1;
  Place sizes, strides;
  const Expr* offset = nullptr;
};

// The number of elements from the start of the memory to the last one of the tensor.
TAEDA_API const Expr* extent_of(symbolic::ExprPool& pool, const Geometry& g);

// An argument of a call: a constant, a number, a tensor in memory, or a list of such.
struct CallArgument {
  dispatch::Value constant;
  const Expr* number = nullptr;
  int tensor = -1;  // a value of the program
  std::vector<CallArgument> list;
  bool is_list = false;
};

struct PartialWriter;

// An operator that runs as it is: a library's product, or one without a lowering.
struct Call {
  dispatch::Operator* op;
  const fx::Node* node;
  std::vector<CallArgument> arguments;
  std::vector<int> results;  // values
  int number = 0;            // among the calls of the program
  bool draws = false;        // random numbers, or has another effect: such calls keep their order
  int after = -1;            // the call before it that draws
  bool only_checks = false;  // has a lowering, which would not look at indices
  const PartialWriter* in_place = nullptr;  // Note [Partial writes] in partial_writes.h
};

// Note [Random numbers of a plan]: a run reserves parts of the default generator's stream in the
// order of the graph's nodes, so numbers and the generator's state are eager's. Streams are
// reserved when the run starts, and those behind a call that draws when the call is done; kernels
// of such a stream come after the call. Stream k has the numbers 2k (seed) and 2k + 1 (offset) of
// the kernels. A generator without such a stream (Mersenne) makes the run eager.
struct Stream {
  const Expr* counters;
  int after = -1;  // the call
};

// A tensor of the graph.
struct TensorValue {
  Tensor fake;  // sizes, strides and dtype
  const Definition* definition = nullptr;
  int root = -1;            // the value whose memory it looks at, often itself
  Geometry geometry;        // in the memory of its root, once that has some
  std::string name;         // of its node
  bool is_kept = false;     // of a root: it lies in memory, whatever reads it
  bool is_apart = false;    // of a root: its memory is a storage of its own
  bool has_places = false;  // of a root: a view names places of its storage: Note [Named places]
  int num_uses = 0;         // by nodes of the graph
};

// A place at which a unit reads another value.
struct Read {
  const Definition* definition = nullptr;
  const Reduction* reduction = nullptr;
  int which = 0;  // result of the reduction
  Place place;    // in the unit's own dimensions
};

// A loop nest that is not taken apart: the elements of a definition, those of one with updates, a
// reduction, a scan together with the definition that reads it, or a call.
struct Unit {
  enum class Kind : uint8_t { Pointwise, Scatter, Reduction, Scan, Call };
  Kind kind;
  const Definition* definition = nullptr;
  const Reduction* reduction = nullptr;
  const Call* call = nullptr;
  std::vector<Read> reads;
  std::string name;               // of the graph's node
  std::vector<int> streams = {};  // that it draws from
  bool is_cheap = false;          // computing it again costs no more than reading it
  bool may_fail = false;          // it reads memory at indices that are read
  int written = -1;               // the memory of an input: Note [Writes to inputs]
};

// Note [Writes to inputs]: a copy_ to an input at the end of a graph is a value whose memory is the
// input's, so a kernel writes there at once:
//
//   p_new = p - g * 0.1                one unit, stored to the memory of p
//   copy_(p, p_new)           ->
//
// It stands where nothing reads the old elements later: in the kernel that reads them, if it reads
// each where it writes it, and otherwise behind all that reads them. An error of a run must leave
// inputs as they were. So in programs that call operators or read memory at indices of memory,
// writes are copies of finished values behind everything else.
struct Write {
  int value;                 // in the memory of the input
  int input;                 // its number
  int from;                  // the value that is copied
  const Definition* source;  // of the elements
  bool is_stored = false;    // the source lies in memory of its own before
};

struct Program {
  std::shared_ptr<symbolic::ExprPool> pool = std::make_shared<symbolic::ExprPool>();
  std::deque<Definition> definitions;
  std::deque<Reduction> reductions;
  std::deque<Call> calls;
  std::vector<Stream> streams;
  std::vector<TensorValue> values;
  std::vector<Write> writes;
  std::vector<Write> partial_writes;  // by calls: Note [Partial writes] in partial_writes.h
  bool has_late_writes = false;       // behind everything else: Note [Writes to inputs]
  std::vector<Memory> memories;
  std::vector<Unit> units;  // in an order in which they can run
  // By definition and by reduction: the unit that computes it; -1 where it is computed in place.
  std::vector<int> unit_of_definition, unit_of_reduction;
  // By reduction: its body for the type of its values, once somebody asked for it.
  mutable std::vector<const kernel::ReduceBody*> bodies;
  // By definition: where its elements lie; memory -1 for those without.
  std::vector<Geometry> geometry;
  // By reduction: the memory of each result that another kernel reads.
  std::vector<std::vector<int>> result_memory;

  // ---- the calling convention ----
  struct Input {
    Tensor fake;                   // undefined for numbers
    int value = -1;                // of tensors
    const Expr* number = nullptr;  // of integers and floats
    bool is_float = false;         // a number, which kernels read from memory
  };
  std::vector<Input> inputs;
  std::vector<Tensor> constants;
  struct Result {
    int value = -1;                // a tensor
    const Expr* number = nullptr;  // one that sizes and numbers tell
    dispatch::Value constant;
  };
  std::vector<Result> results;
  std::vector<const Expr*> symbols;  // of the inputs' sizes
};

}  // namespace taeda::inductor
