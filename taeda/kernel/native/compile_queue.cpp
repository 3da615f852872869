// Workers over one list of jobs.
#include "taeda/kernel/native/compile_queue.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "taeda/base/error.h"
#include "taeda/base/log.h"
#include "taeda/base/parallel.h"
#include "taeda/kernel/native/child_process.h"

namespace taeda::kernel {
namespace {

constexpr int kThreadNicer = 5;
constexpr long kMostWorkers = 1024;
// A killed compiler is gone in a few milliseconds, its folder too; on a busy machine later.
constexpr std::chrono::milliseconds kEndWait{500};
// Until a run begins that is expected, and until one that began has ended.
constexpr std::chrono::milliseconds kRunPause{500};
constexpr std::chrono::seconds kLongestRun{10};

using Clock = std::chrono::steady_clock;

// TAEDA_COMPILE_THREADS, where it is set to a number.
std::optional<int> workers_of_environment() {
  const char* text = std::getenv("TAEDA_COMPILE_THREADS");
  if (!text || !*text) return std::nullopt;
  char* end = nullptr;
  const long workers = std::strtol(text, &end, 10);
  if (!*end && workers >= 1 && workers <= kMostWorkers) return static_cast<int>(workers);
  warn(str("[compile_native] TAEDA_COMPILE_THREADS is no number of threads: got '", text,
           "', expected one from 1 to ", kMostWorkers));
  return std::nullopt;
}

// Note [Compiles wait for first results]
constexpr int kSmallTeam = 4;
bool is_small_team() { return num_threads() <= kSmallTeam; }

int usual_workers() { return is_small_team() ? num_threads() : num_threads() / 2; }

// What tells two compiles apart.
std::string key_of(const std::string& source, const CompileOptions& options) {
  std::string key = str(options.isa, " ", static_cast<const void*>(options.cache), "\n");
  for (const std::string& flag : options.flags) key += flag + "\n";
  return key + "\n" + source;
}

// Blocks signals while a thread is started, which inherits that.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &old_, nullptr); }

 private:
  sigset_t old_;
};

struct Job {
  std::string key;
  std::packaged_task<std::string(bool is_patient)> task;
  bool waits = false;  // for first runs
};

}  // namespace

// Shared with the workers, which may outlive the queue.
struct CompileQueue::State {
  using Lock = std::unique_lock<std::mutex>;

  const pid_t process = getpid();
  std::mutex mutex;
  std::condition_variable has_work, is_done;
  std::deque<Job> jobs;  // that nobody runs yet
  std::vector<FirstRun*> first_runs;
  std::map<std::string, std::shared_future<std::string>> unfinished;
  int workers = 0, running = 0;
  int helpers = 0;                          // threads that work while somebody waits
  std::deque<std::function<void()>> works;  // of run_soon()
  bool is_at_work = false;                  // a thread runs them
  std::atomic<bool> is_stopped{false};

  using JobPlace = std::deque<Job>::iterator;

  void run(JobPlace place, Lock& lock) {
    Job job = std::move(*place);
    jobs.erase(place);
    ++running;
    lock.unlock();
    job.task(job.waits);
    lock.lock();
    --running;
    unfinished.erase(job.key);
    is_done.notify_all();
  }
  void run_next(Lock& lock) { run(jobs.begin(), lock); }

  // When no first run is waited for any more.
  Clock::time_point end_of_first_runs() const {
    Clock::time_point end{};
    for (const FirstRun* one : first_runs) end = std::max(end, one->until_);
    return end;
  }

  static void be_nice() {
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()),
                getpriority(PRIO_PROCESS, 0) + kThreadNicer);
  }

  // Runs what somebody waits for.
  void help() {
    be_nice();
    Lock lock(mutex);
    const auto next = [this] { return std::ranges::find(jobs, false, &Job::waits); };
    for (auto job = next(); job != jobs.end() && !is_stopped; job = next()) run(job, lock);
    --helpers;
  }

  void work() {
    be_nice();
    Lock lock(mutex);
    for (;;) {
      has_work.wait(lock, [&] { return is_stopped || !jobs.empty(); });
      if (jobs.empty()) return;
      const Clock::time_point start = end_of_first_runs();
      const bool may_all_start = is_stopped || start <= Clock::now();
      const auto next = std::find_if(jobs.begin(), jobs.end(),
                                     [&](const Job& job) { return may_all_start || !job.waits; });
      if (next != jobs.end())
        run(next, lock);
      else
        has_work.wait_until(lock, start);
    }
  }

  void run_works(Lock& lock) {
    while (!works.empty() && !is_stopped) {
      {
        const std::function<void()> work = std::move(works.front());
        works.pop_front();
        lock.unlock();
        work();
      }
      lock.lock();
    }
    works.clear();
    is_at_work = false;
    is_done.notify_all();
  }

  // Whether the system has a thread left.
  template <class F>
  static bool start_thread(F&& run) {
    const NoSignals none;
    try {
      std::thread(std::forward<F>(run)).detach();
    } catch (const std::system_error&) {
      return false;
    }
    return true;
  }
  static bool start_helper(const std::shared_ptr<State>& self) {
    if (!start_thread([self] { self->help(); })) return false;
    ++self->helpers;
    return true;
  }
  static bool start_worker(const std::shared_ptr<State>& self) {
    if (!start_thread([self] { self->work(); })) return false;
    ++self->workers;
    return true;
  }
};

CompileQueue::CompileQueue() : CompileQueue(1, 1) {
  const std::optional<int> asked = workers_of_environment();
  workers_ = asked.value_or(usual_workers());
  hurried_workers_ = asked.value_or(num_threads());
}

