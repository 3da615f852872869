// Keeps the one warning handler.
#include "taeda/base/log.h"

#include <atomic>
#include <cstdio>

namespace taeda {
namespace {
std::atomic<WarningHandler> handler{nullptr};
std::atomic<bool> is_always{false};
}  // namespace

void set_warning_handler(WarningHandler h) { handler.store(h); }

void warn(const std::string& message) {
  if (WarningHandler h = handler.load())
    h(message);
  else
    std::fprintf(stderr, "taeda warning: %s\n", message.c_str());
}

bool is_warn_always_enabled() { return is_always.load(); }
void set_warn_always(bool on) { is_always.store(on); }

}  // namespace taeda
