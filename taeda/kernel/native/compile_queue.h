// Compiles in the background.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <string>

#include "taeda/base/export.h"
#include "taeda/kernel/native/compiler.h"

namespace taeda::kernel {

// Workers start when there is work, are five steps nicer than the thread that starts them (their
// compilers five more), and handle no signals. All methods may be called from any thread.
//
// A forked child has no workers: there the queue starts anew, and futures of the parent never
// become ready.
class TAEDA_API CompileQueue {
 public:
  // By default TAEDA_COMPILE_THREADS, else half as many workers as parallel_for has threads.
  explicit CompileQueue(int workers = default_workers());
  // Lives until the process ends; then it is stopped as its destructor would.
  static CompileQueue& shared();
  CompileQueue(const CompileQueue&) = delete;
  // Compiles that have not ended throw from their futures, and their compilers are killed; waits at
  // most 50 ms for that.
  ~CompileQueue();

  // The result of compile_native(source, options), or what it throws. While a source is compiled
  // with the same options, all callers get the same result. options.stop must be null.
  std::shared_future<std::string> submit(const std::string& source,
                                         const CompileOptions& options = {});

  // Returns when everything that was submitted is ready.
  void wait();

  static int default_workers();

 private:
  struct State;
  std::shared_ptr<State> state();
  void stop();

  int workers_;
  std::atomic<std::shared_ptr<State>*> state_;
};

}  // namespace taeda::kernel
