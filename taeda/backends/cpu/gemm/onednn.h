// oneDNN's C interface as far as matmul and convolution need it, opened at run time; majors 2 and
// 3.
//
// The library's header is not needed: the functions called here take handles, numbers and
// descriptions that the library itself fills, and these numbers are the same in both majors.
#pragma once

#include <cstdint>

namespace taeda::cpu::onednn {

enum DataType : int { kHalf = 1, kBFloat16 = 2, kFloat = 3 };
enum Argument : int {
  kSource = 1,
  kDestination = 17,
  kWeights = 33,
  kBias = 41,
  kSourceGrad = 129,
  kDestinationGrad = 145,
  kWeightsGrad = 161
};
// Which description of a primitive is asked for.
enum Query : int {
  kSourceDesc = 129,
  kSourceGradDesc,
  kWeightsDesc,
  kWeightsGradDesc,
  kDestinationDesc,
  kDestinationGradDesc
};
constexpr int kForwardTraining = 64, kDirect = 1, kAnyFormat = 1;
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
#define TAEDA_ONEDNN_FUNCTIONS(X)                                                            \
  X(engine_create, Handle*, int kind, size_t index)                                          \
  X(stream_create, Handle*, Handle engine, unsigned flags)                                   \
  X(stream_destroy, Handle)                                                                  \
  X(stream_wait, Handle)                                                                     \
  X(memory_create, Handle*, const void* desc, Handle engine, void*)                          \
  X(memory_destroy, Handle)                                                                  \
  X(memory_set_data_handle, Handle, void*)                                                   \
  X(primitive_create, Handle*, Handle desc)                                                  \
  X(primitive_destroy, Handle)                                                               \
  X(primitive_desc_destroy, Handle)                                                          \
  X(reorder_primitive_desc_create, Handle*, const void* from, Handle engine, const void* to, \
    Handle to_engine, Handle attr)                                                           \
  X(memory_desc_equal, const void*, const void*)                                             \
  X(primitive_desc_query, Handle, int what, int index, void* result)                         \
  X(primitive_attr_create, Handle*)                                                          \
  X(primitive_attr_destroy, Handle)                                                          \
  X(primitive_attr_set_post_ops, Handle, Handle list)                                        \
  X(post_ops_create, Handle*)                                                                \
  X(post_ops_destroy, Handle)                                                                \
  X(post_ops_append_binary, Handle, int algorithm, const void* desc)                         \
  X(primitive_execute, Handle, Handle stream, int count, const Bound*)
#define TAEDA_ONEDNN_2_FUNCTIONS(X)                                                              \
  X(memory_desc_init_by_strides, void*, int ndim, const int64_t*, int data_type, const int64_t*) \
  X(matmul_desc_init, void*, const void*, const void*, const void*, const void*)                 \
  X(primitive_desc_create, Handle*, const void*, Handle attr, Handle engine, Handle hint)        \
  X(memory_desc_init_by_tag, void*, int ndim, const int64_t*, int data_type, int tag)            \
  X(dilated_convolution_forward_desc_init, void*, int kind, int algorithm, const void* source,   \
    const void* weights, const void* bias, const void* destination, const int64_t* strides,      \
    const int64_t* dilations, const int64_t* before, const int64_t* after)                       \
  X(dilated_convolution_backward_data_desc_init, void*, int algorithm, const void* source_grad,  \
    const void* weights, const void* destination_grad, const int64_t* strides,                   \
    const int64_t* dilations, const int64_t* before, const int64_t* after)                       \
  X(dilated_convolution_backward_weights_desc_init, void*, int algorithm, const void* source,    \
    const void* weights_grad, const void* bias_grad, const void* destination_grad,               \
    const int64_t* strides, const int64_t* dilations, const int64_t* before, const int64_t* after)
#define TAEDA_ONEDNN_3_FUNCTIONS(X)                                                                \
  X(memory_desc_create_with_strides, void**, int ndim, const int64_t*, int, const int64_t*)        \
  X(memory_desc_destroy, void*)                                                                    \
  X(matmul_primitive_desc_create, Handle*, Handle engine, const void*, const void*, const void*,   \
    const void*, Handle attr)                                                                      \
  X(memory_desc_create_with_tag, void**, int ndim, const int64_t*, int data_type, int tag)         \
  X(convolution_forward_primitive_desc_create, Handle*, Handle engine, int kind, int algorithm,    \
    const void* source, const void* weights, const void* bias, const void* destination,            \
    const int64_t* strides, const int64_t* dilations, const int64_t* before, const int64_t* after, \
    Handle attr)                                                                                   \
  X(convolution_backward_data_primitive_desc_create, Handle*, Handle engine, int algorithm,        \
    const void* source_grad, const void* weights, const void* destination_grad,                    \
    const int64_t* strides, const int64_t* dilations, const int64_t* before, const int64_t* after, \
    Handle hint, Handle attr)                                                                      \
  X(convolution_backward_weights_primitive_desc_create, Handle*, Handle engine, int algorithm,     \
    const void* source, const void* weights_grad, const void* bias_grad,                           \
    const void* destination_grad, const int64_t* strides, const int64_t* dilations,                \
    const int64_t* before, const int64_t* after, Handle hint, Handle attr)

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
  // One name, with other arguments in each major.
  int (*append_eltwise_2)(Handle, float scale, int algorithm, float alpha, float beta) = nullptr;
  int (*append_eltwise_3)(Handle, int algorithm, float alpha, float beta) = nullptr;
  const void* (*primitive_desc_query_md)(Handle, int what, int index) = nullptr;
  size_t (*memory_desc_get_size)(const void*) = nullptr;
  void (*set_threads)(int) = nullptr;  // of the OpenMP runtime that the library runs on
  int (*get_threads)() = nullptr;

