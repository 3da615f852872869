// Keeps the one warning handler.
#include "taeda/base/log.h"

#include <atomic>
#include <cstdio>

namespace taeda {
namespace {
std::atomic<WarningHandler> handler{nullptr};
}

void set_warning_handler(WarningHandler h) { handler.store(h); }

void warn(const std::string& message) {
  if (WarningHandler h = handler.load())
    h(message);
  else
    std::fprintf(stderr, "taeda warning: %s\n", message.c_str());
}

}  // namespace taeda
