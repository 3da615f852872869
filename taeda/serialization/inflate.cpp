// Opens zlib at first use: programs that never read a deflated entry need none.
#include "taeda/serialization/inflate.h"

#include "taeda/base/error.h"

#if __has_include(<zlib.h>)
#  include <dlfcn.h>
#  include <zlib.h>

#  include <algorithm>
#  include <limits>

namespace taeda::serialization {
namespace {

struct Zlib {
  decltype(&::inflateInit2_) init = nullptr;
  decltype(&::inflate) run = nullptr;
  decltype(&::inflateEnd) end = nullptr;
};

const Zlib& zlib() {
  static const Zlib functions = [] {
    Zlib z;
    void* handle = ::dlopen("libz.so.1", RTLD_NOW);
    if (!handle) return z;
    z.init = reinterpret_cast<decltype(z.init)>(::dlsym(handle, "inflateInit2_"));
    z.run = reinterpret_cast<decltype(z.run)>(::dlsym(handle, "inflate"));
    z.end = reinterpret_cast<decltype(z.end)>(::dlsym(handle, "inflateEnd"));
    return z;
  }();
  TAEDA_CHECK_NOT_IMPLEMENTED(functions.init && functions.run && functions.end,
                              "deflated entries need zlib (libz.so.1), which this machine lacks; "
                              "stored entries are supported");
  return functions;
}

// zlib counts in 32 bits: larger runs go in steps.
uInt step(size_t left) {
  return static_cast<uInt>(std::min<size_t>(left, std::numeric_limits<uInt>::max()));
}

}  // namespace

std::optional<size_t> inflate(const void* data, size_t data_size, void* into, size_t size) {
  const Zlib& z = zlib();
  z_stream stream{};
  constexpr int kRaw = -15;  // no header, the largest window
  TAEDA_CHECK(z.init(&stream, kRaw, ZLIB_VERSION, sizeof stream) == Z_OK, "zlib cannot start");
  stream.next_in = static_cast<Bytef*>(const_cast<void*>(data));
  stream.next_out = static_cast<Bytef*>(into);
  size_t in_left = data_size, out_left = size;
  int status = Z_OK;
  while (status == Z_OK) {
    const uInt in = step(in_left), out = step(out_left);
    stream.avail_in = in;
    stream.avail_out = out;
    status = z.run(&stream, Z_NO_FLUSH);
    in_left -= in - stream.avail_in;
    out_left -= out - stream.avail_out;
    if (status == Z_OK && in == stream.avail_in && out == stream.avail_out) break;
  }
  z.end(&stream);
  if (status == Z_STREAM_END && in_left == 0 && out_left == 0) return std::nullopt;
  return data_size - in_left;
}

}  // namespace taeda::serialization

#else

namespace taeda::serialization {

std::optional<size_t> inflate(const void*, size_t, void*, size_t) {
  fail(ErrorKind::NotImplemented,
       "deflated entries need zlib, which this build lacks; stored entries are supported");
}

}  // namespace taeda::serialization

#endif
