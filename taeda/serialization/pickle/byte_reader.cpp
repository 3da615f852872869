// Buffers bytes from wherever they come.
#include "taeda/serialization/pickle/byte_reader.h"

namespace taeda::serialization {

PickleError::~PickleError() = default;
PickleEndError::~PickleEndError() = default;
ByteReader::~ByteReader() = default;

void ByteReader::refill(std::string&) {}

std::string ByteReader::place(uint64_t position) const {
  return str("byte ", start_ + position, " of ", name_);
}

bool ByteReader::read_more() {
  if (is_all_) return false;
  // What was taken goes when it is more than what is left, so that every byte moves twice at most.
  size_t taken = buffer_.size() - rest_.size();
  if (taken >= rest_.size()) {
    buffer_.erase(0, taken);
    taken = 0;
  }
  const size_t before = buffer_.size();
  refill(buffer_);
  rest_ = std::string_view(buffer_).substr(taken);
  return buffer_.size() > before;
}

std::string_view ByteReader::take(size_t n) {
  while (rest_.size() < n)
    if (!read_more())
      throw PickleEndError(str("Ran out of input: the pickle ends at ",
                               place(position_ + rest_.size()), ", ", n - rest_.size(),
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
          str("Ran out of input: a line of the pickle has no end at ", place(position_ + seen)));
    end = rest_.find('\n', seen);
  }
  const std::string_view out = take(end + 1);
  return out.substr(0, end);
}

}  // namespace taeda::serialization
