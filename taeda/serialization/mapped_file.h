// A file as memory: pages are read when they are touched.
#pragma once

#include <memory>
#include <string>

#include "taeda/core/storage.h"
#include "taeda/serialization/byte_streams.h"

namespace taeda::serialization {

// The first `size` bytes of a file as a storage. Writes to a shared one reach the file, which is
// made, or made longer, to have that size; writes to another stay in this process. RuntimeError
// where the file is shorter or the system refuses. A file that somebody cuts while it is mapped
// ends the process that touches the lost pages: that is the system's rule.
TAEDA_API Storage map_file(const std::string& path, bool is_shared, uint64_t size);
// A whole file, for reading.
TAEDA_API Storage map_file(const std::string& path);

// Reads from memory that it keeps; `name` is for messages.
TAEDA_API std::unique_ptr<Source> open_storage_source(Storage storage, std::string name);

}  // namespace taeda::serialization
