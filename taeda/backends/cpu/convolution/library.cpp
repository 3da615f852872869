// Which convolutions go to oneDNN, and the primitives kept for them.
#include "taeda/backends/cpu/convolution/library.h"

#include <array>
#include <memory>

#include "taeda/backends/cpu/gemm/onednn_post_ops.h"
#include "taeda/base/parallel.h"

namespace taeda::cpu::convolution_kernels {
namespace {

using onednn::ArrayDesc;
using onednn::DataType;
using onednn::Handle;
using onednn::Pass;

// Multiply-adds from which a call of the library, with its copies into blocks of channels, pays.
constexpr double kLeastWork = 256.0 * 1024;
constexpr int64_t kTileChannels = 16;

double work_of(const Geometry& g) {
  double work = static_cast<double>(g.images) * g.groups * g.in_channels * g.out_channels;
  for (int d = 0; d < kSpatial; ++d) work *= static_cast<double>(g.out[d]) * g.kernel[d];
  return work;
}

// bfloat16 gains where the processor multiplies tiles of it and a patch has channels enough for
// one; else its products here win, since no copy into blocks comes before them.
bool has_gain(DType dtype, [[maybe_unused]] const Geometry& g) {
  if (dtype == DType::Float) return true;
#if defined(__x86_64__)
  static const bool multiplies_tiles = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("amx-bf16") != 0;
  }();
  return dtype == DType::BFloat16 && multiplies_tiles && g.in_channels >= kTileChannels;
#else
  return false;
#endif
}

// Whether convolutions are asked of the library at all: on x86_64 unless it is refused, elsewhere
// where it is named.
bool is_wanted() {
#if defined(__x86_64__)
  return !onednn::request().is_refused;
#else
  return !onednn::request().is_refused && onednn::request().path;
#endif
}

bool is_gainful(DType dtype, const Geometry& g) {
  return is_wanted() && has_gain(dtype, g) && work_of(g) >= kLeastWork;
}

DataType data_type(DType dtype) {
  return dtype == DType::Float ? onednn::kFloat : onednn::kBFloat16;
}

// Everything a primitive is made for.
struct Key {
  Geometry geometry;
  Pass pass;
  DataType type;
  int spatial, threads;
  bool has_bias, are_filters_innermost;
  onednn::PostOpWords post_ops;
  bool operator==(const Key&) const = default;

  size_t hash() const {
    size_t h = (static_cast<size_t>(threads) * 4 + static_cast<size_t>(pass)) * 2 + has_bias;
    h = h * 8 + type;
    const auto mix = [&](int64_t x) {
      h = (h ^ static_cast<size_t>(x)) * 0x9e3779b97f4a7c15u;
      h ^= h >> 29;
    };
    for (int64_t x : {geometry.images, geometry.groups, geometry.in_channels, geometry.out_channels,
                      int64_t{geometry.is_channels_last} * 2 + are_filters_innermost})
      mix(x);
    for (const Extents* e : {&geometry.in, &geometry.kernel, &geometry.stride, &geometry.padding,
                             &geometry.dilation, &geometry.out})
      for (int64_t x : *e) mix(x);
    for (int64_t x : post_ops) mix(x);
    return h >> 32;
  }
};

// Sizes and strides of an array, dimension by dimension.
struct Shape {
  int ndim = 0;
  std::array<int64_t, kSpatial + 3> sizes{}, strides{};

  void add(int64_t size) { sizes[ndim++] = size; }
  // Strides without gaps; channels, dimension `channel`, innermost where asked for.
  void fill_strides(bool is_channels_last, int channel) {
    int64_t step = 1;
    const auto place = [&](int d) {
      strides[d] = step;
      step *= sizes[d];
    };
    if (is_channels_last) place(channel);
    for (int d = ndim; d-- > 0;)
      if (!is_channels_last || d != channel) place(d);
  }
};

Shape image_shape(const Geometry& g, int spatial, int64_t channels, const Extents& size) {
  Shape s;
  s.add(g.images);
  s.add(channels);
  for (int d = kSpatial - spatial; d < kSpatial; ++d) s.add(size[d]);
  s.fill_strides(g.is_channels_last, 1);
  return s;
}

Shape weight_shape(const Geometry& g, int spatial, bool are_channels_innermost) {
  Shape s;
  if (g.groups > 1) s.add(g.groups);
  s.add(g.out_channels);
  s.add(g.in_channels);
  for (int d = kSpatial - spatial; d < kSpatial; ++d) s.add(g.kernel[d]);
  s.fill_strides(are_channels_innermost, g.groups > 1 ? 2 : 1);
  return s;
}

// One argument of a primitive: as it lies in the tensor, and as the library wants it, with the copy
// between them.
class Argument {
 public:
  // `is_result` copies from the library's layout to the tensor's, else the other way.
  bool make(DataType type, const Shape& shape, const void* wanted, bool is_result) {
    const onednn::Library& dnn = onednn::library();
    is_result_ = is_result;
    const ArrayDesc given(type, shape.ndim, shape.sizes.data(), shape.strides.data());
    if (!given.get() || !wanted || !create(user_, given.get())) return false;
    if (dnn.memory_desc_equal(given.get(), wanted)) return true;
    bytes_ = static_cast<int64_t>(dnn.memory_desc_get_size(wanted));
    Handle desc = nullptr;
    const void *from = is_result ? wanted : given.get(), *to = is_result ? given.get() : wanted;
    if (!create(own_, wanted) ||
        dnn.reorder_primitive_desc_create(&desc, from, dnn.engine, to, dnn.engine, nullptr) !=
            onednn::kSuccess)
      return false;
    const bool is_made = dnn.primitive_create(&copy_, desc) == onednn::kSuccess;
    dnn.primitive_desc_destroy(desc);
    return is_made;
  }
  ~Argument() {
    const onednn::Library& dnn = onednn::library();
    for (Handle memory : {user_, own_})
      if (memory) dnn.memory_destroy(memory);
    if (copy_) dnn.primitive_destroy(copy_);
  }

