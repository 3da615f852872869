// Makes and removes a folder; says what to do where that fails.
#include "taeda/kernel/native/temporary_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "taeda/base/error.h"
#include "taeda/kernel/native/descriptor.h"

namespace taeda::kernel {
namespace {

constexpr const char* kFolderHint = "; set TMPDIR to a folder with free space that you may write";

}  // namespace

TemporaryFolder::TemporaryFolder() {
  const char* above = std::getenv("TMPDIR");
  if (!above || !*above) above = "/tmp";
  path_ = str(above, "/taeda_XXXXXX");
  TAEDA_CHECK(mkdtemp(path_.data()), "cannot make a temporary folder in '", above,
              "': ", error_text(errno), kFolderHint);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, std::string_view text) const {
  const std::string path = path_ + "/" + name;
  const int error = write_file(path, text);
  TAEDA_CHECK(!error, "cannot write '", path, "': ", error_text(error), kFolderHint);
  return path;
}

}  // namespace taeda::kernel
