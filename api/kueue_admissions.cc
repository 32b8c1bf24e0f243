#include "api/kueue_admissions.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "api/kueue_workload.h"

namespace offcut::api {

KueueAdmissions::KueueAdmissions(KubeClient& client, scheduler::StateStore& store, Metrics& metrics,
                                 std::function<void()> changed, ListWatchSettings settings)
    : store_(store),
      metrics_(metrics),
      changed_(std::move(changed)),
      admissions_(std::make_shared<const scheduler::Admissions>()),
      watch_(client, WatchedKind{.name = "workloads", .path = std::string(kWorkloadsPath)},
             WatchSinks{.replace = [this](const auto& items) { Replace(items); },
                        .upsert = [this](const auto& object) { Put(object); },
                        .remove = [this](const auto& object) { Remove(object); },
                        .observe = [this](const WatchStatus& status) { Observe(status); }},
             std::mt19937_64(std::random_device()()), settings) {}

void KueueAdmissions::Replace(const std::vector<nlohmann::json>& items) {
  scheduler::Admissions admissions;
  for (const nlohmann::json& item : items) {
    auto workload = ParseKueueWorkload(item);
    if (workload && workload->is_admitted) admissions.Put(std::move(workload->admission));
  }
  spdlog::info("listed {} workloads, {} of them admitted", items.size(), admissions.size());
  Publish(std::move(admissions));
}

void KueueAdmissions::Put(const nlohmann::json& object) {
  auto workload = ParseKueueWorkload(object);
  if (!workload) return;
  if (!workload->is_admitted) return Remove(object);
  scheduler::Admissions admissions = *admissions_;
  admissions.Put(std::move(workload->admission));
  Publish(std::move(admissions));
}

void KueueAdmissions::Remove(const nlohmann::json& object) {
  const auto workload = ParseKueueWorkload(object);
  if (!workload) return;
  scheduler::Admissions admissions = *admissions_;
  admissions.Remove(workload->admission.name_space, workload->admission.workload);
  Publish(std::move(admissions));
}

void KueueAdmissions::Publish(scheduler::Admissions admissions) {
  if (admissions == *admissions_) return;  // a status that we do not read
  admissions_ = std::make_shared<const scheduler::Admissions>(std::move(admissions));
  store_.Update([this](scheduler::Snapshot& next) { next.SetAdmissions(admissions_); });
  changed_();
}

void KueueAdmissions::Observe(const WatchStatus& status) {
  metrics_.SetWatch("workloads", status.is_watching);
  if (is_known_ || (!status.is_synced && status.watch_errors == 0)) return;
  is_known_ = true;
  if (!status.is_synced) {
    spdlog::warn("Kueue's Workloads cannot be read, so no pod counts as admitted: {}",
                 status.last_error);
  }
  changed_();
}

}  // namespace offcut::api