  // The memory that the primitive takes.
  Handle memory() const { return own_ ? own_ : user_; }
  bool set(void* data) {
    const onednn::Library& dnn = onednn::library();
    if (dnn.memory_set_data_handle(user_, data) != onednn::kSuccess) return false;
    if (!own_) return true;
    buffer_ = make_tensor(IntList({bytes_}), DType::UInt8, Device());
    return dnn.memory_set_data_handle(own_, buffer_.data()) == onednn::kSuccess;
  }
  bool copy(Handle stream) {
    if (!copy_) return true;
    const onednn::Bound args[] = {{onednn::kSource, is_result_ ? own_ : user_},
                                  {onednn::kDestination, is_result_ ? user_ : own_}};
    return onednn::library().primitive_execute(copy_, stream, 2, args) == onednn::kSuccess;
  }
  void release() { buffer_ = Tensor(); }

 private:
  static bool create(Handle& memory, const void* desc) {
    const onednn::Library& dnn = onednn::library();
    return dnn.memory_create(&memory, desc, dnn.engine, nullptr) == onednn::kSuccess;
  }

  bool is_result_ = false;
  int64_t bytes_ = 0;
  Handle user_ = nullptr, own_ = nullptr, copy_ = nullptr;
  Tensor buffer_;
};

class Convolution {
 public:
  // `shape`: of y.
  Convolution(const Key& key, const PostOps& post_ops, IntList shape)
      : key_(key), attributes_(post_ops, shape) {
    const onednn::Library& dnn = onednn::library();
    const Geometry& g = key.geometry;
    const Shape x = image_shape(g, key.spatial, g.groups * g.in_channels, g.in);
    const Shape y = image_shape(g, key.spatial, g.groups * g.out_channels, g.out);
    const Shape weight = weight_shape(g, key.spatial, key.are_filters_innermost);
    Shape bias;
    bias.add(g.groups * g.out_channels);
    bias.fill_strides(false, 0);
    const Handle desc = make_desc(x, weight, y, bias);
    if (!desc) return;
    const auto wanted = [&](int forward, int grad, Pass own) {
      return dnn.primitive_desc_query_md(desc, key.pass == own ? grad : forward, 0);
    };
    const bool is_forward = key.pass == Pass::Forward;
    const void* y_desc = dnn.primitive_desc_query_md(
        desc, is_forward ? onednn::kDestinationDesc : onednn::kDestinationGradDesc, 0);
    is_ready_ =
        dnn.primitive_create(&primitive_, desc) == onednn::kSuccess &&
        x_.make(key.type, x, wanted(onednn::kSourceDesc, onednn::kSourceGradDesc, Pass::SourceGrad),
                key.pass == Pass::SourceGrad) &&
        weight_.make(key.type, weight,
                     wanted(onednn::kWeightsDesc, onednn::kWeightsGradDesc, Pass::WeightsGrad),
                     key.pass == Pass::WeightsGrad) &&
        y_.make(key.type, y, y_desc, is_forward) && (!key.has_bias || make_bias(bias)) &&
        dnn.stream_create(&stream_, dnn.engine, onednn::kInOrderStream) == onednn::kSuccess;
    dnn.primitive_desc_destroy(desc);
  }
  ~Convolution() {
    const onednn::Library& dnn = onednn::library();
    if (bias_) dnn.memory_destroy(bias_);
    if (primitive_) dnn.primitive_destroy(primitive_);
    if (stream_) dnn.stream_destroy(stream_);
  }

  const Key& key() const { return key_; }

