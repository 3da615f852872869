// An archive as TorchScript has it: modules of a class each, whose source lists their members.
//
//   data.pkl                               the objects
//   data/0 ...                             bytes of storages
//   code/__torch__.py                      class Module(Module): members and their types
//   code/__torch__/___torch_mangle_0.py    the same for the first module inside
//   constants.pkl                          an empty tuple
#pragma once

#include <string>

#include "taeda/serialization/archive.h"
#include "taeda/serialization/checkpoint_archive.h"
#include "taeda/serialization/pickle/pickler.h"

namespace taeda::serialization {

class ScriptWriter {
 public:
  explicit ScriptWriter(CheckpointWriter& archive) : archive_(archive) {}
  // Writes and finishes the archive.
  void run(const OutputArchive& root);

 private:
  // The class of a module by its number; the outermost has none.
  void write_module(const OutputArchive& module, const std::string& mangled);

  CheckpointWriter& archive_;
  Pickler pickler_{/*is_script=*/true};
  std::vector<std::pair<std::string, std::string>> sources_;  // name of the entry, text
  size_t count_ = 0;
};

}  // namespace taeda::serialization
