// Compiling in the background: results, sharing, the end of a queue and of a process.
#include "taeda/kernel/native/compile_queue.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>

#include "taeda/base/parallel.h"
#include "taeda/kernel/native/group_times.h"
#include "tests/kernel/fake_compiler.h"

namespace taeda::kernel {
namespace {

using namespace taeda::kernel::test;
using Clock = std::chrono::steady_clock;

const CompileOptions kUncached{.cache = nullptr};

// A compiler that says where it is and hangs.
constexpr const char* kHang =
    "echo $$ >\"$HERE/pid.new\"; mv \"$HERE/pid.new\" \"$HERE/pid\"; sleep 60";

// The number of the process of kHang, once it runs.
std::string started_pid(const FakeCompiler& compiler) {
  const auto start = Clock::now();
  const std::string file = compiler.folder() / "pid";
  while (!std::filesystem::exists(file) && Clock::now() - start < std::chrono::seconds(20))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return read_file(file);
}

// Workers clean up on their own time.
void wait_for_cleanup(const FakeCompiler& compiler) {
  const auto start = Clock::now();
  while (!std::filesystem::is_empty(compiler.folder() / "tmp") &&
         Clock::now() - start < std::chrono::seconds(5))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

TEST(CompileQueue, GivesObjects) {
  const CopyingCompiler compiler;
  CompileQueue queue(2);
  std::vector<std::shared_future<std::string>> all;
  for (int i = 0; i < 5; ++i) all.push_back(queue.submit(str("source ", i), kUncached));
  for (const auto& one : all) EXPECT_EQ(answer_of(one.get()), 7);
}

TEST(CompileQueue, ThrowsFromTheFuture) {
  const FakeCompiler compiler("echo no; exit 1");
  CompileQueue queue(1);
  const auto result = queue.submit("source", kUncached);
  EXPECT_TRUE(contains(error_of([&] { result.get(); }), "exit status 1:\nno"));
}

TEST(CompileQueue, CompilesTheSameOnceAtATime) {
  const CopyingCompiler compiler("echo run >>\"$HERE/runs\"; sleep 0.3");
  const auto runs = [&] { return read_file(compiler.folder() / "runs").size() / 4; };
  CompileQueue queue(2);
  for (int i = 0; i < 4; ++i) queue.submit("source", kUncached);
  queue.wait();
  EXPECT_EQ(runs(), 1u);
  queue.submit("source", kUncached);
  queue.submit("source", CompileOptions{.flags = {"-g"}, .cache = nullptr});
  queue.wait();
  EXPECT_EQ(runs(), 3u);
}

TEST(CompileQueue, WaitsForAll) {
  const CopyingCompiler compiler("sleep 0.05");
  CompileQueue queue(1);
  std::vector<std::shared_future<std::string>> all;
  for (int i = 0; i < 3; ++i) all.push_back(queue.submit(str("source ", i), kUncached));
  queue.wait();
  for (const auto& one : all)
    EXPECT_EQ(one.wait_for(std::chrono::seconds(0)), std::future_status::ready);
}

TEST(CompileQueue, HasNoMoreWorkersThanAskedFor) {
  const CopyingCompiler compiler(
      "echo start >>\"$HERE/log\"; sleep 0.05; echo end >>\"$HERE/log\"");
  CompileQueue queue(1);
  for (int i = 0; i < 3; ++i) queue.submit(str("source ", i), kUncached);
  queue.wait();
  EXPECT_EQ(read_file(compiler.folder() / "log"), "start\nend\nstart\nend\nstart\nend\n");
}

// As many threads of parallel_for as a test wants.
class Team {
 public:
  explicit Team(int threads) { set_num_threads(threads); }
  ~Team() { set_num_threads(before_); }

 private:
  const int before_ = num_threads();
};

TEST(CompileQueue, HasAWorkerPerThreadWhileSomebodyWaits) {
  const Variables none{{"TAEDA_COMPILE_THREADS", std::nullopt}};
  const Team team(6);
  // Each compiler waits for five others, and says how many had begun when it ended.
  const CopyingCompiler compiler(
      "echo x >>\"$HERE/log\"; i=0; "
      "while [ $(wc -l <\"$HERE/log\") -lt 6 ] && [ $i -lt 1000 ]; do sleep 0.01; i=$((i + 1)); "
      "done; wc -l <\"$HERE/log\" >>\"$HERE/seen\"");
  CompileQueue queue;
  for (int i = 0; i < 6; ++i) queue.submit(str("source ", i), kUncached);
  queue.wait();
  EXPECT_EQ(read_file(compiler.folder() / "seen"), "6\n6\n6\n6\n6\n6\n");
}

TEST(CompileQueue, TheEnvironmentSetsTheNumberOfWorkers) {
  const Variables three{{"TAEDA_COMPILE_THREADS", "3"}};
  EXPECT_EQ(CompileQueue().num_workers(), 3);
  const Variables none{{"TAEDA_COMPILE_THREADS", std::nullopt}};
  const int otherwise = CompileQueue().num_workers();
  for (const char* odd : {"many", "0", "-1", "2 or 3"}) {
    const Variables wrong{{"TAEDA_COMPILE_THREADS", odd}};
    const Warnings warnings;
    EXPECT_EQ(CompileQueue().num_workers(), otherwise);
    EXPECT_TRUE(contains(warnings.joined(), str("no number of threads: got '", odd, "'")));
  }
}

TEST(CompileQueue, WorkersAreNice) {
  const FakeCompiler compiler("sleep 0.1; nice; exit 1");
  CompileQueue queue(1);
  const auto result = queue.submit("source", kUncached);
  const int mine = getpriority(PRIO_PROCESS, 0);
  EXPECT_TRUE(contains(error_of([&] { result.get(); }), str("\n", std::min(19, mine + 6), "\n")));
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), mine);
}

// What a compiler has written by the time that a job has ended which started behind it.
bool has_started(CompileQueue& queue, const std::filesystem::path& file) {
  queue.submit("a job that waits for nothing", kUncached).wait();
  return std::filesystem::exists(file);
}

TEST(CompileQueue, RunsShortWorkBesideItsWorkers) {
  const FakeCompiler compiler(kHang);
  CompileQueue queue(1);
  queue.submit("source", kUncached);
  started_pid(compiler);
  std::promise<std::string> done;
  std::string order;
  for (const char* name : {"a", "b"}) queue.run_soon([&order, name] { order += name; });
  queue.run_soon([&] { done.set_value(order); });
  auto result = done.get_future();
  ASSERT_EQ(result.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(result.get(), "ab");
}

TEST(CompileQueue, WaitsForShortWork) {
  CompileQueue queue(1);
  bool is_done = false;
  queue.run_soon([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    is_done = true;
  });
  queue.wait();
  EXPECT_TRUE(is_done);
}

constexpr auto kLater = CompileQueue::Start::AfterFirstRuns;

TEST(CompileQueue, JobsWaitForFirstRuns) {
  const CopyingCompiler compiler("grep -q waits.for.nothing \"$now\" || : >\"$HERE/started\"");
  const auto file = compiler.folder() / "started";
  CompileQueue queue(1);
  auto forward = queue.expect_run();
  auto backward = queue.expect_run();
  forward->begin();
  const auto result = queue.submit("source", kUncached, kLater);
  EXPECT_FALSE(has_started(queue, file));
  // The backward is expected as long behind the forward as it was before it.
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  forward.reset();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  backward->begin();
  EXPECT_FALSE(has_started(queue, file));
  backward.reset();
  EXPECT_EQ(answer_of(result.get()), 7);
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST(CompileQueue, ARunThatDoesNotComeIsNotWaitedForLong) {
  const CopyingCompiler compiler;
  CompileQueue queue(1);
  const auto expected = queue.expect_run();
  const auto result = queue.submit("source", kUncached, kLater);
  EXPECT_EQ(answer_of(result.get()), 7);
}

TEST(CompileQueue, WhoWaitsNeedsNoFirstRun) {
  const CopyingCompiler compiler;
  CompileQueue queue(1);
  const auto run = queue.expect_run();
  run->begin();
  const auto waited = queue.submit("source", kUncached, kLater);
  queue.wait();
  EXPECT_EQ(waited.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  // The same source again, by somebody who does not wait for runs.
  const auto later = queue.submit("other source", kUncached, kLater);
  EXPECT_EQ(answer_of(queue.submit("other source", kUncached).get()), 7);
  EXPECT_EQ(answer_of(later.get()), 7);
}

TEST(CompileQueue, AForkedChildWaitsForNoRunOfItsParent) {
  const CopyingCompiler compiler;
  CompileQueue queue(1);
  auto run = queue.expect_run();
  run->begin();
  EXPECT_EQ(in_child([&] {
              const auto result = queue.submit("source", kUncached, kLater);
              run.reset();
              return str(answer_of(result.get()));
            }),
            "7");
}

// The policy of the process that runs the script.
constexpr const char* kSaysPolicy = "sleep 0.1; cut -d' ' -f41 /proc/$$/stat; exit 1";

TEST(CompileQueue, ASmallTeamHasACompilerPerThreadAndNoneIsIdle) {
  const Team team(2);
  const Variables usual{{"TAEDA_COMPILE_THREADS", std::nullopt}};
  const FakeCompiler compiler(kSaysPolicy);
  CompileQueue queue;
  EXPECT_EQ(queue.num_workers(), 2);
  const auto later = queue.submit("source", kUncached, kLater);
  EXPECT_TRUE(contains(error_of([&] { later.get(); }), str(":\n", SCHED_OTHER, "\n")));
}

// Whether a child of this process has the policy of idle ones within seconds. On a busy machine an
// idle one cannot say so itself.
bool has_idle_child() {
  const auto start = Clock::now();
  while (Clock::now() - start < std::chrono::seconds(20)) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != name.npos) continue;
      const std::string stat = read_file(entry.path() / "stat");
      const size_t end = stat.rfind(')');
      if (end == stat.npos || !contains(stat.substr(end, 20), str(" ", getpid(), " "))) continue;
      if (sched_getscheduler(std::stoi(name)) == SCHED_IDLE) return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

TEST(CompileQueue, OnlyCompilersThatNobodyWaitsForAreIdle) {
  const Team team(16);
  const FakeCompiler compiler(kSaysPolicy);
  CompileQueue queue(1);
  const auto idle = queue.submit("source", kUncached, kLater);
  EXPECT_TRUE(has_idle_child());
  idle.wait();
  const auto usual = queue.submit("other source", kUncached);
  EXPECT_TRUE(contains(error_of([&] { usual.get(); }), str(":\n", SCHED_OTHER, "\n")));
}

TEST(CompileQueue, IdleCompilersThatGetNoCoreStartAgain) {
  const Team team(16);
  const CopyingCompiler compiler(
      str("[ $(cut -d' ' -f41 /proc/$$/stat) != ", SCHED_IDLE, " ] || sleep 60"));
  CompileQueue queue(1);
  const auto start = Clock::now();
  EXPECT_EQ(answer_of(queue.submit("source", kUncached, kLater).get()), 7);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(4));
}

TEST(CompileQueue, TheTimeOfACompilerIsThatOfItsProcesses) {
  const auto spin = [](double seconds) {
    const auto start = Clock::now();
    while (std::chrono::duration<double>(Clock::now() - start).count() < seconds) {
    }
  };
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    if (fork() == 0) spin(60);
    pause();
  }
  setpgid(child, child);
  const auto start = Clock::now();
  while (group_seconds(child) < 0.05 && Clock::now() - start < std::chrono::seconds(20))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_GE(group_seconds(child), 0.05);
  kill(-child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(CompileQueue, ItsEndStopsEverything) {
  const FakeCompiler compiler(kHang);
  std::shared_future<std::string> running, waiting;
  std::string pid;
  Clock::time_point start;
  {
    CompileQueue queue(1);
    running = queue.submit("source", kUncached);
    waiting = queue.submit("other source", kUncached);
    pid = started_pid(compiler);
    start = Clock::now();
  }
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
  EXPECT_TRUE(
      contains(error_of([&] { running.get(); }), "fake was stopped: the queue of compiles"));
  EXPECT_TRUE(contains(error_of([&] { waiting.get(); }), "the source was not compiled: the queue"));
  EXPECT_TRUE(ends(pid));
  wait_for_cleanup(compiler);
}

TEST(CompileQueue, TheEndOfAProcessStopsTheSharedOne) {
  const FakeCompiler compiler(kHang);
  const auto start = Clock::now();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    CompileQueue::shared().submit("source", kUncached);
    started_pid(compiler);
    std::exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(30));
  EXPECT_TRUE(ends(read_file(compiler.folder() / "pid")));
}

TEST(CompileQueue, AForkedChildStartsAnew) {
  const CopyingCompiler compiler("sleep 0.2");
  CompileQueue queue(1);
  const auto result = queue.submit("source", kUncached);
  EXPECT_EQ(in_child([&] { return str(answer_of(queue.submit("source", kUncached).get())); }), "7");
  EXPECT_EQ(answer_of(result.get()), 7);
}

TEST(CompileQueue, ItsEndInAForkedChildLeavesTheParentAlone) {
  const CopyingCompiler compiler("sleep 0.1");
  auto queue = std::make_unique<CompileQueue>(1);
  const auto result = queue->submit("source", kUncached);
  EXPECT_EQ(in_child([&] {
              queue.reset();
              return std::string("done");
            }),
            "done");
  EXPECT_EQ(answer_of(result.get()), 7);
}

}  // namespace
}  // namespace taeda::kernel
