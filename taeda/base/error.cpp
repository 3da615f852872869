// Throws out of line so that a check costs its caller one branch.
#include "taeda/base/error.h"

namespace taeda {

Error::~Error() = default;

void throw_error(ErrorKind kind, std::string message) { throw Error(kind, std::move(message)); }

void throw_joined(ErrorKind kind, std::initializer_list<Piece> pieces) {
  throw Error(kind, join(pieces));
}

void throw_internal(const char* condition, const char* file, int line,
                    std::initializer_list<Piece> pieces) {
  throw Error(ErrorKind::Internal, str("internal check failed: ", condition, " at ", file, ":",
                                       line, pieces.size() ? ": " : "", join(pieces)));
}

}  // namespace taeda
