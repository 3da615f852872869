// Schedules along a cosine.
#include "taeda/optim/schedulers/cosine.h"

#include <cmath>
#include <numbers>

#include "taeda/base/error.h"
#include "taeda/optim/optimizer_inl.h"

namespace taeda::optim {

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min)
    : LRScheduler(optimizer), T_max_(T_max), eta_min_(eta_min) {
  TAEDA_CHECK_VALUE(T_max > 0, "Expected positive T_max, but got ", T_max);
  step();
}

std::vector<double> CosineAnnealingLR::get_lrs() {
  std::vector<double> rates = get_current_lrs();
  if (step_count_ == 0) return rates;
  const auto epoch = static_cast<int64_t>(step_count_);
  const auto height = [&](int64_t at) {
    return 1 + std::cos(std::numbers::pi * static_cast<double>(at) / static_cast<double>(T_max_));
  };
  if ((epoch - 1 - T_max_) % (2 * T_max_) == 0) {
    // After the lowest point, where the ratio of heights has no meaning.
    const double rise = (1 - std::cos(std::numbers::pi / static_cast<double>(T_max_))) / 2;
    for (size_t i = 0; i < rates.size(); ++i) rates[i] += (base_lrs()[i] - eta_min_) * rise;
    return rates;
  }
  const double ratio = height(epoch) / height(epoch - 1);
  for (double& rate : rates) rate = ratio * (rate - eta_min_) + eta_min_;
  return rates;
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0,
                                                         int64_t T_mult, double eta_min)
    : LRScheduler(optimizer),
      T_0_(T_0),
      T_mult_(T_mult),
      eta_min_(eta_min),
      T_i_(static_cast<double>(T_0)) {
  TAEDA_CHECK_VALUE(T_0 > 0, "Expected positive integer T_0, but got ", T_0);
  TAEDA_CHECK_VALUE(T_mult >= 1, "Expected integer T_mult >= 1, but got ", T_mult);
  LRScheduler::step();
}

void CosineAnnealingWarmRestarts::step() {
  T_cur_ += 1;
  if (T_cur_ >= T_i_) {
    T_cur_ = std::fmod(T_cur_, T_i_);
    T_i_ *= static_cast<double>(T_mult_);
  }
  LRScheduler::step();
}

void CosineAnnealingWarmRestarts::step(double epoch) {
  TAEDA_CHECK_VALUE(epoch >= 0, "Expected non-negative epoch, but got ", epoch);
  const auto first = static_cast<double>(T_0_), growth = static_cast<double>(T_mult_);
  T_i_ = first;
  if (epoch < first) {
    T_cur_ = epoch;
  } else if (T_mult_ == 1) {
    T_cur_ = std::fmod(epoch, first);
  } else {
    const double passed = std::floor(std::log(epoch / first * (growth - 1) + 1) / std::log(growth));
    T_i_ = first * std::pow(growth, passed);
    T_cur_ = epoch - first * (std::pow(growth, passed) - 1) / (growth - 1);
  }
  step_count_ = static_cast<unsigned>(epoch);
  LRScheduler::step();
}

std::vector<double> CosineAnnealingWarmRestarts::get_lrs() {
  const double height = 1 + std::cos(std::numbers::pi * T_cur_ / T_i_);
  std::vector<double> rates = base_lrs();
  for (double& rate : rates) rate = eta_min_ + (rate - eta_min_) * height / 2;
  return rates;
}

void CosineAnnealingWarmRestarts::save(serialization::OutputArchive& archive) const {
  LRScheduler::save(archive);
  FieldWriter write(archive);
  write("T_i", T_i_);
  write("T_cur", T_cur_);
}

void CosineAnnealingWarmRestarts::load(serialization::InputArchive& archive) {
  LRScheduler::load(archive);
  FieldReader read(archive);
  read("T_i", T_i_);
  read("T_cur", T_cur_);
}

}  // namespace taeda::optim
