// Compiles in the background.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "taeda/base/export.h"
#include "taeda/kernel/native/compiler.h"

namespace taeda::kernel {

// Note [Compiles wait for first results]
// A program runs for the first time right after it was compiled, on all cores, and its caller waits
// for the result. A compiler beside it takes a core from the team of threads, which then waits for
// the thread that came late, in every loop; on 16 cores one compiler made first calls three times
// as long. So runs are announced (expect_run), and jobs that nobody waits for start when those runs
// have ended. A run that does not come, such as the backward of a loss that nobody differentiates,
// is waited for half a second.
//
// The runs after the first go on beside the compilers. In a large team some cores are idle at any
// time, and compilers take those alone. A small team leaves no core idle: there a compiler on each
// core, as nice as costs the runs a fifth of their speed, is done soonest.

// Workers start when there is work, are five steps nicer than the thread that starts them (their
// compilers one more), and handle no signals. All methods may be called from any thread.
//
// A forked child has no workers: there the queue starts anew, and futures of the parent never
// become ready.
class TAEDA_API CompileQueue {
 public:
  // TAEDA_COMPILE_THREADS, else as many workers as parallel_for has threads, in a large team half
  // as many while nobody waits.
  CompileQueue();
  explicit CompileQueue(int workers);
  // Lives until the process ends; then it is stopped as its destructor would.
  static CompileQueue& shared();
  CompileQueue(const CompileQueue&) = delete;
  // Compiles that have not ended throw from their futures, and their compilers are killed; waits at
  // most half a second for that.
  ~CompileQueue();

  enum class Start : uint8_t { Now, AfterFirstRuns };
  // The result of compile_native(source, options), or what it throws. While a source is compiled
  // with the same options, all callers get the same result. options.stop must be null. The
  // compiler's variables are those of this moment where the options have none.
  std::shared_future<std::string> submit(const std::string& source,
                                         const CompileOptions& options = {},
                                         Start start = Start::Now);

  // Runs work of some milliseconds, which must not throw, on a thread beside the workers, in the
  // order of the calls; not at all where the queue ends before it begins.
  void run_soon(std::function<void()> work);

  // Returns when everything that was submitted is ready.
  void wait();
  // Somebody waits: what was submitted starts as soon as there is a worker, on all cores.
  void hurry();

 private:
  struct State;

 public:
  // A run that jobs wait for: Note [Compiles wait for first results]. It has ended when this goes.
  class TAEDA_API FirstRun {
   public:
    explicit FirstRun(std::shared_ptr<State> state);
    FirstRun(const FirstRun&) = delete;
    ~FirstRun();
    // The run starts; others that are expected come later by as long as it takes.
    void begin();

   private:
    friend struct State;
    using Time = std::chrono::steady_clock::time_point;

    const std::shared_ptr<State> state_;
    Time until_;                 // jobs wait no longer
    std::optional<Time> begun_;  // where it runs
  };
  std::unique_ptr<FirstRun> expect_run();

  // At most, unless somebody waits.
  int num_workers() const { return workers_; }

 private:
  CompileQueue(int workers, int hurried_workers);
  std::shared_ptr<State> state();
  void stop();

  int workers_;          // at most, usually
  int hurried_workers_;  // at most, while somebody waits
  std::atomic<std::shared_ptr<State>*> state_;
};

}  // namespace taeda::kernel
