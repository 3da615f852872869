// Files of torch.save without Python: tensors in plain containers.
//
//   const PickleValue state = load_checkpoint("model.pt");
//   const Tensor weight = state.find("weight")->to_tensor();
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "taeda/serialization/byte_streams.h"
#include "taeda/serialization/pickle/value.h"

namespace taeda::serialization {

struct LoadOptions {
  // Where tensors go; where they were unless it is set.
  std::optional<Device> device = std::nullopt;
  // Memory of tensors of the CPU is the file's: bytes are read when they are used, and checksums of
  // tensors are not verified.
  bool is_mapped = false;
};

// Of PyTorch's archives and of the stream that it wrote before. RuntimeError that says what is
// wrong, and where; PickleError for what a restricted reader refuses. TorchScript's archives are
// read too: their objects keep the names of their classes.
TAEDA_API PickleValue load_checkpoint(const std::string& path, const LoadOptions& options = {});
TAEDA_API PickleValue load_checkpoint(std::unique_ptr<Source> source,
                                      const LoadOptions& options = {});

}  // namespace taeda::serialization
