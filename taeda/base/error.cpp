// Throws out of line so that a check costs its caller one branch.
#include "taeda/base/error.h"

namespace taeda {

Error::~Error() = default;

void throw_error(ErrorKind kind, std::string message) { throw Error(kind, std::move(message)); }

void throw_internal(const char* condition, const char* file, int line, std::string message) {
  throw Error(ErrorKind::Internal, str("internal check failed: ", condition, " at ", file, ":",
                                       line, message.empty() ? "" : ": ", message));
}

}  // namespace taeda
