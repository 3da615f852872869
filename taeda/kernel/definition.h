// Definitions: results of operators as functions from the place of an element to its value.
//
//   softmax along the last dimension of x:
//     largest = Reduction("max", sizes of x, over the last one, [x at place])
//     e       = Definition(sizes of x, exp(x at place - result of largest))
//     sum     = Reduction("sum", sizes of x, over the last one, [e at place])
//     y       = Definition(sizes of x, e at place / result of sum)
//
// A compiler decides which of them lie in memory and which are computed where they are read. Sizes
// and places are expressions of one pool.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "taeda/core/scalar.h"
#include "taeda/kernel/ir/kernel.h"
#include "taeda/kernel/values.h"

namespace taeda::kernel {

// An index for each dimension.
using Place = SmallVector<const Expr*, 5>;

struct Definition;
struct Reduction;

// A part of the random stream that each run reserves: two numbers of the run, seed and offset.
struct RandomStream {
  int first_number;
};

// Gives the values of definitions while the values of another are written.
class TAEDA_API Emitter {
 public:
  virtual ~Emitter();
  virtual ExprPool& pool() = 0;
  virtual ExprGraph& graph() = 0;
  // An element, in the compute type of the definition's dtype and as that dtype holds it.
  virtual Sym read(const Definition& definition, const Place& place) = 0;
  // An element where a mask holds, and zero elsewhere; memory is touched only where it holds.
  virtual Sym read_if(SymMask mask, const Definition& definition, const Place& place) = 0;
  // Result `which` of the row at a place of the dimensions that are kept.
  virtual Sym result(const Reduction& reduction, int which, const Place& kept) = 0;
  // A number of the run, by its place among them.
  virtual Sym number(int index, Type type) = 0;
  // A place along a dimension that is read from memory. A value outside of 0 .. extent - 1 (where
  // it wraps, of -extent .. extent - 1) is an error of the run.
  virtual const Expr* indirect(Sym value, const Expr* extent, bool wraps) = 0;
  // An integer to divide by, as it is. A zero is an error of the run.
  virtual Sym divisor(Sym value) = 0;

  Type type_of(Sym value) { return graph().node(value.id).type; }
  Sym cast(Sym value, Type type) { return Sym::from_id(graph().cast(value.id, type)); }
  // A number of the program in a compute type.
  Sym constant(const Scalar& value, Type type);
  // What place `element` of a stream holds.
  Sym random(Draw draw, const Expr* element, RandomStream stream, Sym limit = {});
  Sym index(const Expr* at, Type type = Type::I64) { return Sym::from_id(graph().index(at, type)); }
};

// What is added to the elements of a definition behind their own value, one update after the other
// in the order of places, whatever the threads.
struct Scatter {
  struct Update {
    Place at;  // of the definition
    Sym value;
  };
  Place sizes;  // of the updates
  std::function<Update(Emitter&, const Place&)> update;
};

struct Definition {
  int id;
  DType dtype;
  Place sizes;
  // Writes the value at a place, in any compute type; empty for what lies in memory from the start.
  std::function<Sym(Emitter&, const Place&)> value;
  bool is_stored = false;  // dear, and read for many elements: computed once, into memory
  std::optional<Scatter> scatter = {};  // such a definition is stored
};

// Rows of elements combined by a body of reduce_bodies.h.
struct Reduction {
  int id;
  std::string body;
  Place sizes;        // of all dimensions
  uint64_t dims = 0;  // bit d: dimension d belongs to the row
  // The values of the body at a place of all dimensions.
  std::function<std::vector<Sym>(Emitter&, const Place&)> values;
  Part part = Part::Whole;  // Combining: the values are states of the body
  // Every intermediate result is kept, along one dimension: it has a result at each place of all
  // dimensions, which only the elements of results at that very place read.
  bool is_scan = false;
  // Where it is set, the last dimension cuts rows of so many elements into pieces of its size, one
  // for each place of the dimension before: the last piece is shorter.
  const Expr* cut_length = nullptr;

  bool is_reduced(size_t dim) const { return dims >> dim & 1; }
  // The places of a row's dimensions left out.
  Place kept(const Place& all) const;
};

}  // namespace taeda::kernel
