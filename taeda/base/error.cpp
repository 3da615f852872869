// Throws out of line so that a check costs its caller one branch.
#include "taeda/base/error.h"

namespace taeda {

Error::~Error() = default;

void throw_error(ErrorKind kind, std::string message) {
  switch (kind) {
    case ErrorKind::Value: throw ValueError(std::move(message));
    case ErrorKind::Type: throw TypeError(std::move(message));
    case ErrorKind::Index: throw IndexError(std::move(message));
    case ErrorKind::NotImplemented: throw NotImplementedError(std::move(message));
    case ErrorKind::OutOfMemory: throw OutOfMemoryError(std::move(message));
    case ErrorKind::Buffer: throw BufferError(std::move(message));
    default: throw Error(kind, std::move(message));
  }
}

void throw_joined(ErrorKind kind, std::initializer_list<Piece> pieces) {
  throw_error(kind, join(pieces));
}

void throw_internal(const char* condition, const char* file, int line,
                    std::initializer_list<Piece> pieces) {
  throw Error(ErrorKind::Internal, str("internal check failed: ", condition, " at ", file, ":",
                                       line, pieces.size() ? ": " : "", join(pieces)));
}

}  // namespace taeda
