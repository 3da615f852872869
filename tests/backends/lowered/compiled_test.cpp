// Tests of making and launching kernels of a device, from several threads.
#include "taeda/backends/lowered/compiled.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <mutex>
#include <thread>

#include "taeda/kernel/builder/kernel_builder.h"

namespace taeda::lowered {
namespace {

using kernel::Expr;
using kernel::Kernel;
using kernel::KernelBuilder;
using kernel::Sym;
using kernel::Type;

// A device in host memory whose compiler waits until `expected` compilations run at once. Its
// kernels do nothing.
struct SlowDevice {
  std::mutex mutex;
  std::condition_variable arrived;
  int expected = 1, running = 0, most = 0, compiled = 0;
  std::atomic<int> blocks = 0;

  TaedaDeviceApi api{};
  devices::Runtime runtime{DeviceType::PrivateUse2, api};

  SlowDevice() {
    api.name = "slow";
    api.context = this;
    api.dialect = "ir";
    api.alloc = [](void* self, int32_t, size_t bytes, void** pointer) -> TaedaStatus {
      ++static_cast<SlowDevice*>(self)->blocks;
      *pointer = std::malloc(bytes);
      return nullptr;
    };
    api.free = [](void* self, int32_t, void* pointer, size_t) -> TaedaStatus {
      --static_cast<SlowDevice*>(self)->blocks;
      std::free(pointer);
      return nullptr;
    };
    api.copy_to_device = api.copy_to_host = [](void*, int32_t, void* dst, const void* src,
                                               size_t bytes, void*) -> TaedaStatus {
      std::memcpy(dst, src, bytes);
      return nullptr;
    };
    api.launch = [](void*, int32_t, void*, const TaedaLaunch*, void**, uint32_t,
                    void*) -> TaedaStatus { return nullptr; };
    api.compile = [](void* self, int32_t, const char*, const char*, const char*,
                     void** kernel) -> TaedaStatus {
      *kernel = self;
      static_cast<SlowDevice*>(self)->compile();
      return nullptr;
    };
  }

  void compile() {
    std::unique_lock lock(mutex);
    ++compiled;
    most = std::max(most, ++running);
    arrived.notify_all();
    arrived.wait_for(lock, std::chrono::seconds(10), [&] { return most >= expected; });
    --running;
  }
};

// Checks indices and does nothing else.
Kernel check_kernel() {
  KernelBuilder k("k_check", Type::I64);
  const int i = k.axis(k.param("n"));
  k.operand(DType::Int64, {k.integer(1)}, 0);
  const Expr* symbol = k.indirect(k.cast(k.load(0), Type::I64), k.param("limit"), false);
  k.loop({i}, [&] { k.check(symbol); });
  return k.finish();
}

const CompiledKernel& made(SlowDevice& device, const char* key) {
  return compiled_kernel(device.runtime, 0, key, false, [] { return check_kernel(); });
}

TEST(CompiledTest, DifferentKernelsAreMadeSideBySide) {
  SlowDevice device;
  device.expected = 2;
  std::thread one([&] { made(device, "side by side 1"); });
  std::thread two([&] { made(device, "side by side 2"); });
  one.join();
  two.join();
  EXPECT_EQ(device.most, 2);
}

TEST(CompiledTest, OneThreadMakesAKernelThatSeveralNeed) {
  SlowDevice device;
  std::latch start(4);
  std::atomic<const CompiledKernel*> found[4];
  std::vector<std::thread> threads;
  for (auto& place : found)
    threads.emplace_back([&] {
      start.arrive_and_wait();
      place = &made(device, "the same");
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(device.compiled, 1);
  for (auto& place : found) EXPECT_EQ(place, found[0]);
}

TEST(CompiledTest, AKernelThatFailedIsMadeAgain) {
  SlowDevice device;
  const auto fails = []() -> Kernel { fail(ErrorKind::Value, "not now"); };
  EXPECT_THROW(compiled_kernel(device.runtime, 0, "twice", false, fails), Error);
  EXPECT_EQ(made(device, "twice").stages.size(), 1u);
}

TEST(CompiledTest, AThreadLeavesNoMemoryOnTheDevice) {
  SlowDevice device;
  std::thread([&] {
    launch(device.runtime, 0, made(device, "words"), {{nullptr}, {5, 3}, {}}, {});
    EXPECT_EQ(device.blocks, 1);
  }).join();
  EXPECT_EQ(device.blocks, 0);
}

}  // namespace
}  // namespace taeda::lowered
