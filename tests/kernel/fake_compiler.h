// Compilers for tests: the real one on a tiny source, and scripts that stand for bad ones.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "taeda/base/error.h"
#include "taeda/base/str.h"
#include "taeda/kernel/native/compiler.h"
#include "taeda/kernel/native/module.h"
#include "tests/kernel/native_fixture.h"

namespace taeda::kernel::test {

inline std::string returns(int value) {
  return str("extern \"C\" int answer() { return ", value, "; }\n");
}

inline std::string object_of(const std::string& source) {
  return compile_native(source, CompileOptions{.cache = nullptr});
}

// An object whose answer() is 7, made once.
inline const std::string& seven() {
  static const std::string bytes = object_of(returns(7));
  return bytes;
}

inline int answer_of(const std::string& bytes) {
  return NativeModule::load(bytes)->function<int (*)()>("answer")();
}

inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Runtime) << e.what();
    return e.what();
  }
  return "no error";
}

// A shell script that stands for a compiler, with a temporary folder of its own. In its body $out
// is the file to make.
class FakeCompiler {
 public:
  explicit FakeCompiler(const std::string& body)
      : path_(folder_ / "fake"),
        variables_{{"TAEDA_CXX", path_}, {"TMPDIR", folder_ / "tmp"}, {"HERE", folder_.path()}} {
    std::filesystem::create_directory(folder_ / "tmp");
    write_file(path_,
               "#!/bin/sh\nfor word; do last=$now; now=$word; "
               "[ \"$last\" = -o ] && out=$word; done\n" +
                   body + "\n");
    chmod(path_.c_str(), 0700);
  }
  ~FakeCompiler() {
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "tmp")) << "a temporary file is left";
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  }
  const std::string& path() const { return path_; }
  const Folder& folder() const { return folder_; }
  std::string error() const {
    return error_of([] { object_of("source"); });
  }

 private:
  Folder folder_;
  std::string path_;
  Variables variables_;
};

// One that copies an object beside it.
class CopyingCompiler : public FakeCompiler {
 public:
  // The object is an argument because it must be made before the variables are set.
  explicit CopyingCompiler(const std::string& before = "", const std::string& object = seven())
      : FakeCompiler(before + "\ncp \"$HERE/object\" \"$out\"") {
    write_file(folder() / "object", object);
  }
};

inline bool is_running(const std::string& pid) {
  const std::string stat = read_file("/proc/" + pid + "/stat");
  return !stat.empty() && !contains(stat, ") Z ");
}

// Whether the process with this number ends within seconds.
inline bool ends(std::string pid) {
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  EXPECT_FALSE(pid.empty());
  const auto start = std::chrono::steady_clock::now();
  while (is_running(pid) && std::chrono::steady_clock::now() - start < std::chrono::seconds(5))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return !is_running(pid);
}

}  // namespace taeda::kernel::test
