// Gradients and batches of control flow that is one call: calls with other regions.
#pragma once

#include "taeda/fx/control_flow/operators.h"

namespace taeda::fx {

using Below = FunctionRef<Values()>;

Values record_cond(Operator& op, const Stack& args, Below below);
Values record_while(Operator& op, const Stack& args, Below below);
Values record_while_stacked(Operator& op, const Stack& args, Below below);
// The results of kKeptLoop.
Values keep_steps(const Stack& args);
Values record_kept(Operator& op, const Stack& args, Below below);
Values record_scan(Operator& op, const Stack& args, Below below);
Values record_map(Operator& op, const Stack& args, Below below);
Values record_associative_scan(Operator& op, const Stack& args, Below below);

// Of operands with tangents; results have theirs.
Values run_with_tangents(Operator& op, const ControlFlow& flow, const Stack& args);

Values batch_cond(Operator& op, const Stack& args);
Values batch_while(Operator& op, const Stack& args);
Values batch_while_stacked(Operator& op, const Stack& args);
Values batch_kept(Operator& op, const Stack& args);
Values batch_scan(Operator& op, const Stack& args);
Values batch_map(Operator& op, const Stack& args);
Values batch_associative_scan(Operator& op, const Stack& args);

}  // namespace taeda::fx
