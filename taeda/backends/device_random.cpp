// The default random streams of devices.
#include <map>
#include <mutex>

#include "taeda/backends/device_kernels.h"
#include "taeda/backends/device_registry.h"

namespace taeda::devices {
namespace {

struct Streams {
  std::mutex mutex;
  std::map<std::pair<int, int>, Generator> by_device;
  uint64_t seed = default_cpu_generator().initial_seed();
};
Streams& streams() {
  static Streams* all = new Streams;
  return *all;
}

}  // namespace

const Generator& generator_of(const Generator& generator, Device device) {
  if (generator.defined()) {
    TAEDA_CHECK(generator.device().type == device.type, "Expected a '",
                device_type_name(device.type), "' device type for generator but found '",
                device_type_name(generator.device().type), "'");
    return generator;
  }
  Streams& all = streams();
  std::lock_guard lock(all.mutex);
  Generator& place =
      all.by_device[{static_cast<int>(device.type()), std::max<int>(device.index, 0)}];
  if (!place.defined()) place = Generator(device, all.seed);
  return place;
}

void seed_devices(uint64_t seed) {
  Streams& all = streams();
  std::lock_guard lock(all.mutex);
  all.seed = seed;
  for (auto& [device, generator] : all.by_device) generator.manual_seed(seed);
  for (DeviceType type : registered_devices()) {
    const Runtime& runtime = runtime_of(type);
    if (!runtime.api().seed) continue;
    for (int i = 0; i < runtime.device_count(); ++i) runtime.seed(i, seed);
  }
}

}  // namespace taeda::devices
