// Native kernels of plans: sources to the compiler, objects back.
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <unordered_set>

#include "taeda/base/log.h"
#include "taeda/inductor/plan_parts.h"
#include "taeda/kernel/print.h"

namespace taeda::inductor {

namespace {

constexpr size_t kKernelsPerSource = 8;
constexpr std::chrono::milliseconds kPause{5};

}  // namespace

void CompiledGraph::Parts::submit(CompilingUnit unit) {
  using Start = kernel::CompileQueue::Start;
  unit.object = kernel::CompileQueue::shared().submit(unit.source, {}, Start::AfterFirstRuns);
  pending.push_back(std::move(unit));
}

// Equal kernels are compiled once; each source has a few, for compilers to work side by side.
std::vector<CompilingUnit> CompiledGraph::Parts::units() {
  std::map<std::string, std::pair<std::string, size_t>> known;  // by text: name and unit
  std::vector<CompilingUnit> made;
  std::unordered_set<const KernelForm*> added;
  const auto add = [&](KernelStep& step) {
    KernelForm& kernel = step.form();
    if (kernel.is_native() || !added.insert(&kernel).second) return;
    const size_t unit = known.size() / kKernelsPerSource;
    const auto [entry, is_new] = known.try_emplace(kernel.key(), str("kernel", known.size()), unit);
    const auto& [name, place] = entry->second;
    if (is_new) {
      if (place == made.size()) made.push_back({kernel::cpu_prelude(), {}, {}});
      made[place].source += kernel.source(name);
    }
    made[place].kernels.emplace_back(&kernel, name);
  };
  for (const PlanStep& step : steps) step.for_each_kernel(add);
  return made;
}

void CompiledGraph::start_native() {
  const std::lock_guard lock(parts_->native_mutex);
  bool is_native = true;
  for (const PlanStep& step : parts_->steps)
    step.for_each_kernel([&](const KernelStep& kernel) { is_native &= kernel.form().is_native(); });
  // A run that did not come yet is expected from now on.
  if (!is_native && (!parts_->is_started || parts_->first_run))
    parts_->first_run = kernel::CompileQueue::shared().expect_run();
  if (parts_->is_started) return;
  parts_->is_started = true;
  parts_->process = getpid();
  if (!is_native) parts_->start_search();
}

void CompiledGraph::Parts::count_pending() {
  num_pending.store(static_cast<int>(pending.size()) + (search ? 1 : 0), std::memory_order_release);
}

// Interpreters of kernels that are not native, or that run in both forms.
void CompiledGraph::Parts::make_forms() {
  const std::lock_guard lock(printing());
  const bool needs_both = is_checked.load(std::memory_order_relaxed);
  for (const PlanStep& step : steps)
    step.for_each_kernel([&](KernelStep& kernel) {
      if (needs_both || !kernel.form().is_native()) kernel.form().make_interpreter();
    });
  has_forms.store(true, std::memory_order_release);
}

std::vector<std::string> CompiledGraph::native_sources() const {
  const std::lock_guard lock(parts_->native_mutex);
  const std::lock_guard printing_lock(printing());
  std::vector<std::string> sources;
  for (CompilingUnit& unit : parts_->units()) sources.push_back(std::move(unit.source));
  return sources;
}

void CompiledGraph::take_native(FindModule find) {
  const std::lock_guard lock(parts_->native_mutex);
  std::vector<CompilingUnit> units;
  {
    const std::lock_guard printing_lock(printing());
    units = parts_->units();
  }
  for (CompilingUnit& unit : units)
    if (const std::shared_ptr<kernel::NativeModule> module = find(unit.source))
      for (auto& [form, name] : unit.kernels) form->set_native(module, name);
}

// Futures of the parent never become ready in a forked child.
void CompiledGraph::Parts::submit_again_after_fork() {
  if (process == getpid()) return;
  process = getpid();
  std::vector<CompilingUnit> lost;
  lost.swap(pending);
  for (CompilingUnit& unit : lost) submit(std::move(unit));
  if (search) start_search();
}

// One kernel that cannot be compiled does not keep its neighbours from being native.
void CompiledGraph::Parts::split(CompilingUnit& unit) {
  std::map<std::string, CompilingUnit> single;
  {
    const std::lock_guard lock(printing());
    for (auto& [form, name] : unit.kernels) {
      CompilingUnit& one = single[name];
      if (one.kernels.empty()) one.source = kernel::cpu_prelude() + form->source(name);
      one.kernels.emplace_back(form, name);
    }
  }
  for (auto& [name, one] : single) submit(std::move(one));
}

void CompiledGraph::Parts::take(CompilingUnit& unit) {
  try {
    const auto module = unit.module ? unit.module : kernel::NativeModule::load(unit.object.get());
    for (auto& [form, name] : unit.kernels) form->set_native(module, name);
  } catch (const Error& error) {
    const std::string& first = unit.kernels.front().second;
    const bool is_single = std::all_of(unit.kernels.begin(), unit.kernels.end(),
                                       [&](const auto& k) { return k.second == first; });
    // Each by itself would hang as long.
    const bool is_timeout = dynamic_cast<const kernel::CompileTimeout*>(&error) != nullptr;
    if (!is_single && !is_timeout) return split(unit);
    note_problem(error);
  }
}

void CompiledGraph::Parts::note_problem(const Error& error) {
  const bool is_first = problem.empty();
  problem = error.what();
  if (is_first) warn(str("kernels stay interpreted, as they could not be compiled: ", problem));
}

// Takes native kernels that are ready. Never waits: another thread may be at it.
void CompiledGraph::Parts::adopt() {
  const std::unique_lock lock(native_mutex, std::try_to_lock);
  if (!lock) return;
  take_found();
  submit_again_after_fork();
  std::vector<CompilingUnit> before;
  before.swap(pending);
  for (CompilingUnit& unit : before)
    if (unit.object.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
      take(unit);
    else
      pending.push_back(std::move(unit));
  count_pending();
}

// Of the first run that comes while kernels are compiled; it ends with the result. Waits for
// kernels of earlier processes: Note [Kernels of earlier processes].
std::unique_ptr<kernel::CompileQueue::FirstRun> CompiledGraph::Parts::begin_first_run() {
  std::unique_lock lock(native_mutex, std::try_to_lock);
  if (!lock || !first_run) return nullptr;
  first_run->begin();
  auto begun = std::move(first_run);
  const std::shared_ptr<NativeSearch> under_way = process == getpid() ? search : nullptr;
  lock.unlock();
  double spent = 0;
  for (const auto& [stage, stage_seconds] : seconds) spent += stage_seconds;
  if (under_way) under_way->wait(std::chrono::duration<double>(spent));
  return begun;
}

bool CompiledGraph::wait_native(int milliseconds) {
  using Clock = std::chrono::steady_clock;
  if (parts_->num_pending.load(std::memory_order_acquire) > 0) {
    const std::lock_guard lock(parts_->native_mutex);
    parts_->first_run.reset();
  }
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  while (parts_->num_pending.load(std::memory_order_acquire) > 0) {
    kernel::CompileQueue::shared().hurry();
    parts_->adopt();
    if (Clock::now() >= end) break;
    if (parts_->num_pending.load(std::memory_order_acquire) > 0)
      std::this_thread::sleep_for(kPause);
  }
  return parts_->num_pending.load(std::memory_order_acquire) == 0;
}

void CompiledGraph::check_native() const {
  const std::lock_guard lock(parts_->native_mutex);
  TAEDA_CHECK(parts_->problem.empty(), parts_->problem);
}

void CompiledGraph::compile_native() {
  start_native();
  while (!wait_native(1000)) {
  }
  check_native();
}

}  // namespace taeda::inductor
