// Buffers bytes from wherever they come.
#include "taeda/serialization/pickle/byte_reader.h"

namespace taeda::serialization {

PickleError::~PickleError() = default;
PickleEndError::~PickleEndError() = default;
ByteReader::~ByteReader() = default;

void ByteReader::refill(std::string&) {}

bool ByteReader::read_more() {
  std::string next(rest_);
  const size_t before = next.size();
  refill(next);
  if (next.size() == before) return false;
  buffer_ = std::move(next);
  rest_ = buffer_;
  return true;
}

std::string_view ByteReader::take(size_t n) {
  while (rest_.size() < n)
    if (!read_more())
      throw PickleEndError(str("Ran out of input: the pickle ends at byte ",
                               position_ + rest_.size(), ", ", n - rest_.size(),
                               " bytes before it should"));
  const std::string_view out = rest_.substr(0, n);
  rest_.remove_prefix(n);
  position_ += n;
  return out;
}

std::string_view ByteReader::line() {
  size_t end = rest_.find('\n');
  while (end == std::string_view::npos) {
    const size_t seen = rest_.size();
    if (!read_more())
      throw PickleEndError(
          str("Ran out of input: a line of the pickle has no end at byte ", position_ + seen));
    end = rest_.find('\n', seen);
  }
  const std::string_view out = take(end + 1);
  return out.substr(0, end);
}

}  // namespace taeda::serialization