  explicit Library(const char* path);

 private:
  bool find_functions(void* handle);
};

// The choice of the environment variable TAEDA_ONEDNN. 0: no library. A path: that library, for
// every product it can compute but those that are known to lose. Unset: an installed libdnnl.so.3
// or .2, for products that are known to gain.
struct Request {
  bool is_refused = false;
  const char* path = nullptr;
};
const Request& request();

// Opened by the first call; never closed, since threads that end late still hand memory back.
const Library& library();

// Whether the library can be called here; a forked child has lost its threads.
bool is_usable();

// The description of an array, as the library's major keeps it; without strides the library may
// choose how its elements lie.
class ArrayDesc {
 public:
  ArrayDesc(DataType type, int ndim, const int64_t* sizes, const int64_t* strides);
  ~ArrayDesc();
  ArrayDesc(const ArrayDesc&) = delete;
  const void* get() const { return desc_; }

 private:
  void* desc_ = nullptr;
  alignas(8) char inline_[2048];  // major 2 fills a structure of 696 bytes
};

// A row-major description of a matrix.
class MatrixDesc : public ArrayDesc {
 public:
  MatrixDesc(DataType type, int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride);
};

// What is computed from which of source, weights and destination.
enum class Pass { Forward, SourceGrad, WeightsGrad };

struct ConvolutionDescs {
  const ArrayDesc &source, &weights;
  const ArrayDesc* bias;  // of a forward pass, or null
  const ArrayDesc& destination;
  const int64_t *strides, *dilations, *padding;  // per spatial dimension; a dilation of 0 is none
};

class PostOpAttributes;

// The description of the primitive, to be destroyed by the caller; null when the library cannot
// compute it, or has to take another implementation for the post-ops of a forward pass.
Handle make_convolution(Pass pass, const ConvolutionDescs& descs,
                        PostOpAttributes* post_ops = nullptr);

// The primitive of destination = source * weights (+ bias, where given); null when the library
// cannot compute it, or has to take another implementation for the post-ops.
Handle make_matmul(const MatrixDesc& source, const MatrixDesc& weights, const MatrixDesc* bias,
                   const MatrixDesc& destination, PostOpAttributes* post_ops = nullptr);

}  // namespace taeda::cpu::onednn
