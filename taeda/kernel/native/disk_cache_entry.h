// One entry of a DiskCache as a file: a header, the key, the blob.
#pragma once

#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "taeda/kernel/native/descriptor.h"

namespace taeda::kernel {

// The file name of a key: 64 hexadecimal digits.
std::string entry_name(std::string_view key);

// The size of an entry's file.
int64_t entry_size(std::string_view key, std::string_view blob);

// Reads the blob of `key`. Returns an empty text, or what is wrong with the file.
std::string read_entry(int file, std::string_view key, std::string& blob);

// Reads the key of an entry, and leaves the file at its beginning. Returns an empty text, or what
// is wrong with the file.
std::string read_key(int file, std::string& key);

// Writes a temporary file and gives it its name; returns 0 or the error.
int write_entry(int folder, std::string_view key, std::string_view blob);

struct FoundEntry {
  std::string name;
  int64_t size;
  timespec used;
};
// All entries of a folder, those that were not used for longest first; removes abandoned temporary
// files on the way.
std::vector<FoundEntry> list_entries(int folder);

// Removes the oldest entries until the rest take `limit` bytes less an eighth, if they exceed it,
// and temporary files that a process left behind. Other files stay.
void shrink_folder(int folder, int64_t limit);

// Why files of this descriptor are not to be trusted, or an empty text: see
// Note [Trust in a cache folder].
std::string trust_problem(int fd, bool is_folder);

}  // namespace taeda::kernel
