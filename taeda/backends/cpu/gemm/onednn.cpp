// Finding the library, and the calls that its majors spell differently.
#include "taeda/backends/cpu/gemm/onednn.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "taeda/base/log.h"
#include "taeda/base/str.h"

namespace taeda::cpu::onednn {

bool Library::find_functions(void* handle) {
  bool has_all = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    has_all = has_all && function;
  };
#define TAEDA_FIND(name, ...) find(name, "dnnl_" #name);
  TAEDA_ONEDNN_FUNCTIONS(TAEDA_FIND)
  if (major == 2) {
    TAEDA_ONEDNN_2_FUNCTIONS(TAEDA_FIND)
  } else {
    TAEDA_ONEDNN_3_FUNCTIONS(TAEDA_FIND)
  }
#undef TAEDA_FIND
  find(set_threads, "omp_set_num_threads");
  find(get_threads, "omp_get_max_threads");
  return has_all;
}

Library::Library(const char* path) {
  void* handle = nullptr;
  for (const char* name : {path, path ? nullptr : "libdnnl.so.3", path ? nullptr : "libdnnl.so.2"})
    if (name && !handle) handle = dlopen(name, RTLD_NOW);
  if (!handle) return;
  const auto version = reinterpret_cast<const Version* (*)()>(dlsym(handle, "dnnl_version"));
  if (!version) return;
  major = version()->major;
  if (major != 2 && major != 3) return;
  is_ready = find_functions(handle) && engine_create(&engine, kCpuEngine, 0) == kSuccess;
}

const Request& request() {
  static const Request asked = [] {
    const char* text = std::getenv("TAEDA_ONEDNN");
    if (!text || !*text) return Request{};
    if (std::strcmp(text, "0") == 0) return Request{true, nullptr};
    return Request{false, text};
  }();
  return asked;
}

const Library& library() {
  static const Library& instance = []() -> const Library& {
    const char* path = request().path;
    const Library& opened = *new Library(path);
    if (path && !opened.is_ready)
      warn(str("TAEDA_ONEDNN names '", path, "', which is no oneDNN 2 or 3 with OpenMP threads; ",
               "products run without it"));
    return opened;
  }();
  return instance;
}

MatrixDesc::MatrixDesc(DataType type, int64_t rows, int64_t cols, int64_t row_stride,
                       int64_t col_stride) {
  const Library& dnn = library();
  const int64_t sizes[kMaxDims] = {rows, cols}, strides[kMaxDims] = {row_stride, col_stride};
  if (dnn.major == 3)
    dnn.memory_desc_create_with_strides(&desc_, 2, sizes, type, strides);
  else if (dnn.memory_desc_init_by_strides(inline_, 2, sizes, type, strides) == kSuccess)
    desc_ = inline_;
}

MatrixDesc::~MatrixDesc() {
  if (desc_ && desc_ != inline_) library().memory_desc_destroy(desc_);
}

Handle make_matmul(const MatrixDesc& source, const MatrixDesc& weights, const MatrixDesc* bias,
                   const MatrixDesc& destination) {
  const Library& dnn = library();
  const void* row = bias ? bias->get() : nullptr;
  Handle desc = nullptr, primitive = nullptr;
  if (dnn.major == 3) {
    dnn.matmul_primitive_desc_create(&desc, dnn.engine, source.get(), weights.get(), row,
                                     destination.get(), nullptr);
  } else {
    alignas(8) char matmul[8192];  // a structure of 2,800 bytes
    if (dnn.matmul_desc_init(matmul, source.get(), weights.get(), row, destination.get()) ==
        kSuccess)
      dnn.primitive_desc_create(&desc, matmul, nullptr, dnn.engine, nullptr);
  }
  if (!desc) return nullptr;
  if (dnn.primitive_create(&primitive, desc) != kSuccess) primitive = nullptr;
  dnn.primitive_desc_destroy(desc);
  return primitive;
}

}  // namespace taeda::cpu::onednn
