// What a plan consists of, for the files that make, run, compile and describe plans.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <optional>

#include "taeda/backends/cpu/gemm/products.h"
#include "taeda/dispatch/schema.h"
#include "taeda/inductor/kernel_step.h"
#include "taeda/inductor/packed_weights.h"
#include "taeda/inductor/plan.h"
#include "taeda/inductor/post_ops.h"
#include "taeda/inductor/run_layout.h"
#include "taeda/kernel/native/compile_queue.h"

namespace taeda::inductor {

struct CallStep {
  const Call* call;
  std::string name;  // of its node
  const dispatch::Schema* schema;
  // By argument: whether a tensor is part of it. Others are the same in all runs of one layout.
  std::vector<bool> has_tensor;
  // Where a plan runs the product itself, in place of the operator.
  const cpu::ProductOperator* product = nullptr;
  bool are_channels_columns = false;  // of its blocks
  std::unique_ptr<PackedWeights> weights;
  // The work of the kernel that finishes its blocks, for a library: Note [Post-ops].
  std::vector<PlannedPostOp> post_ops = {};
};

// The kernel of an operand that is computed where a product packs it: Note [Filled blocks].
struct OperandStep {
  std::unique_ptr<KernelStep> kernel;
  int value, memory;
  bool is_by_columns, is_second;
};

// A kernel, a call, or a product whose blocks the kernel finishes: Note [Finished blocks].
struct PlanStep {
  std::unique_ptr<KernelStep> kernel;
  // Kernels of one element that run before and after it: Note [Joined kernels].
  std::vector<std::unique_ptr<KernelStep>> leading, trailing;
  std::optional<CallStep> call;
  std::vector<OperandStep> operands;
  std::vector<int> dying;  // memories of calls that nothing reads after it
  // Note [Families of products]: the other members, of the first one; and of those, the first.
  std::vector<size_t> family;
  int leader = -1;
  // For people: names of results, of the nodes inside of it, and lines of the program.
  std::vector<std::string> values, nodes, lines;
  std::vector<const Expr*> unwritten;                       // bytes that fusion keeps out of memory
  mutable std::atomic<int64_t> nanoseconds{0};              // of timed runs
  mutable std::atomic<bool> is_finished_by_library{false};  // in the last run: Note [Post-ops]

  // In the order in which they run.
  template <class F>
  void for_each_kernel(F&& f) const {
    for (const OperandStep& operand : operands) f(*operand.kernel);
    for (const auto& one : leading) f(*one);
    if (kernel) f(*kernel);
    for (const auto& one : trailing) f(*one);
  }
};

// Where a symbol's value comes from: a number of an input that is scale * symbol + offset + rest,
// where symbols that were bound before tell the rest.
struct SymbolBinding {
  enum class Of : uint8_t { Number, Size, Stride, Offset };
  size_t input;
  Of of;
  int dim = 0;  // of a size or stride
  int64_t scale = 1, offset = 0;
  size_t symbol = 0;  // of the program's
  std::optional<IndexProgram> rest = {};
};

// What every run compares of an input that is a tensor, side by side for all of them.
struct TracedKind {
  DType dtype;
  int64_t dim;
  Device device;
};

struct ShapePrograms {
  std::vector<IndexProgram> sizes, strides;
  IndexProgram offset;
};

// One source with some kernels, on its way through the compiler.
struct CompilingUnit {
  std::string source;
  std::shared_future<std::string> object;
  std::vector<std::pair<KernelForm*, std::string>> kernels;  // with their names in it
  std::shared_ptr<kernel::NativeModule> module = nullptr;    // that an earlier process made
};

// Note [Kernels of earlier processes]
// A plan that is made has its sources printed and looked up in the cache by another thread, while
// its caller makes the next plan or starts to run. What is found is loaded, and the first run uses
// it: that waits for the thread, at most as long as the plan took to be made. What is not found
// goes to the compiler (Note [Compiles wait for first results]).
struct NativeSearch {
  CompiledGraph::Parts* plan;  // null where it is gone; under printing()
  std::shared_ptr<const std::vector<std::string>> environment;  // for the compiler
  std::vector<CompilingUnit> units;  // of that thread until the search is done
  std::exception_ptr error;
  std::atomic<bool> is_done{false};
  std::mutex mutex;
  std::condition_variable has_ended;

