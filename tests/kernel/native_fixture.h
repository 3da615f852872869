// What tests of the cache and the compiler share: a folder, variables, warnings, a forked child.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "taeda/base/log.h"

namespace taeda::kernel::test {

// A folder that is removed at the end.
class Folder {
 public:
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "taeda_test_XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ / name; }
  // The files inside, in no order.
  std::vector<std::string> files() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      all.push_back(entry.path());
    return all;
  }

 private:
  std::filesystem::path path_;
};

// Sets variables of the environment (nullopt takes them out) and puts the old ones back.
class Variables {
 public:
  using Value = std::optional<std::string>;
  Variables(std::initializer_list<std::pair<const char*, Value>> values) {
    for (const auto& [name, value] : values) {
      const char* old = std::getenv(name);
      old_.emplace_back(name, old ? Value(old) : std::nullopt);
      set(name, value);
    }
  }
  Variables(const Variables&) = delete;
  ~Variables() {
    for (const auto& [name, value] : old_) set(name, value);
  }

 private:
  static void set(const char* name, const Value& value) {
    if (value)
      setenv(name, value->c_str(), 1);
    else
      unsetenv(name);
  }
  std::vector<std::pair<const char*, Value>> old_;
};

// Collects the warnings of its lifetime.
class Warnings {
 public:
  Warnings() {
    all().clear();
    set_warning_handler([](const std::string& message) {
      const std::lock_guard lock(mutex());
      all().push_back(message);
    });
  }
  ~Warnings() { set_warning_handler(nullptr); }
  static std::vector<std::string>& all() {
    static std::vector<std::string> messages;
    return messages;
  }
  static std::string joined() {
    std::string text;
    for (const std::string& one : all()) text += one + "\n";
    return text;
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
};

// Runs `body` in a forked child and returns its text; "exit N" or "signal N" where it ends early.
inline std::string in_child(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const std::string text = body();
    const bool is_written =
        write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(is_written ? 0 : 3);
  }
  close(ends[1]);
  std::string text;
  char part[4096];
  for (ssize_t count; (count = read(ends[0], part, sizeof part)) > 0;)
    text.append(part, static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return WEXITSTATUS(status) ? "exit " + std::to_string(WEXITSTATUS(status)) : text;
}

inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}
inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace taeda::kernel::test
