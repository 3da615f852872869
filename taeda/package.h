// Programs compiled ahead of time, loaded and run with neither Python nor a compiler.
//
//   taeda::Package model = taeda::load_package("model.pt2");
//   std::vector<taeda::Tensor> results = model({x});
//
// `taeda._inductor.aoti_compile_and_package` of Python writes such files, and so does
// inductor::save_package (Note [Packages] in inductor/package.h). No source of the library includes
// this header.
#pragma once

#include "taeda/inductor/package.h"

namespace taeda {

using inductor::Package;

inline Package load_package(const std::string& path) { return Package::load(path); }

}  // namespace taeda
