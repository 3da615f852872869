// The thread's write watcher.
#include "taeda/autograd/write_watch.h"

namespace taeda::autograd {

namespace autograd_detail {
constinit std::atomic<uint32_t> write_watchers{0};
}

namespace {
thread_local WriteWatcher watcher;
}

void set_write_watcher(WriteWatcher fresh) {
  if (watcher) --autograd_detail::write_watchers;
  watcher = std::move(fresh);
  if (watcher) ++autograd_detail::write_watchers;
}

void autograd_detail::check_uncounted_write() {
  TAEDA_CHECK(
      is_inference_mode(),
      "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a "
      "clone to get a normal tensor before doing inplace update.See "
      "https://github.com/pytorch/rfcs/pull/17 for more details.");
}

void autograd_detail::show_write(const Tensor& tensor) {
  if (!watcher) return;
  // Taken out while it runs, so that its own writes pass.
  struct Restore {
    WriteWatcher kept = std::exchange(watcher, nullptr);
    ~Restore() { watcher = std::move(kept); }
  } const restore;
  restore.kept(tensor);
}

}  // namespace taeda::autograd