  void run();
  void find_modules();
  void wait(std::chrono::duration<double> at_most);
};

// Held while kernels are printed or interpreters are made: both write to the plan's pool of
// expressions. Forks wait for it.
std::mutex& printing();

// Memory of runs that is used again: see Note [States of runs] in run.cpp.
struct RunState {
  std::vector<int64_t> symbols;
  std::vector<char*> memories;
  std::vector<Tensor> holders;     // by memory: the tensor whose storage it is
  std::vector<RunNumber> numbers;  // two per stream of random numbers
  std::shared_ptr<const RunLayout> layout;
  dispatch::Stack stack;
};

struct CompiledGraph::Parts {
  std::unique_ptr<Program> program;
  fx::CompiledFn eager;
  std::vector<Group> groups;  // by step
  std::deque<PlanStep> steps;
  std::vector<TracedKind> kinds;                        // by input
  std::vector<SymbolBinding> bindings;                  // by symbol
  std::vector<ShapePrograms> shapes;                    // by value
  std::vector<IndexProgram> numels;                     // by memory
  std::vector<Lifetime> lifetimes;                      // of temporaries, without bytes
  std::vector<int> temporaries;                         // memories
  std::vector<int> constants;                           // values
  std::map<const Expr*, IndexProgram> call_numbers;     // of arguments
  std::vector<IndexProgram> numbers;                    // of results
  std::vector<IndexProgram> stream_counters;            // by stream
  std::vector<std::pair<std::string, double>> seconds;  // of the stages that made it
  std::atomic<int64_t> arena_bytes{0};
  std::atomic<bool> is_timed{false}, is_checked{false}, needs_native{false};
  std::atomic<int64_t> timed_runs{0}, eager_runs{0};

  std::mutex run_mutex;
  std::vector<std::unique_ptr<RunState>> free_states;
  std::vector<std::shared_ptr<const RunLayout>> layouts;  // the latest last

  // Native kernels that are not there yet.
  std::mutex native_mutex;
  bool is_started = false;
  int64_t process = 0;  // that submitted them
  std::vector<CompilingUnit> pending;
  std::shared_ptr<NativeSearch> search;  // until its units are taken
  // That is still to come: Note [Compiles wait for first results].
  std::unique_ptr<kernel::CompileQueue::FirstRun> first_run;
  std::string problem;                 // of the last kernel that could not be compiled
  std::atomic<int> num_pending{0};     // with the search
  std::atomic<bool> has_forms{false};  // each kernel can run

  // plan.cpp
  void make_steps(const PlanOptions& options);
  CallStep call_step(const Unit& unit, const Group& group) const;
  void bind_symbols();
  void make_shapes();
  void find_lifetimes();
  ShapePrograms shape_of(const Geometry& g) const;

  // plan_report.cpp
  void note_origins(const fx::Graph& graph);
  void note_product(const Group& group, PlanStep& step);

  // run_layout.cpp
  std::shared_ptr<const RunLayout> layout_of(const std::vector<int64_t>& symbols);

  // native_kernels.cpp
  std::vector<CompilingUnit> units();  // under printing()
  void start_search();
  void take_found();
  void count_pending();
  void make_forms();
  void submit(CompilingUnit unit);
  void adopt();
  std::unique_ptr<kernel::CompileQueue::FirstRun> begin_first_run();
  void take(CompilingUnit& unit);
  void note_problem(const Error& error);
  void split(CompilingUnit& unit);
  void submit_again_after_fork();
};

// Whether the elements of an input are those of its memory, up to a conjugate or a sign.
bool has_memory(const Value& given);

// Whether TAEDA_COMPILE_STRICT is set: what is slower than it should be is an error.
bool is_strict();

}  // namespace taeda::inductor
