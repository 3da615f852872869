// What a loader throws when getting a batch failed in a worker thread.
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace taeda::data {

struct WorkerException : std::exception {
  explicit WorkerException(std::exception_ptr original)
      : original_exception(std::move(original)),
        message("Caught exception in DataLoader worker thread.") {
    try {
      std::rethrow_exception(original_exception);
    } catch (const std::exception& error) {
      message += " Original message: ";
      message += error.what();
    } catch (...) {
      // Not an exception of the standard: there is no message to add.
    }
  }
  const char* what() const noexcept override { return message.c_str(); }

  std::exception_ptr original_exception;
  std::string message;
};

}  // namespace taeda::data
