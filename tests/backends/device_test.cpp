// Tests of the device seam: its checks, its defaults, and the same calls on every registered
// device.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "taeda/backends/device_kernels.h"
#include "taeda/backends/device_registry.h"
#include "taeda/ops/functions.h"

namespace taeda {
namespace {

using devices::Runtime;

std::string plugin_path() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libcounting_device.so")
      .string();
}

int64_t calls(const char* name) {
  void* handle = ::dlopen(plugin_path().c_str(), RTLD_NOW);
  return reinterpret_cast<int64_t (*)(const char*)>(::dlsym(handle, "counting_device_calls"))(name);
}

const DeviceType kPlugin = DeviceType::PrivateUse1;

class DeviceTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { devices::load_device_plugin(plugin_path()); }
};

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.message();
  }
  return "no error";
}

TEST_F(DeviceTest, EveryDeviceCopiesAndSets) {
  const std::vector<DeviceType> types = devices::registered_devices();
  ASSERT_EQ(types.size(), 3u);
  for (DeviceType type : types) {
    const Runtime& r = devices::runtime_of(type);
    SCOPED_TRACE(r.api().name);
    EXPECT_EQ(r.api().version, TAEDA_DEVICE_API_VERSION);
    ASSERT_GE(r.device_count(), 1);
    EXPECT_TRUE(r.supports(0, DType::Float));
    EXPECT_STREQ(r.properties(0).name, r.api().name);
    const int64_t numbers[4] = {1, 2, 3, 4};
    void* a = r.alloc(0, sizeof numbers);
    void* b = r.alloc(0, sizeof numbers);
    r.copy_to_device(0, a, numbers, sizeof numbers);
    r.copy_on_device(0, b, 0, a, sizeof numbers);
    r.set_memory(0, a, 0, sizeof numbers);
    r.synchronize(0);
    int64_t back[4] = {9, 9, 9, 9};
    if (type == DeviceType::Meta) {
      EXPECT_NE(message_of([&] {
                  r.copy_to_host(0, back, b, sizeof back);
                }).find("Cannot copy out of meta tensor"),
                std::string::npos);
    } else {
      r.copy_to_host(0, back, b, sizeof back);
      EXPECT_EQ(back[3], 4);
      r.copy_to_host(0, back, a, sizeof back);
      EXPECT_EQ(back[3], 0);
    }
    r.free(0, a, sizeof numbers);
    r.free(0, b, sizeof numbers);
  }
}

TEST_F(DeviceTest, EventsWithoutFunctionsUseTheHostClock) {
  for (DeviceType type : devices::registered_devices()) {
    const Runtime& r = devices::runtime_of(type);
    void* stream = r.stream_create(0);
    void* start = r.event_create(0);
    void* end = r.event_create(0);
    r.event_record(0, start, stream);
    ::usleep(2000);
    r.event_record(0, end, stream);
    r.event_wait(0, end, stream);
    EXPECT_GE(r.event_elapsed(0, start, end), 1.9);
    r.event_destroy(0, start);
    r.event_destroy(0, end);
    r.stream_destroy(0, stream);
  }
}

TEST_F(DeviceTest, RefusesWrongVersionsAndHoles) {
  static TaedaDeviceApi api = devices::runtime_of(kPlugin).api();
  const auto refusal = [] {
    return message_of([] { devices::register_device(DeviceType::PrivateUse2, &api); });
  };
  api.version = 99;
  EXPECT_NE(refusal().find("built for 99"), std::string::npos);
  api.version = TAEDA_DEVICE_API_VERSION;
  api.size = 8;
  EXPECT_NE(refusal().find("struct size differs"), std::string::npos);
  api.size = sizeof api;
  api.alloc = nullptr;
  EXPECT_NE(refusal().find("required function alloc"), std::string::npos);
  EXPECT_FALSE(devices::find_runtime(DeviceType::PrivateUse2));
  EXPECT_NE(message_of([] {
              devices::load_device_plugin("/nonexistent.so");
            }).find("cannot load device plug-in"),
            std::string::npos);
}

TEST_F(DeviceTest, DefaultsServeADeviceWithFourFunctions) {
  static TaedaDeviceApi api = devices::runtime_of(kPlugin).api();
  api.copy_on_device = nullptr;
  api.set_memory = nullptr;
  api.device_count = nullptr;
  api.current_device = nullptr;
  api.set_device = nullptr;
  const Runtime r(DeviceType::PrivateUse3, api);
  void* a = r.alloc(0, 8);
  void* b = r.alloc(0, 8);
  r.set_memory(0, a, 7, 8);
  r.copy_on_device(0, b, 0, a, 8);
  char back[8];
  r.copy_to_host(0, back, b, 8);
  EXPECT_EQ(back[7], 7);
  EXPECT_EQ(r.device_count(), 1);
  EXPECT_EQ(r.current_device(), 0);
  EXPECT_FALSE(r.can_compile());
  EXPECT_NE(message_of([&] { r.set_device(3); }).find("invalid device ordinal 3"),
            std::string::npos);
  r.free(0, a, 8);
  r.free(0, b, 8);
}

TEST_F(DeviceTest, RunsItsOwnKernelsAndFallsBackForTheRest) {
  const Tensor a = ones({SymInt(2), SymInt(3)}, {}, {}, Device(kPlugin));
  EXPECT_EQ(a.device().type, kPlugin);
  const int64_t adds = calls("add.out");
  const Tensor b = a.add(a);
  EXPECT_EQ(calls("add.out"), adds + 1);
  EXPECT_EQ(b.device().type, kPlugin);
  const int64_t before = devices::fallback_counts()["mul.out"];
  const Tensor c = b.mul(b);
  EXPECT_EQ(devices::fallback_counts()["mul.out"], before + 1);
  EXPECT_EQ(read_scalar(c.sum().to(DeviceType::CPU)).to_double(), 24.0);
}

TEST_F(DeviceTest, CopiesStridedAndConvertedViews) {
  const Tensor host = arange(Scalar(6), DType::Float).reshape({SymInt(2), SymInt(3)});
  Tensor on_device = host.to(kPlugin);
  Tensor column = on_device.select(1, 1);
  column.copy_(on_device.select(1, 2).to(DType::Int64));
  const Tensor back = on_device.to(DeviceType::CPU);
  EXPECT_EQ(back.data<float>()[1], 2.0f);
  EXPECT_EQ(back.data<float>()[4], 5.0f);
  EXPECT_EQ(back.data<float>()[3], 3.0f);
}

TEST_F(DeviceTest, AllocatesOnTheNamedDevice) {
  const Tensor t = zeros({SymInt(4)}, {}, {}, Device(kPlugin, 1));
  EXPECT_EQ(t.device().index, 1);
  EXPECT_NE(message_of([] {
              empty({SymInt(4)}, {}, {}, Device(kPlugin, 5));
            }).find("invalid device ordinal 5"),
            std::string::npos);
}

TEST(MissingDevice, IsNamed) {
  EXPECT_NE(message_of([] {
              empty({SymInt(4)}, {}, {}, Device(DeviceType::CUDA));
            }).find("no device is registered for 'cuda'"),
            std::string::npos);
}

}  // namespace
}  // namespace taeda
