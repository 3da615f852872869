// Schedules made of schedules.
#include "taeda/optim/schedulers/composed.h"

#include <algorithm>

#include "taeda/base/error.h"
#include "taeda/base/str.h"

namespace taeda::optim {
namespace {

void check_optimizer(const char* name, const Optimizer& optimizer,
                     const SchedulerList& schedulers) {
  for (size_t i = 0; i < schedulers.size(); ++i) {
    TAEDA_CHECK_VALUE(&schedulers[i]->optimizer() == &optimizer, name,
                      " expects all schedulers to belong to the same optimizer, but got scheduler "
                      "at index ",
                      i, " of another one");
  }
}

Optimizer& optimizer_of(const SchedulerList& schedulers) {
  TAEDA_CHECK_VALUE(!schedulers.empty(),
                    "ChainedScheduler expects at least one scheduler to be chained, but got no "
                    "scheduler.");
  return schedulers[0]->optimizer();
}

void save_each(const SchedulerList& schedulers, serialization::OutputArchive& archive) {
  for (size_t i = 0; i < schedulers.size(); ++i) {
    serialization::OutputArchive part;
    schedulers[i]->save(part);
    archive.write(str("schedulers/", i), part);
  }
}

void load_each(const SchedulerList& schedulers, serialization::InputArchive& archive) {
  for (size_t i = 0; i < schedulers.size(); ++i) {
    serialization::InputArchive part;
    archive.read(str("schedulers/", i), part);
    schedulers[i]->load(part);
  }
}

}  // namespace

SequentialLR::SequentialLR(Optimizer& optimizer, SchedulerList schedulers,
                           std::vector<int64_t> milestones)
    : LRScheduler(optimizer),
      schedulers_(std::move(schedulers)),
      milestones_(std::move(milestones)) {
  TAEDA_CHECK_VALUE(!schedulers_.empty(),
                    "SequentialLR expects at least one scheduler, but got no scheduler.");
  check_optimizer("SequentialLR", optimizer, schedulers_);
  TAEDA_CHECK_VALUE(milestones_.size() + 1 == schedulers_.size(),
                    "Sequential Schedulers expects number of schedulers provided to be one more "
                    "than the number of milestone points, but got number of schedulers ",
                    schedulers_.size(), " and the number of milestones to be equal to ",
                    milestones_.size());
  // The schedules set their first rates when they were made; only the first one's count.
  restart();
}

void SequentialLR::begin() {
  schedulers_[0]->begin();
  step_count_ = 1;
}

void SequentialLR::step() {
  const auto epoch = static_cast<int64_t>(step_count_++);
  const auto passed = std::upper_bound(milestones_.begin(), milestones_.end(), epoch);
  const auto i = static_cast<size_t>(passed - milestones_.begin());
  if (i > 0 && milestones_[i - 1] == epoch) {
    schedulers_[i]->restart();
  } else {
    schedulers_[i]->step();
  }
}

void SequentialLR::save(serialization::OutputArchive& archive) const {
  LRScheduler::save(archive);
  save_each(schedulers_, archive);
}

void SequentialLR::load(serialization::InputArchive& archive) {
  LRScheduler::load(archive);
  load_each(schedulers_, archive);
}

ChainedScheduler::ChainedScheduler(SchedulerList schedulers)
    : LRScheduler(optimizer_of(schedulers)), schedulers_(std::move(schedulers)) {
  check_optimizer("ChainedScheduler", optimizer(), schedulers_);
  step_count_ = 1;
}

void ChainedScheduler::step() {
  for (const auto& scheduler : schedulers_) scheduler->step();
  ++step_count_;
}

void ChainedScheduler::begin() {
  for (const auto& scheduler : schedulers_) scheduler->begin();
  step_count_ = 1;
}

void ChainedScheduler::save(serialization::OutputArchive& archive) const {
  LRScheduler::save(archive);
  save_each(schedulers_, archive);
}

void ChainedScheduler::load(serialization::InputArchive& archive) {
  LRScheduler::load(archive);
  load_each(schedulers_, archive);
}

}  // namespace taeda::optim
