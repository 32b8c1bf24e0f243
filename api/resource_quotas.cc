#include "api/resource_quotas.h"

#include <random>
#include <string_view>

#include "api/json_members.h"
#include "api/pod_json.h"
#include "api/quantity.h"

namespace offcut::api {
namespace {

using nlohmann::json;
using scheduler::ResourceQuota;

constexpr std::string_view kRequestsPrefix = "requests.";

// Of our resources in a list such as status.used. Extended resources are limited by requests alone.
std::map<std::string, std::int64_t> CountsIn(const json& object, std::string_view part,
                                             std::string_view list,
                                             const scheduler::ResourceNames& names) {
  std::map<std::string, std::int64_t> counts;
  if (!object.is_object() || !object.contains(part) || !object[part].is_object() ||
      !object[part].contains(list) || !object[part][list].is_object()) {
    return counts;
  }
  for (const auto& [key, value] : object[part][list].items()) {
    if (!key.starts_with(kRequestsPrefix) || !value.is_string()) continue;
    const std::string resource = key.substr(kRequestsPrefix.size());
    const auto amount = ParseQuantity(value.get_ref<const std::string&>());
    if (amount && IsCounted(resource, names)) counts[resource] = amount->value;
  }
  return counts;
}

}  // namespace

std::optional<ResourceQuota> ParseResourceQuota(const json& object,
                                                const scheduler::ResourceNames& names) {
  ResourceQuota quota{.name_space = TextOf(MemberOf(object, "metadata"), "namespace"),
                      .name = TextOf(MemberOf(object, "metadata"), "name"),
                      .hard = CountsIn(object, "spec", "hard", names),
                      .used = CountsIn(object, "status", "used", names)};
  if (quota.name.empty() || quota.hard.empty()) return std::nullopt;
  return quota;
}

ResourceQuotas::ResourceQuotas(KubeClient& client, scheduler::StateStore& store,
                               const scheduler::Policy& policy, Metrics& metrics,
                               ListWatchSettings settings)
    : store_(store),
      policy_(policy),
      watch_(client, WatchedKind{.name = "resourcequotas", .path = "/api/v1/resourcequotas"},
             WatchSinks{.replace = [this](const auto& items) { Replace(items); },
                        .upsert = [this](const auto& object) { Put(object); },
                        .remove = [this](const auto& object) { Remove(object); },
                        .observe =
                            [&metrics](const WatchStatus& status) {
                              metrics.SetWatch("resourcequotas", status.is_watching);
                            }},
             std::mt19937_64(std::random_device()()), settings) {}

void ResourceQuotas::Replace(const std::vector<json>& items) {
  quotas_.clear();
  for (const json& item : items) {
    auto quota = ParseResourceQuota(item, policy_.resources);
    if (!quota) continue;
    Name name(quota->name_space, quota->name);
    quotas_.insert_or_assign(std::move(name), *std::move(quota));
  }
  Publish();
}

void ResourceQuotas::Put(const json& object) {
  auto quota = ParseResourceQuota(object, policy_.resources);
  if (!quota) return Remove(object);
  ResourceQuota& known = quotas_[{quota->name_space, quota->name}];
  if (known == *quota) return;
  known = *std::move(quota);
  Publish();
}

void ResourceQuotas::Remove(const json& object) {
  const json& metadata = MemberOf(object, "metadata");
  if (quotas_.erase({TextOf(metadata, "namespace"), TextOf(metadata, "name")}) > 0) Publish();
}

void ResourceQuotas::Publish() {
  auto list = std::make_shared<std::vector<ResourceQuota>>();
  list->reserve(quotas_.size());
  for (const auto& [name, quota] : quotas_) list->push_back(quota);
  store_.Update([&](scheduler::Snapshot& next) { next.SetResourceQuotas(std::move(list)); });
}

}  // namespace offcut::api
