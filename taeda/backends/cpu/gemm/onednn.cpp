// Finding the library, and the calls that its majors spell differently.
#include "taeda/backends/cpu/gemm/onednn.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "taeda/backends/cpu/gemm/onednn_post_ops.h"
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
  if (major == 2)
    find(append_eltwise_2, "dnnl_post_ops_append_eltwise");
  else
    find(append_eltwise_3, "dnnl_post_ops_append_eltwise");
  find(primitive_desc_query_md, "dnnl_primitive_desc_query_md");
  find(memory_desc_get_size, "dnnl_memory_desc_get_size");
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

bool is_usable() {
  static std::atomic<bool> is_forked_child{false};
  static const bool is_ready = [] {
    pthread_atfork(nullptr, nullptr, [] { is_forked_child.store(true); });
    return library().is_ready;
  }();
  return is_ready && !is_forked_child.load(std::memory_order_relaxed);
}

ArrayDesc::ArrayDesc(DataType type, int ndim, const int64_t* sizes, const int64_t* strides) {
  const Library& dnn = library();
  int64_t whole_sizes[kMaxDims] = {}, whole_strides[kMaxDims] = {};
  std::copy_n(sizes, ndim, whole_sizes);
  if (strides) std::copy_n(strides, ndim, whole_strides);
  if (dnn.major == 3) {
    strides ? dnn.memory_desc_create_with_strides(&desc_, ndim, whole_sizes, type, whole_strides)
            : dnn.memory_desc_create_with_tag(&desc_, ndim, whole_sizes, type, kAnyFormat);
    return;
  }
  const int status =
      strides ? dnn.memory_desc_init_by_strides(inline_, ndim, whole_sizes, type, whole_strides)
              : dnn.memory_desc_init_by_tag(inline_, ndim, whole_sizes, type, kAnyFormat);
  if (status == kSuccess) desc_ = inline_;
}

ArrayDesc::~ArrayDesc() {
  if (desc_ && desc_ != inline_) library().memory_desc_destroy(desc_);
}

namespace {

struct Pair {
  int64_t values[2];
};

}  // namespace

MatrixDesc::MatrixDesc(DataType type, int64_t rows, int64_t cols, int64_t row_stride,
                       int64_t col_stride)
    : ArrayDesc(type, 2, Pair{rows, cols}.values, Pair{row_stride, col_stride}.values) {}

namespace {

// The description that `make` gives for the attributes, if it is implemented as without them.
template <class F>
Handle with_post_ops(PostOpAttributes& post_ops, F&& make) {
  const Library& dnn = library();
  const Handle plain = make(nullptr), made = make(post_ops.get());
  const bool is_good = are_implemented_alike(plain, made) && post_ops.find_arguments(made);
  if (plain) dnn.primitive_desc_destroy(plain);
  if (is_good) return made;
  if (made) dnn.primitive_desc_destroy(made);
  return nullptr;
}

}  // namespace

Handle make_matmul(const MatrixDesc& source, const MatrixDesc& weights, const MatrixDesc* bias,
                   const MatrixDesc& destination, PostOpAttributes* post_ops) {
  const Library& dnn = library();
  const void* row = bias ? bias->get() : nullptr;
  const auto make_desc = [&](Handle attributes) {
    Handle desc = nullptr;
    if (dnn.major == 3) {
      dnn.matmul_primitive_desc_create(&desc, dnn.engine, source.get(), weights.get(), row,
                                       destination.get(), attributes);
    } else {
      alignas(8) char matmul[8192];  // a structure of 2,800 bytes
      if (dnn.matmul_desc_init(matmul, source.get(), weights.get(), row, destination.get()) ==
          kSuccess)
        dnn.primitive_desc_create(&desc, matmul, attributes, dnn.engine, nullptr);
    }
    return desc;
  };
  const Handle desc = post_ops ? with_post_ops(*post_ops, make_desc) : make_desc(nullptr);
  if (!desc) return nullptr;
  Handle primitive = nullptr;
  if (dnn.primitive_create(&primitive, desc) != kSuccess) primitive = nullptr;
  dnn.primitive_desc_destroy(desc);
  return primitive;
}

namespace {

// Gradients ask for the description of the forward pass beside their own.
Handle convolution_desc_2(Pass pass, const ConvolutionDescs& d, Handle forward, Handle attributes) {
  const Library& dnn = library();
  alignas(8) char desc[8192];  // a structure of some 3,500 bytes
  const void* bias = d.bias ? d.bias->get() : nullptr;
  int status = kSuccess;
  if (pass == Pass::Forward)
    status = dnn.dilated_convolution_forward_desc_init(
        desc, kForwardTraining, kDirect, d.source.get(), d.weights.get(), bias, d.destination.get(),
        d.strides, d.dilations, d.padding, d.padding);
  else if (pass == Pass::SourceGrad)
    status = dnn.dilated_convolution_backward_data_desc_init(
        desc, kDirect, d.source.get(), d.weights.get(), d.destination.get(), d.strides, d.dilations,
        d.padding, d.padding);
  else
    status = dnn.dilated_convolution_backward_weights_desc_init(
        desc, kDirect, d.source.get(), d.weights.get(), nullptr, d.destination.get(), d.strides,
        d.dilations, d.padding, d.padding);
  Handle made = nullptr;
  if (status == kSuccess) dnn.primitive_desc_create(&made, desc, attributes, dnn.engine, forward);
  return made;
}

Handle convolution_desc_3(Pass pass, const ConvolutionDescs& d, Handle forward, Handle attributes) {
  const Library& dnn = library();
  const void* bias = d.bias ? d.bias->get() : nullptr;
  Handle made = nullptr;
  if (pass == Pass::Forward)
    dnn.convolution_forward_primitive_desc_create(
        &made, dnn.engine, kForwardTraining, kDirect, d.source.get(), d.weights.get(), bias,
        d.destination.get(), d.strides, d.dilations, d.padding, d.padding, attributes);
  else if (pass == Pass::SourceGrad)
    dnn.convolution_backward_data_primitive_desc_create(
        &made, dnn.engine, kDirect, d.source.get(), d.weights.get(), d.destination.get(), d.strides,
        d.dilations, d.padding, d.padding, forward, nullptr);
  else
    dnn.convolution_backward_weights_primitive_desc_create(
        &made, dnn.engine, kDirect, d.source.get(), d.weights.get(), nullptr, d.destination.get(),
        d.strides, d.dilations, d.padding, d.padding, forward, nullptr);
  return made;
}

}  // namespace

Handle make_convolution(Pass pass, const ConvolutionDescs& descs, PostOpAttributes* post_ops) {
  const Library& dnn = library();
  const auto make = dnn.major == 3 ? &convolution_desc_3 : &convolution_desc_2;
  const auto make_forward = [&](Handle attributes) {
    return make(Pass::Forward, descs, nullptr, attributes);
  };
  const Handle forward = post_ops ? with_post_ops(*post_ops, make_forward) : make_forward(nullptr);
  if (pass == Pass::Forward || !forward) return forward;
  const Handle made = make(pass, descs, forward, nullptr);
  dnn.primitive_desc_destroy(forward);
  return made;
}

}  // namespace taeda::cpu::onednn
