// parallel_for over OpenMP: bounded spinning, cgroup-aware, serial after fork.
#include "taeda/base/parallel.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>

#include "taeda/base/error.h"

namespace taeda {
namespace {

std::atomic<int> requested_threads{0};
std::atomic<bool> is_forked_child{false};
thread_local int current_index = 0;
thread_local bool is_inside = false;

// Cores allowed by the affinity mask and by the cgroup's quota, whichever is less.
int available_cores() {
  cpu_set_t set;
  int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  long long quota = -1, period = -1;
  if (FILE* f = std::fopen("/sys/fs/cgroup/cpu.max", "r")) {
    if (std::fscanf(f, "%lld %lld", &quota, &period) != 2) quota = -1;
    std::fclose(f);
  }
  if (quota > 0 && period > 0)
    cores = std::min<int>(cores, std::max<long long>(1, (quota + period - 1) / period));
  return std::max(cores, 1);
}

int default_threads() {
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    int n = std::atoi(text);
    if (n > 0) return n;
  }
  return available_cores();
}

// Workers of libgomp die with fork; a child that entered a region would wait for them for ever.
void install_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] { is_forked_child.store(true); });
    // Read by libgomp when its first region starts: a waiting thread yields its core soon.
    setenv("GOMP_SPINCOUNT", "20000", 0);
  });
}

}  // namespace

int num_threads() {
  int n = requested_threads.load(std::memory_order_relaxed);
  if (n == 0) {
    n = default_threads();
    requested_threads.store(n);
  }
  return n;
}

void set_num_threads(int n) {
  TAEDA_CHECK(n > 0, "set_num_threads expects a positive integer, got ", n);
  requested_threads.store(n);
}

bool in_parallel_region() { return is_inside; }
int thread_index() { return current_index; }

void parallel_for(int64_t begin, int64_t end, int64_t grain,
                  FunctionRef<void(int64_t, int64_t)> body) {
  if (begin >= end) return;
  const int64_t count = end - begin;
  grain = std::max<int64_t>(grain, 1);
  int64_t threads = 1;
  if (count > grain && !is_inside && !is_forked_child.load(std::memory_order_relaxed))
    threads = std::min<int64_t>(num_threads(), (count + grain - 1) / grain);
  if (threads <= 1) return body(begin, end);

  install_once();
  std::exception_ptr failure;
  std::atomic_flag has_failed = ATOMIC_FLAG_INIT;
  // Every region has the whole team, of which the first `threads` work: libgomp ends the threads
  // that a smaller team leaves out, and the next large one would have to start them again.
#pragma omp parallel num_threads(num_threads())
  {
    const int64_t team = std::min<int64_t>(threads, omp_get_num_threads());
    const int64_t index = std::min<int64_t>(omp_get_thread_num(), team);
    const int64_t first = begin + count * index / team,
                  last = begin + count * std::min(index + 1, team) / team;
    is_inside = true;
    current_index = static_cast<int>(index);
    try {
      if (first < last) body(first, last);
    } catch (...) {
      if (!has_failed.test_and_set()) failure = std::current_exception();
    }
    is_inside = false;
    current_index = 0;
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace taeda
