// Kernels that earlier processes compiled: Note [Kernels of earlier processes].
#include <pthread.h>
#include <unistd.h>

#include <exception>

#include "taeda/inductor/plan_parts.h"
#include "taeda/kernel/native/child_process.h"

namespace taeda::inductor {

namespace {

constinit std::mutex printing_mutex;
// A child has no thread that would unlock it, or complete what it was at.
[[maybe_unused]] const int has_fork_handlers =
    pthread_atfork([] { printing_mutex.lock(); }, [] { printing_mutex.unlock(); },
                   [] { printing_mutex.unlock(); });

// Null where the cache has none that can be used; the compiler then says what is wrong, if
// anything.
std::shared_ptr<kernel::NativeModule> find_module(const std::string& source) {
  try {
    const std::optional<std::string> found = kernel::find_native(source);
    return found ? kernel::NativeModule::load(*found) : nullptr;
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

std::mutex& printing() { return printing_mutex; }

void NativeSearch::run() {
  try {
    find_modules();
  } catch (...) {
    error = std::current_exception();
  }
  const std::lock_guard lock(mutex);
  is_done.store(true, std::memory_order_release);
  has_ended.notify_all();
}

void NativeSearch::find_modules() {
  {
    const std::lock_guard lock(printing());
    if (!plan) return;
    units = plan->units();
  }
  kernel::CompileOptions options;
  options.environment = environment;
  for (CompilingUnit& unit : units) {
    unit.module = find_module(unit.source);
    if (!unit.module)
      unit.object = kernel::CompileQueue::shared().submit(
          unit.source, options, kernel::CompileQueue::Start::AfterFirstRuns);
  }
}

void NativeSearch::wait(std::chrono::duration<double> at_most) {
  std::unique_lock lock(mutex);
  has_ended.wait_for(lock, at_most, [&] { return is_done.load(std::memory_order_acquire); });
}

void CompiledGraph::Parts::start_search() {
  search = std::make_shared<NativeSearch>();
  search->plan = this;
  search->environment =
      std::make_shared<const std::vector<std::string>>(kernel::process_environment());
  count_pending();
  kernel::CompileQueue::shared().run_soon([search = search] { search->run(); });
}

void CompiledGraph::Parts::take_found() {
  if (!search || !search->is_done.load(std::memory_order_acquire)) return;
  const std::shared_ptr<NativeSearch> done = std::move(search);
  try {
    if (done->error) std::rethrow_exception(done->error);
  } catch (const Error& error) {
    return note_problem(error);
  }
  for (CompilingUnit& unit : done->units)
    if (unit.module)
      take(unit);
    else
      pending.push_back(std::move(unit));
}

}  // namespace taeda::inductor
