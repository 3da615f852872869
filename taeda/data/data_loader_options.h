// Options of data loaders.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "taeda/nn/arg.h"

namespace taeda::data {

struct DataLoaderOptions {
  DataLoaderOptions() = default;
  DataLoaderOptions(size_t batch_size) : batch_size_(batch_size) {}

  TAEDA_ARG(size_t, batch_size) = 1;
  // Threads that get batches; without any the caller's own gets each when it is asked for.
  TAEDA_ARG(size_t, workers) = 0;
  // Batches that may be under way at once; twice the workers unless told.
  TAEDA_ARG(std::optional<size_t>, max_jobs);
  // How long to wait for a batch of a worker before an error.
  TAEDA_ARG(std::optional<std::chrono::milliseconds>, timeout);
  // Whether batches come in the sampler's order, or as they are ready.
  TAEDA_ARG(bool, enforce_ordering) = true;
  // Whether a last batch of less than batch_size examples is left out.
  TAEDA_ARG(bool, drop_last) = false;
};

// The same with every default filled in.
struct FullDataLoaderOptions {
  explicit FullDataLoaderOptions(const DataLoaderOptions& options)
      : batch_size(options.batch_size()),
        workers(options.workers()),
        max_jobs(options.max_jobs().value_or(2 * workers)),
        timeout(options.timeout()),
        enforce_ordering(options.enforce_ordering()),
        drop_last(options.drop_last()) {}

  size_t batch_size;
  size_t workers;
  size_t max_jobs;
  std::optional<std::chrono::milliseconds> timeout;
  bool enforce_ordering;
  bool drop_last;
};

}  // namespace taeda::data
