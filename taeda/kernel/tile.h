// run_tile: a body as an eager kernel over contiguous memory.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>

#include "taeda/kernel/body.h"
#include "taeda/kernel/vec_real.h"

TAEDA_MATH_BEGIN

// How a parameter of type P is read at element i: V and RealOf<V> from their elements, masks from
// bytes, uniforms from the scalars once.
template <class P>
struct TileReader {
  const typename P::Element* p;
  TD_FN P at(int64_t i) const { return P::load(p + i); }
  TD_FN P tail(int64_t i, int64_t n) const { return P::load_tail(p + i, n); }
};
template <class T>
struct TileReader<Mask<T>> {
  const uint8_t* p;
  TD_FN Mask<T> at(int64_t i) const { return Mask<T>::load(p + i); }
  TD_FN Mask<T> tail(int64_t i, int64_t n) const { return Mask<T>::load_tail(p + i, n); }
};
template <class V>
struct TileReader<Uniform<V>> {
  V value;
  TD_FN Uniform<V> at(int64_t) const { return Uniform<V>(value); }
  TD_FN Uniform<V> tail(int64_t, int64_t) const { return Uniform<V>(value); }
};

// Hands out input pointers and scalars in parameter order.
struct TileArguments {
  char* const* inputs;
  const void* scalars;

  template <class P>
  void bind(TileReader<P>& reader) {
    reader.p = reinterpret_cast<decltype(reader.p)>(*inputs++);
  }
  template <class V>
  void bind(TileReader<Uniform<V>>& reader) {
    const auto* p = static_cast<const typename V::Element*>(scalars);
    reader.value = V(*p);
    scalars = p + 1;
  }
};

template <class R>
struct TileWriter {
  typename R::Element* p;
  explicit TileWriter(char* memory) : p(reinterpret_cast<typename R::Element*>(memory)) {}
};
template <class T>
struct TileWriter<Mask<T>> {
  uint8_t* p;
  explicit TileWriter(char* memory) : p(reinterpret_cast<uint8_t*>(memory)) {}
};

template <class V, class R, class... P>
struct TileLoop {
  // All vectors of a step are computed before the first is stored: independent chains overlap, and
  // an output that is one of the inputs is fine.
  static constexpr int kUnroll = 4;

  template <R (*apply)(P...), size_t... I>
  static void run(char* const* ptrs, int64_t n, const void* scalars, std::index_sequence<I...>) {
    std::tuple<TileReader<P>...> readers;
    TileArguments arguments{ptrs + 1, scalars};
    (arguments.bind(std::get<I>(readers)), ...);
    TileWriter<R> writer(ptrs[0]);
    int64_t i = 0;
    for (; i + kUnroll * V::kWidth <= n; i += kUnroll * V::kWidth) {
      R r[kUnroll];
#pragma GCC unroll 4
      for (int u = 0; u < kUnroll; ++u) r[u] = apply(std::get<I>(readers).at(i + u * V::kWidth)...);
#pragma GCC unroll 4
      for (int u = 0; u < kUnroll; ++u) r[u].store(writer.p + i + u * V::kWidth);
    }
    for (; i + V::kWidth <= n; i += V::kWidth) {
      R r = apply(std::get<I>(readers).at(i)...);
      r.store(writer.p + i);
    }
    if (i < n) {
      R r = apply(std::get<I>(readers).tail(i, n - i)...);
      r.store_tail(writer.p + i, n - i);
    }
  }
};

template <class Body, class V, class R, class... P>
void run_tile_as(R (*)(P...), char* const* ptrs, int64_t n, const void* scalars) {
  TileLoop<V, R, P...>::template run<&Body::template apply<V>>(ptrs, n, scalars,
                                                               std::index_sequence_for<P...>());
}

// Runs Body over n elements of compute type T. ptrs[0] is the output, ptrs[1...] the inputs, one
// for each parameter that is not Uniform; all contiguous, and the output may be one of the inputs.
// The k-th Uniform parameter reads element k of scalars, an array of T.
template <class Body, class T>
void run_tile(char* const* ptrs, int64_t n, const void* scalars) {
  run_tile_as<Body, Vec<T>>(&Body::template apply<Vec<T>>, ptrs, n, scalars);
}

TAEDA_MATH_END