CompileQueue::CompileQueue(int workers) : CompileQueue(workers, workers) {}

CompileQueue::CompileQueue(int workers, int hurried_workers)
    : workers_(std::max(workers, 1)),
      hurried_workers_(std::max(hurried_workers, 1)),
      state_(new std::shared_ptr<State>(std::make_shared<State>())) {}

CompileQueue::~CompileQueue() {
  stop();
  delete state_.load();
}

CompileQueue& CompileQueue::shared() {
  // No static object: see DiskCache::shared().
  static std::atomic<CompileQueue*> made{nullptr};
  CompileQueue* known = made.load();
  if (known) return *known;
  auto mine = std::make_unique<CompileQueue>();
  if (!made.compare_exchange_strong(known, mine.get())) return *known;
  std::atexit([] { made.load()->stop(); });
  return *mine.release();
}

std::shared_ptr<CompileQueue::State> CompileQueue::state() {
  std::shared_ptr<State>* known = state_.load();
  while ((*known)->process != getpid()) {
    // The parent's state is left as it is: a thread that is not here may have locked it.
    auto fresh = std::make_unique<std::shared_ptr<State>>(std::make_shared<State>());
    if (state_.compare_exchange_strong(known, fresh.get())) return *fresh.release();
  }
  return *known;
}

std::shared_future<std::string> CompileQueue::submit(const std::string& source,
                                                     const CompileOptions& options, Start start) {
  TAEDA_INTERNAL_CHECK(!options.stop);
  const std::shared_ptr<State> state = this->state();
  std::string key = key_of(source, options);
  State::Lock lock(state->mutex);
  const bool waits = start == Start::AfterFirstRuns;
  if (const auto found = state->unfinished.find(key); found != state->unfinished.end()) {
    for (Job& job : state->jobs)
      if (job.key == key) job.waits &= waits;
    state->has_work.notify_all();
    return found->second;
  }
  auto environment = options.environment;
  if (!environment)
    environment = std::make_shared<const std::vector<std::string>>(process_environment());
  auto compile = [source, options, environment, stop = &state->is_stopped](bool is_patient) {
    TAEDA_CHECK(!*stop, "[compile_native] the source was not compiled: the queue of compiles ends");
    CompileOptions own = options;
    own.stop = stop;
    own.environment = environment;
    own.is_patient = is_patient && !is_small_team();
    return compile_native(source, own);
  };
  state->jobs.push_back({key, std::packaged_task<std::string(bool)>(std::move(compile)), waits});
  std::shared_future<std::string> result = state->jobs.back().task.get_future();
  state->unfinished.emplace(std::move(key), result);
  const size_t wanted = std::min(static_cast<size_t>(workers_), state->unfinished.size());
  while (static_cast<size_t>(state->workers) < wanted && State::start_worker(state)) {
  }
  state->has_work.notify_one();
  // Without workers this thread does the work.
  while ((state->workers == 0 || state->is_stopped) && !state->jobs.empty()) state->run_next(lock);
  return result;
}

void CompileQueue::run_soon(std::function<void()> work) {
  const std::shared_ptr<State> state = this->state();
  State::Lock lock(state->mutex);
  if (state->is_stopped) return;
  state->works.push_back(std::move(work));
  if (state->is_at_work) return;
  state->is_at_work = true;
  if (State::start_thread([state] {
        State::Lock own(state->mutex);
        state->run_works(own);
      }))
    return;
  state->run_works(lock);
}

std::unique_ptr<CompileQueue::FirstRun> CompileQueue::expect_run() {
  return std::make_unique<FirstRun>(state());
}

CompileQueue::FirstRun::FirstRun(std::shared_ptr<State> state)
    : state_(std::move(state)), until_(Clock::now() + kRunPause) {
  const State::Lock lock(state_->mutex);
  state_->first_runs.push_back(this);
}

CompileQueue::FirstRun::~FirstRun() {
  if (state_->process != getpid()) return;  // a thread that is not here may have locked it
  const State::Lock lock(state_->mutex);
  std::erase(state_->first_runs, this);
  if (begun_)
    for (FirstRun* one : state_->first_runs)
      if (!one->begun_ && one->until_ > *begun_) one->until_ += Clock::now() - *begun_;
  state_->has_work.notify_all();
}

void CompileQueue::FirstRun::begin() {
  if (state_->process != getpid()) return;
  const State::Lock lock(state_->mutex);
  begun_ = Clock::now();
  until_ = *begun_ + kLongestRun;
}

void CompileQueue::hurry() {
  const std::shared_ptr<State> state = this->state();
  const State::Lock lock(state->mutex);
  for (Job& job : state->jobs) job.waits = false;
  state->has_work.notify_all();
  const int busy = std::min(state->workers, static_cast<int>(state->unfinished.size()));
  const int wanted = std::min(hurried_workers_, static_cast<int>(state->unfinished.size()));
  while (busy + state->helpers < wanted && State::start_helper(state)) {
  }
}

void CompileQueue::wait() {
  hurry();
  const std::shared_ptr<State> state = this->state();
  State::Lock lock(state->mutex);
  state->is_done.wait(lock, [&] { return state->unfinished.empty() && !state->is_at_work; });
}

void CompileQueue::stop() {
  const std::shared_ptr<State> state = *state_.load();
  if (state->process != getpid()) return;  // a forked child that never used it
  State::Lock lock(state->mutex);
  state->is_stopped = true;
  state->has_work.notify_all();
  while (!state->jobs.empty()) state->run_next(lock);  // each throws into its future
  state->is_done.wait_for(lock, kEndWait,
                          [&] { return state->running == 0 && !state->is_at_work; });
}

}  // namespace taeda::kernel
