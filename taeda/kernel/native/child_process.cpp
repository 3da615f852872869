// A child by posix_spawn, watched through its pipe and waitid.
#include "taeda/kernel/native/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "taeda/kernel/native/descriptor.h"
#include "taeda/kernel/native/group_times.h"

namespace taeda::kernel {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int kChildNicer = 1;
// The pipe tells when a child ends, unless something else holds its other side.
constexpr milliseconds kLongestPause{20};
// When an idle child must have had a core for half of its time, first and from then on.
constexpr milliseconds kFirstLook{300}, kNextLook{100};

// The start and the end of what a child prints.
class Output {
 public:
  void add(std::string_view text) {
    const size_t first = std::min(text.size(), kHead - head_.size());
    head_ += text.substr(0, first);
    tail_ += text.substr(first);
    if (tail_.size() > 2 * kTail) {
      tail_.erase(0, tail_.size() - kTail);
      is_cut_ = true;
    }
  }
  std::string text() const { return head_ + (is_cut_ ? "\n...\n" : "") + tail_; }

 private:
  static constexpr size_t kHead = 4096, kTail = 8192;
  std::string head_, tail_;
  bool is_cut_ = false;
};

// Both ends are above the standard streams, which the child's are copied over.
bool open_pipe(Descriptor& out, Descriptor& in) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  const Descriptor low_out(ends[0]), low_in(ends[1]);
  out = Descriptor(fcntl(ends[0], F_DUPFD_CLOEXEC, 3));
  in = Descriptor(fcntl(ends[1], F_DUPFD_CLOEXEC, 3));
  return out && in && fcntl(out.get(), F_SETFL, O_NONBLOCK) == 0;
}

std::vector<std::string> environment_of(const ChildCommand& command) {
  auto variables = command.variables;
  variables.emplace_back("LC_ALL", "C");
  std::vector<std::string> all;
  for (const std::string& one : command.environment) {
    const std::string_view name = std::string_view(one).substr(0, one.find('='));
    const auto is_it = [&](const auto& variable) { return variable.first == name; };
    if (std::none_of(variables.begin(), variables.end(), is_it)) all.push_back(one);
  }
  for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

// What posix_spawn does in the child before the program starts.
class SpawnPlan {
 public:
  explicit SpawnPlan(int output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, 1);
    posix_spawn_file_actions_adddup2(&actions_, output, 2);
#if __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&actions_, 3);
#endif
    posix_spawnattr_init(&attributes_);
    sigset_t none, standard;
    sigemptyset(&none);
    sigemptyset(&standard);
    // Programs that start compilers ignore some of these, and a compiler waits for its own
    // children.
    for (const int one : {SIGCHLD, SIGPIPE, SIGXFSZ, SIGINT, SIGQUIT, SIGTERM, SIGHUP})
      sigaddset(&standard, one);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &standard);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  int start(pid_t& pid, const ChildCommand& command) const {
    const std::vector<std::string> environment = environment_of(command);
    return posix_spawn(&pid, command.words[0].c_str(), &actions_, &attributes_,
                       pointers_to(command.words).data(), pointers_to(environment).data());
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// A started child; kills and collects it at the end.
class Child {
 public:
  Child(pid_t pid, Descriptor output) : pid_(pid), output_(std::move(output)) {}
  Child(const Child&) = delete;
  ~Child() { collect(); }

  // Until the child ends, the time is over, `stop` is true, or it is idle and starves.
  ChildResult watch(Clock::time_point deadline, const std::atomic<bool>* stop, bool is_idle) {
    State state = State::Running;
    microseconds pause{100};
    while ((state = look()) == State::Running) {
      const auto left = std::chrono::duration_cast<microseconds>(deadline - Clock::now());
      is_stopped_ = stop && stop->load();
      is_starved_ = is_idle && starves();
      if (left.count() <= 0 || is_stopped_ || is_starved_) break;
      if (is_open_) {
        wait_for_text(std::min<microseconds>(left, kLongestPause));
      } else {
        std::this_thread::sleep_for(std::min(left, pause));
        pause = std::min<microseconds>(2 * pause, kLongestPause);
      }
    }
    if (state == State::Lost) pid_ = -1;
    const int status = collect();
    while (is_open_ && read_some()) {
    }
    return result(state, status);
  }

 private:
  enum class State : uint8_t { Running, Ended, Lost };

  // WNOWAIT: until it is collected, the numbers of the child and its group stay its own.
  State look() const {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
      return errno == ECHILD ? State::Lost : State::Running;
    return info.si_pid == pid_ ? State::Ended : State::Running;
  }

  bool starves() {
    const auto now = Clock::now();
    if (now < next_look_) return false;
    next_look_ = now + kNextLook;
    return group_seconds(pid_) < std::chrono::duration<double>(now - start_).count() / 2;
  }

  int collect() {
    if (pid_ < 0) return 0;
    kill(-pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status;
  }

  void wait_for_text(microseconds longest) {
    pollfd one{output_.get(), POLLIN, 0};
    const auto rounded = std::chrono::ceil<milliseconds>(longest);
    if (poll(&one, 1, static_cast<int>(rounded.count())) > 0) read_some();
  }

  // Whether there was something to read.
  bool read_some() {
    char part[4096];
    const ssize_t count = read(output_.get(), part, sizeof part);
    if (count > 0) text_.add(std::string_view(part, static_cast<size_t>(count)));
    if (count == 0) is_open_ = false;
    return count > 0;
  }

  ChildResult result(State state, int status) const {
    using End = ChildResult::End;
    if (state == State::Running)
      return {is_stopped_   ? End::Stopped
              : is_starved_ ? End::Starved
                            : End::TimedOut,
              0, text_.text()};
    if (state == State::Lost) return {End::Lost, 0, text_.text()};
    if (WIFSIGNALED(status)) return {End::Killed, WTERMSIG(status), text_.text()};
    return {End::Exited, WEXITSTATUS(status), text_.text()};
  }

  pid_t pid_;
  Descriptor output_;
  Output text_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_look_ = start_ + kFirstLook;
  bool is_open_ = true, is_stopped_ = false, is_starved_ = false;
};

}  // namespace

std::vector<std::string> process_environment() {
  std::vector<std::string> all;
  for (char** one = environ; one && *one; ++one) all.emplace_back(*one);
  return all;
}

ChildResult run_child(const ChildCommand& command) {
  const auto deadline =
      Clock::now() + microseconds(static_cast<int64_t>(std::min(command.seconds, 1e9) * 1e6));
  Descriptor output, input;
  if (!open_pipe(output, input)) return {ChildResult::End::NotStarted, errno, ""};
  pid_t pid = -1;
  if (const int error = SpawnPlan(input.get()).start(pid, command))
    return {ChildResult::End::NotStarted, error, ""};
  Child child(pid, std::move(output));
  input.close();
  setpriority(PRIO_PGRP, static_cast<id_t>(pid), getpriority(PRIO_PROCESS, 0) + kChildNicer);
  const sched_param no_priority{};
  if (command.is_idle) sched_setscheduler(pid, SCHED_IDLE, &no_priority);  // a hint
  return child.watch(deadline, command.stop, command.is_idle);
}

std::string signal_name(int signal) {
#if __GLIBC_PREREQ(2, 32)
  if (const char* name = sigabbrev_np(signal)) return std::string("SIG") + name;
#endif
  return "signal " + std::to_string(signal);
}

}  // namespace taeda::kernel
