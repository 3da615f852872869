// The slopes of rrelu on the CPU.
#include "taeda/backends/cpu/random/serial_random.h"
#include "taeda/backends/cpu/random_activation_declarations.h"
#include "taeda/ops/functions.h"
#include "taeda/ops/random_activation/declarations.h"

namespace taeda::cpu {

Tensor _rrelu_noise(const Tensor& self, const Scalar& lower, const Scalar& upper,
                    const Generator& generator) {
  Tensor noise = impl::_rrelu_noise_meta(self, lower, upper, generator);
  const double low = lower.to_double(), high = upper.to_double();
  {
    const GeneratorImpl::Serial serial = cpu_generator_or_default(generator).impl().serial();
    if (serial.twister) {
      serial::rrelu(self, noise, low, high, *serial.twister);
      return noise;
    }
  }
  noise.uniform_(low, high, generator);
  return noise.masked_fill_(self.gt(Scalar(0)), Scalar(1));
}

}  // namespace taeda::cpu
