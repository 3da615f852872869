// Uses the installed headers and library from outside the tree: values, errors and threads.
#include <atomic>
#include <cstdio>
#include <cstring>

#include "taeda/base/error.h"
#include "taeda/base/parallel.h"

// An exception thrown inside and caught outside needs the class's type information exported.
static bool error_is_caught() {
  try {
    TAEDA_CHECK_VALUE(false, "[package] got ", 3, ", expected ", 4);
  } catch (const taeda::Error& error) {
    return error.kind() == taeda::ErrorKind::Value && std::strstr(error.what(), "got 3") != nullptr;
  }
  return false;
}

static bool threads_visit_every_index() {
  std::atomic<int64_t> sum = 0;
  taeda::parallel_for(0, 100000, 1000, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) sum += i;
  });
  return sum == 100000LL * 99999 / 2;
}

int main() {
  const bool is_good = error_is_caught() && threads_visit_every_index();
  std::puts(is_good ? "package: good" : "package: FAILED");
  return is_good ? 0 : 1;
}
