// A private folder for the files of one task.
#pragma once

#include <string>
#include <string_view>

namespace taeda::kernel {

// In TMPDIR, else /tmp, with mode 0700; removed with everything inside at the end. Throws where
// there is no such folder or no room.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }
  // Writes a file and returns its path.
  std::string write(const std::string& name, std::string_view text) const;

 private:
  std::string path_;
};

}  // namespace taeda::kernel
