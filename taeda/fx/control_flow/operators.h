// Control flow: operators of the dispatcher whose functions are regions.
//
//   higher_order::cond(pred, true region, false region, operands)
//   higher_order::while_loop(condition region, body region, carried, others)
//   higher_order::while_loop_stack_output(the same): the results of each step, stacked
//   higher_order::scan(region, carried, xs, others): the last carries, then stacked results
//   higher_order::map_impl(region, xs, others)
//   higher_order::associative_scan(region, xs, others)
//   higher_order::streamed_attention(two regions of a step, operands ...): streamed_attention.cpp
//
// Note [Control flow]: where values are at hand and nothing traces, and wherever its functions are
// open, a call is the operators inside: autograd, levels and modes see those. Under a tracer or on
// fake tensors a call with regions is one call. Autograd then records a node whose backward is
// another call with the regions' derivatives (gradients.cpp), tangents are results of a call with
// twice the operands (tangents.cpp), vmap makes a call with regions over the batch (batching.cpp),
// and functionalization calls with regions that write to nothing (rewrite_regions). New regions are
// traces of C++ programs that run the old ones (retrace.h).
#pragma once

#include "taeda/dispatch/operator.h"
#include "taeda/fx/regions.h"
#include "taeda/fx/retrace.h"

namespace taeda::fx {

using dispatch::Operator;
using dispatch::Stack;

struct ControlFlow {
  const char* schema;
  // How a graph writes each list of operands, in order: '(' as a tuple, '[' as a list.
  const char* brackets;
  // On values; what runs inside is seen by whatever is active.
  Values (*run)(const Stack& args);
  // On fake tensors.
  Values (*run_fake)(const Stack& args);
  // Like the operands of each region, in the order of the regions.
  std::vector<Values> (*examples)(const Stack& args);
  // With gradients, as calls of control flow; `below` runs this call without.
  Values (*record)(Operator& op, const Stack& args, FunctionRef<Values()> below);
  // Over the batch of the innermost level, which is active; operands may be its wrappers.
  Values (*batch)(Operator& op, const Stack& args);
};

// Null for other operators.
TAEDA_API const ControlFlow* find_control_flow(const Operator& op);
// Those of programs.
TAEDA_API std::vector<Operator*> control_flow_operators();
// Calls through the dispatcher.
Values call_control_flow(Operator& op, Stack args);

// Whether such a call is recorded or computed as one call.
bool is_captured(const Stack& args);
// The operators inside the regions or functions of a call; on tensors without values those of one
// step. NotImplementedError for such tensors under a tracer.
TAEDA_API Values run_inside(const ControlFlow& flow, const Stack& args);

// RuntimeError unless results of the branches of a cond may stand for each other.
TAEDA_API void check_mergeable(const Value& a, const Value& b);

// Retraces the regions among the arguments of a call with these options; RuntimeError for a region
// that writes to its operands.
TAEDA_API void rewrite_regions(const ControlFlow& flow, Stack& args, const RetraceOptions& options);

// ---- the operators ----
extern const ControlFlow kCond, kWhileLoop, kWhileLoopStackOutput, kScan, kMap, kAssociativeScan;
extern const ControlFlow kStreamedAttention, kStreamedAttentionBackward;
// Between autograd's levels only: a while_loop that also gives the number of its steps and what
// each of them started from, in stacks with a row more than steps. No mode sees it: below the last
// level it is a while_loop_stack_output and the rows of that.
extern const ControlFlow kKeptLoop;

// The operator of the description.
Operator& operator_of(const ControlFlow& flow);

}  // namespace taeda::fx
