// oneDNN's C interface as far as matmul needs it, opened at run time; majors 2 and 3.
//
// The library's header is not needed: the functions called here take handles, numbers and
// descriptions that the library itself fills, and these numbers are the same in both majors.
#pragma once

#include <cstdint>

namespace taeda::cpu::onednn {

enum DataType : int { kHalf = 1, kBFloat16 = 2, kFloat = 3 };
enum Argument : int { kSource = 1, kDestination = 17, kWeights = 33, kBias = 41 };
constexpr int kSuccess = 0, kCpuEngine = 1, kInOrderStream = 1, kMaxDims = 12;

using Handle = void*;  // engine, stream, memory, primitive
struct Bound {
  int argument;
  Handle memory;
};
struct Version {
  int major, minor, patch;
};

// X(name after dnnl_, arguments of a function that returns a status)
#define TAEDA_ONEDNN_FUNCTIONS(X)                                   \
  X(engine_create, Handle*, int kind, size_t index)                 \
  X(stream_create, Handle*, Handle engine, unsigned flags)          \
  X(stream_destroy, Handle)                                         \
  X(stream_wait, Handle)                                            \
  X(memory_create, Handle*, const void* desc, Handle engine, void*) \
  X(memory_destroy, Handle)                                         \
  X(memory_set_data_handle, Handle, void*)                          \
  X(primitive_create, Handle*, Handle desc)                         \
  X(primitive_destroy, Handle)                                      \
  X(primitive_desc_destroy, Handle)                                 \
  X(primitive_execute, Handle, Handle stream, int count, const Bound*)
#define TAEDA_ONEDNN_2_FUNCTIONS(X)                                                              \
  X(memory_desc_init_by_strides, void*, int ndim, const int64_t*, int data_type, const int64_t*) \
  X(matmul_desc_init, void*, const void*, const void*, const void*, const void*)                 \
  X(primitive_desc_create, Handle*, const void*, Handle attr, Handle engine, Handle hint)
#define TAEDA_ONEDNN_3_FUNCTIONS(X)                                                              \
  X(memory_desc_create_with_strides, void**, int ndim, const int64_t*, int, const int64_t*)      \
  X(memory_desc_destroy, void*)                                                                  \
  X(matmul_primitive_desc_create, Handle*, Handle engine, const void*, const void*, const void*, \
    const void*, Handle attr)

// The functions of the library and its engine; `is_ready` is false without a library that has them.
struct Library {
  bool is_ready = false;
  int major = 0;
  Handle engine = nullptr;
#define TAEDA_MEMBER(name, ...) int (*name)(__VA_ARGS__) = nullptr;
  TAEDA_ONEDNN_FUNCTIONS(TAEDA_MEMBER)
  TAEDA_ONEDNN_2_FUNCTIONS(TAEDA_MEMBER)
  TAEDA_ONEDNN_3_FUNCTIONS(TAEDA_MEMBER)
#undef TAEDA_MEMBER
  void (*set_threads)(int) = nullptr;  // of the OpenMP runtime that the library runs on
  int (*get_threads)() = nullptr;

  explicit Library(const char* path);

 private:
  bool find_functions(void* handle);
};

// The choice of the environment variable TAEDA_ONEDNN. 0: no library. A path: that library, for
// every product it can compute. Unset: an installed libdnnl.so.3 or .2, for products that are known
// to gain.
struct Request {
  bool is_refused = false;
  const char* path = nullptr;
};
const Request& request();

// Opened by the first call; never closed, since threads that end late still hand memory back.
const Library& library();

// A row-major description of a matrix, as the library's major keeps it.
class MatrixDesc {
 public:
  MatrixDesc(DataType type, int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride);
  ~MatrixDesc();
  MatrixDesc(const MatrixDesc&) = delete;
  const void* get() const { return desc_; }

 private:
  void* desc_ = nullptr;
  alignas(8) char inline_[2048];  // major 2 fills a structure of 696 bytes
};

// The primitive of destination = source * weights (+ bias, where given); null when the library
// cannot compute it.
Handle make_matmul(const MatrixDesc& source, const MatrixDesc& weights, const MatrixDesc* bias,
                   const MatrixDesc& destination);

}  // namespace taeda::cpu::onednn