  bool run(const Tensors& t, const Tensor& bias, const PostOps& post_ops) {
    if (!is_ready_) return false;
    const onednn::Library& dnn = onednn::library();
    if (!x_.set(t.x.data()) || !weight_.set(t.weight.data()) || !y_.set(t.y.data())) return false;
    if (bias_ && dnn.memory_set_data_handle(bias_, bias.data()) != onednn::kSuccess) return false;
    const Pass pass = key_.pass;
    SmallVector<onednn::Bound, 12> args = {
        {pass == Pass::SourceGrad ? onednn::kSourceGrad : onednn::kSource, x_.memory()},
        {pass == Pass::WeightsGrad ? onednn::kWeightsGrad : onednn::kWeights, weight_.memory()},
        {pass == Pass::Forward ? onednn::kDestination : onednn::kDestinationGrad, y_.memory()}};
    if (bias_) args.push_back({onednn::kBias, bias_});
    if (!attributes_.bind(post_ops, args)) return false;
    Argument& result = pass == Pass::Forward ? y_ : pass == Pass::SourceGrad ? x_ : weight_;
    bool is_done = true;
    for (Argument* a : {&x_, &weight_, &y_})
      if (a != &result) is_done = is_done && a->copy(stream_);
    is_done = is_done && dnn.primitive_execute(primitive_, stream_, static_cast<int>(args.size()),
                                               args.data()) == onednn::kSuccess;
    is_done = is_done && result.copy(stream_) && dnn.stream_wait(stream_) == onednn::kSuccess;
    for (Argument* a : {&x_, &weight_, &y_}) a->release();
    return is_done;
  }

 private:
  // Channels that lie innermost stay there; else the library chooses.
  Handle make_desc(const Shape& x, const Shape& weight, const Shape& y, const Shape& bias) {
    const bool is_fixed = key_.geometry.is_channels_last;
    const auto strides = [&](const Shape& s) { return is_fixed ? s.strides.data() : nullptr; };
    const ArrayDesc x_desc(key_.type, x.ndim, x.sizes.data(), strides(x));
    const ArrayDesc y_desc(key_.type, y.ndim, y.sizes.data(), strides(y));
    const ArrayDesc weight_desc(key_.type, weight.ndim, weight.sizes.data(), nullptr);
    const ArrayDesc bias_desc(key_.type, 1, bias.sizes.data(), bias.strides.data());
    int64_t dilations[kSpatial];
    for (int d = 0; d < kSpatial; ++d) dilations[d] = key_.geometry.dilation[d] - 1;
    const int first = kSpatial - key_.spatial;
    return onednn::make_convolution(key_.pass,
                                    {x_desc, weight_desc, key_.has_bias ? &bias_desc : nullptr,
                                     y_desc, key_.geometry.stride.data() + first, dilations + first,
                                     key_.geometry.padding.data() + first},
                                    attributes_.get() ? &attributes_ : nullptr);
  }
  bool make_bias(const Shape& shape) {
    const onednn::Library& dnn = onednn::library();
    const ArrayDesc desc(key_.type, 1, shape.sizes.data(), shape.strides.data());
    return dnn.memory_create(&bias_, desc.get(), dnn.engine, nullptr) == onednn::kSuccess;
  }

  Key key_;
  onednn::PostOpAttributes attributes_;
  bool is_ready_ = false;
  Handle stream_ = nullptr, primitive_ = nullptr, bias_ = nullptr;
  Argument x_, weight_, y_;
};

// Each thread keeps the primitives of the shapes it met, the latest of each slot.
Convolution& kept_convolution(const Key& key, const PostOps& post_ops, IntList shape) {
  using Kept = std::array<std::unique_ptr<Convolution>, 256>;
  thread_local const std::unique_ptr<Kept> kept = std::make_unique<Kept>();
  std::unique_ptr<Convolution>& slot = (*kept)[key.hash() % kept->size()];
  if (!slot || !(slot->key() == key)) slot = std::make_unique<Convolution>(key, post_ops, shape);
  return *slot;
}

// Operands of an element per channel. Others, such as a residual, oneDNN 2.6 reads at wrong places
// where channels lie innermost, in the convolutions that it has for aarch64.
bool are_per_channel(const PostOps& post_ops) {
  for (const PostOp& op : post_ops)
    for (size_t d = 0; d < op.strides.size(); ++d)
      if (d != 1 && op.strides[d] != 0) return false;
  return true;
}

}  // namespace

bool library_takes_channels_last(DType dtype) {
  return is_wanted() && dtype == DType::Float && onednn::is_usable();
}

Done library_convolution(Pass pass, const Tensors& t, const Tensor& bias) {
  if (!is_gainful(t.x.dtype(), t.geometry) || !onednn::is_usable()) return Done::Nothing;
  const onednn::Library& dnn = onednn::library();
  const int threads = in_parallel_region() ? 1 : num_threads(), before = dnn.get_threads();
  dnn.set_threads(threads);
  const auto run = [&](const PostOps& post_ops) {
    const Key key{
        t.geometry, pass,           data_type(t.x.dtype()),    static_cast<int>(t.x.dim() - 2),
        threads,    bias.defined(), !t.weight.is_contiguous(), onednn::words_of(post_ops)};
    return kept_convolution(key, post_ops, t.y.sizes()).run(t, bias, post_ops);
  };
  const PostOps* post_ops = pass == Pass::Forward ? t.finish.post_ops : nullptr;
  Done done = Done::Nothing;
  if (post_ops && are_per_channel(*post_ops) && onednn::computes_as_eager(*post_ops) &&
      run(*post_ops))
    done = Done::Finished;
  else if (run({}))
    done = Done::Computed;
  dnn.set_threads(before);
  return done;
}

}  // namespace taeda::cpu::convolution_kernels
