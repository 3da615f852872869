// The kernel IR: loop nests over buffers, with values as expressions.
//
//   kernel row_max(rows, columns)
//     buffer y float32[rows]
//     buffer x float32[columns*rows]
//     value %0 = load x[columns*i + j] : f32
//     value %1 = state 0 : f32
//     loop i < rows parallel
//       loop j < columns reduced
//         reduce max(%0) over j -> 0
//       store y[i] = %1
//
// Sizes, strides and indices are expressions of the index language over parameters and axes. What
// is computed is a node of the value DAG; where and how often it is computed is given by the loops.
// A kernel owns its values and shares its pool with the kernels it was made beside, so a copy is
// made by printing and parsing (text.h). Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "taeda/base/export.h"
#include "taeda/kernel/expr.h"
#include "taeda/kernel/ir/reduce_body.h"

namespace taeda::kernel {

using symbolic::Expr;
using symbolic::ExprPool;

// What a loop over an axis does with its elements: stores one result for each, combines them, or
// combines them and keeps every intermediate result.
enum class Role : uint8_t { Kept, Reduced, Scanned };
// How the axis is run. Block and Thread are grids of devices; Parallel is split by the launch: the
// first axis of an outermost loop, or the first two as one.
enum class Binding : uint8_t { Serial, Parallel, Vector, Block, Thread, Unroll };

struct Axis {
  const Expr* var;
  const Expr* extent;
  Role role = Role::Kept;
  Binding binding = Binding::Serial;
};

// Global buffers are arguments. Shared ones belong to a block of threads, Local ones to one
// iteration of the loops around their uses; their numel is an expression of parameters.
enum class Space : uint8_t { Global, Shared, Local };

struct Buffer {
  std::string name;
  DType dtype;
  const Expr* numel;
  Space space = Space::Global;
  int alignment = 0;     // bytes that the start is known to be a multiple of; 0: its item size
  int alias_class = -1;  // buffers of one class may overlap; -1: apart from all others
};

// Write replaces, Add accumulates where one iteration owns the element. The atomic modes combine
// colliding elements in any order.
enum class StoreMode : uint8_t { Write, Add, AtomicAdd, AtomicMul, AtomicMax, AtomicMin };

struct Store {
  int buffer;
  const Expr* at;
  NodeId value;
  NodeId mask = -1;  // nothing is written where it is false
  StoreMode mode = StoreMode::Write;
};

// Whole: values in, results out. Partial: values in, states out. Combining: states in, results out;
// they belong to blocks of 4096 * 2^k elements and are combined by the cascade of the tree alone.
enum class Part : uint8_t { Whole, Partial, Combining };

// Combines values over the named axes of the loop around it, in the order of Note [Reduction tree]
// over their row-major index. After the loop, State nodes hold the results, numbered from
// `first_state`.
struct Reduce {
  const ReduceBody* body;
  std::vector<const Expr*> axes;
  std::vector<NodeId> values;
  int first_state;
  Part part = Part::Whole;
};

// Combines values along an axis of the loop around it, from its first element to its last. State
// nodes of the same iteration hold the results up to and with its own element.
struct Scan {
  const ReduceBody* body;
  const Expr* axis;
  std::vector<NodeId> values;
  int first_state;
};

// Tests the range of an indirect index before anything is written.
struct Check {
  const Expr* symbol;
};

// Everything before it is done when anything after it begins; between the outermost loops only.
struct Barrier {};

struct Loop;
using Step = std::variant<Store, Reduce, Scan, Check, Barrier, Loop>;

// Runs its steps for each index of its axes, the last axis fastest. Steps that follow each other
// without a loop between them read before any of them writes.
struct Loop {
  std::vector<Axis> axes;
  std::vector<Step> steps;
};

struct TAEDA_API Kernel {
  std::string name;
  std::shared_ptr<ExprPool> pool = std::make_shared<ExprPool>();
  ExprGraph values;
  std::vector<const Expr*> params;
  std::vector<Buffer> buffers;
  std::vector<Step> steps;  // loops and barriers

  // A parameter: an integer that is at least 0 and known when the kernel is launched.
  const Expr* add_param(const std::string& name);
  int add_buffer(Buffer buffer);
  // The variable of an axis.
  const Expr* axis(const std::string& name);
  // A load in the compute type of the buffer.
  NodeId load(int buffer, const Expr* at, NodeId mask = -1, NodeId other = -1);
};

// Throws ValueError or TypeError that names the first rule which the kernel breaks.
TAEDA_API void verify(const Kernel& kernel);

// ---- reading kernels ----
TAEDA_API const char* role_name(Role role);
TAEDA_API const char* binding_name(Binding binding);
TAEDA_API const char* space_name(Space space);
TAEDA_API const char* store_mode_name(StoreMode mode);

// The values that a step computes: roots of the DAG, loops aside.
TAEDA_API std::vector<NodeId> roots_of(const Kernel& kernel, const Step& step);
// The results' types of a reduction or scan, in the order of its states.
TAEDA_API std::vector<Type> state_types(const Reduce& reduce);
// The axes that the launch of an outermost loop goes through: 1, or 2 where both are parallel.
TAEDA_API size_t num_launched(const Loop& loop);
// How many indices these axes have; those of a launch count the last of them fastest.
TAEDA_API const Expr* launch_extent(const Kernel& kernel, const Loop& loop);
// The step by which an index moves with a symbol, where it moves evenly; null elsewhere.
TAEDA_API const Expr* stride_of(ExprPool& pool, const Expr* at, const Expr* var);

}  // namespace taeda::kernel
