// Accessors: elements of a tensor by index, for loops on the host and in CUDA kernels.
//
//   auto a = t.accessor<float, 2>();         // points at the tensor's sizes: keep it alive
//   for (int64_t i = 0; i < a.size(0); ++i) sum += a[i][i];
//
// A packed accessor carries its sizes and strides and may be passed to a kernel by value.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#  define TAEDA_HOST_DEVICE __host__ __device__
#else
#  define TAEDA_HOST_DEVICE
#endif

namespace taeda {

template <class T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
template <class T>
struct RestrictPtrTraits {
  using PtrType = T* __restrict__;
};

template <class T, size_t N, template <class> class Traits = DefaultPtrTraits,
          class Index = int64_t>
class TensorAccessor {
 public:
  using PtrType = typename Traits<T>::PtrType;
  TAEDA_HOST_DEVICE TensorAccessor(PtrType data, const Index* sizes, const Index* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}

  TAEDA_HOST_DEVICE decltype(auto) operator[](Index i) const {
    if constexpr (N == 1)
      return static_cast<T&>(data_[i * strides_[0]]);
    else
      return TensorAccessor<T, N - 1, Traits, Index>(data_ + i * strides_[0], sizes_ + 1,
                                                     strides_ + 1);
  }
  TAEDA_HOST_DEVICE Index size(Index d) const { return sizes_[d]; }
  TAEDA_HOST_DEVICE Index stride(Index d) const { return strides_[d]; }
  TAEDA_HOST_DEVICE PtrType data() const { return data_; }

 private:
  PtrType data_;
  const Index* sizes_;
  const Index* strides_;
};

template <class T, size_t N, template <class> class Traits = DefaultPtrTraits,
          class Index = int64_t>
class PackedTensorAccessor {
 public:
  using PtrType = typename Traits<T>::PtrType;
  PackedTensorAccessor(PtrType data, const int64_t* sizes, const int64_t* strides) : data_(data) {
    for (size_t d = 0; d < N; ++d) {
      sizes_[d] = static_cast<Index>(sizes[d]);
      strides_[d] = static_cast<Index>(strides[d]);
    }
  }

  TAEDA_HOST_DEVICE decltype(auto) operator[](Index i) const {
    return TensorAccessor<T, N, Traits, Index>(data_, sizes_, strides_)[i];
  }
  TAEDA_HOST_DEVICE Index size(int d) const { return sizes_[d]; }
  TAEDA_HOST_DEVICE Index stride(int d) const { return strides_[d]; }
  TAEDA_HOST_DEVICE PtrType data() const { return data_; }

 private:
  PtrType data_;
  Index sizes_[N];
  Index strides_[N];
};

template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = PackedTensorAccessor<T, N, Traits, int32_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = PackedTensorAccessor<T, N, Traits, int64_t>;

}  // namespace taeda
