// The plan of a compiled graph: a list of kernels and calls, run over memory of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "taeda/base/function_ref.h"
#include "taeda/fx/compiler.h"
#include "taeda/inductor/program.h"
#include "taeda/kernel/native/module.h"

namespace taeda::inductor {

using dispatch::Value;

// A kernel or a call of a plan.
struct StepReport {
  bool is_kernel = false, is_native = false;
  std::string name;                     // of the operator that is called; "kernel3"
  std::string epilogue;                 // the kernel that finishes blocks of what is called
  std::vector<std::string> prologues;   // the kernels that fill blocks of its operands
  std::vector<std::string> post_ops;    // the epilogue in the words of a library
  bool is_finished_by_library = false;  // which did it in the last run: Note [Post-ops]
  std::vector<std::string> values;      // that it gives, as the graph names them
  std::vector<std::string> nodes;       // of the graph that run inside of it, with their operators
  std::vector<std::string> lines;       // of the program that they come from
  int members = 0;                      // equal kernels that it joins, with itself
  int singles = 0;                      // kernels of one element that share its launch
  int family = 0;                       // products that run side by side, with itself
  int64_t packed_bytes = 0;             // of a frozen operand that is kept in panels
  int64_t bytes_read = 0, bytes_written = 0;
  int64_t bytes_saved = 0;  // of values that fusion keeps out of memory, written and read
  double seconds = 0;       // per run, where runs are timed
};
// A stretch of the arena.
struct ArenaSlot {
  std::string value;
  int first, last;  // steps
  int64_t offset, bytes;
};
// What a plan consists of and how it ran. Bytes are those of the last sizes that ran, or of the
// sizes that were traced.
struct PlanReport {
  int kernels = 0, native = 0, calls = 0;
  int distinct_kernels = 0;  // that are scheduled, where layers repeat
  int64_t arena_bytes = 0;
  int64_t output_bytes = 0;
  int64_t runs_by_eager = 0;  // where a kernel found an index out of range
  std::vector<std::string> called, library_calls, fallbacks;  // the first are all that is called
  std::vector<StepReport> steps;
  std::vector<ArenaSlot> arena;
  std::vector<std::pair<std::string, double>> seconds;  // by stage of the compiler
  std::string problem;                                  // why a kernel could not be compiled
};

struct PlanOptions {
  bool fuses_into_products = true;  // Note [Finished blocks], Note [Filled blocks]
  bool batches_products = true;     // Note [Families of products]
  // What a library then rounds otherwise than in eager:
  bool has_post_ops = true;     // work behind a product
  bool lays_out_images = true;  // Note [Layouts]
};

// One plan may run on several threads at once: each run has memory of its own.
class TAEDA_API CompiledGraph {
 public:
  // Calls `eager` on the inputs where a run finds an index out of range: it throws eager's error.
  // `seconds`: of the stages before.
  CompiledGraph(std::unique_ptr<Program> program, fx::CompiledFn eager, const fx::Graph& graph,
                std::vector<std::pair<std::string, double>> seconds,
                const PlanOptions& options = {});
  ~CompiledGraph();

  size_t num_inputs() const;
  size_t num_steps() const;
  // Tensors and integers as the graph's placeholders have them. Throws where an input is not like
  // the one that was traced: rank, dtype, device, or a size that the trace took as a constant.
  // Results are tensors of their own, which no view of autograd ties to anything.
  std::vector<Value> run(const std::vector<Value>& inputs);

  // Has the system's compiler build every kernel in the background. Each is interpreted until its
  // native form is there, and for ever where the compiler fails; that is told by one warning.
  void start_native();
  // Takes what is ready; whether nothing is left to wait for, after at most that long.
  bool wait_native(int milliseconds);
  // Starts them and waits for all. Throws where a kernel could not be compiled.
  void compile_native();
  // Throws where a kernel could not be compiled.
  void check_native() const;
  // The sources that start_native() has compiled: a few kernels each.
  std::vector<std::string> native_sources() const;
  // Takes kernels from modules that were made of these sources before; `find` gives null for a
  // source that has none, and its kernels stay as they are.
  using FindModule = FunctionRef<std::shared_ptr<kernel::NativeModule>(const std::string& source)>;
  void take_native(FindModule find);

  // From now on a kernel that is not native is an error of a run.
  void set_native_only();
  // From now on each kernel runs in both forms, where it has both; differing bits are an error.
  void set_checked(bool on);
  // From now on runs are timed step by step.
  void set_timed(bool on);

  PlanReport report() const;
  // The kernels and calls in the order in which they run.
  std::string text() const;
  // The same with kernels as C++.
  std::string source() const;

  struct Parts;

 private:
  std::unique_ptr<Parts> parts_;
};

}  // namespace taeda::inductor
