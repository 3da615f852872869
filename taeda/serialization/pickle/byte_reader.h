// Bytes in order, with the position for messages: what a pickle is read from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "taeda/base/error.h"
#include "taeda/base/export.h"

namespace taeda::serialization {

// A pickle that breaks the rules of its format or of what may be loaded.
class TAEDA_API PickleError : public Error {
 public:
  explicit PickleError(std::string message) : Error(ErrorKind::Runtime, std::move(message)) {}
  ~PickleError() override;
};
// A pickle that ends too early.
class TAEDA_API PickleEndError final : public PickleError {
 public:
  using PickleError::PickleError;
  ~PickleEndError() override;
};

// Keeps what `refill` gave until it is asked for; at most a piece more than was asked for is kept.
class TAEDA_API ByteReader {
 public:
  // `name` and `start` say, for messages, of what these are the bytes and where they begin in it.
  explicit ByteReader(std::string name, uint64_t start = 0)
      : name_(std::move(name)), start_(start) {}
  explicit ByteReader(std::string_view bytes, std::string name = "the pickle", uint64_t start = 0)
      : name_(std::move(name)), start_(start), rest_(bytes), is_all_(true) {}
  virtual ~ByteReader();
  ByteReader(const ByteReader&) = delete;

  // The next n bytes, valid until the next call; PickleEndError where there are fewer. A number of
  // bytes that a file only claims to have is not allocated.
  std::string_view take(size_t n);
  uint8_t byte() { return static_cast<uint8_t>(take(1)[0]); }
  // Up to a line break, which is passed over.
  std::string_view line();
  // Bytes taken so far.
  uint64_t position() const { return position_; }
  // "byte 12 of model.pt" for bytes taken so far, and for another number of them.
  std::string place() const { return place(position_); }
  std::string place(uint64_t position) const;
  // Bytes that refill gave and nobody took.
  std::string_view unread() const { return rest_; }

 protected:
  // Appends more bytes, at least one, or none at the end.
  virtual void refill(std::string& buffer);
  // Bytes that were taken past the reader, which has none left.
  void skip(uint64_t n) { position_ += n; }

 private:
  bool read_more();

  std::string name_;
  uint64_t start_ = 0;
  std::string buffer_;
  std::string_view rest_;  // of the buffer, or of the bytes that were given
  bool is_all_ = false;
  uint64_t position_ = 0;
};

}  // namespace taeda::serialization
