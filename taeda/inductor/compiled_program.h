// Programs of C++ that are compiled when they are called; taeda/compile.h gives them their types.
//
// Note [Versions of a program]: a program is traced at its first call, with symbols for the sizes
// of its inputs, and compiled. Later calls take the version whose guards hold: number, dtypes,
// devices, ranks and requires_grad of the inputs, modes of the thread, memory that inputs share
// where the program writes, and what the trace assumed of sizes and strides. Where none holds, the
// program is traced again. A program that got kMostVersions runs as it is, and a warning says so.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "taeda/core/tensor.h"

namespace taeda::inductor {

// When kernels are compiled; until then they are interpreted.
enum class Native : uint8_t { Background, Wait, Never };

struct ProgramOptions {
  Native native = Native::Background;
  bool is_dynamic = true;  // false: sizes are constants, each set of them a version of its own
};

class TAEDA_API CompiledProgram {
 public:
  static constexpr size_t kMostVersions = 16;
  // Traced by what it does to tensors: it must do the same at every call with inputs alike. Tensors
  // that it has from elsewhere are those of the trace, with their elements at each call; they have
  // no gradients.
  using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

  explicit CompiledProgram(Function function, ProgramOptions options = {});
  ~CompiledProgram();

  // Several threads may call it at once.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs);

  size_t num_versions() const;
  void wait();                             // until all kernels are native, or could not be compiled
  std::vector<std::string> texts() const;  // kernels and calls of each plan, in order

 private:
  struct Version;
  std::shared_ptr<const Version> find(const std::vector<Tensor>& inputs) const;
  std::shared_ptr<const Version> make(const std::vector<Tensor>& inputs) const;

  Function function_;
  ProgramOptions options_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const Version>> versions_;
};

}  // namespace taeda::inductor
