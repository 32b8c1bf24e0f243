#include "api/pod_membership.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "api/text_fields.h"

namespace offcut::api {
namespace {

constexpr std::size_t kGatesMax = 4096;
constexpr std::size_t kOwnersMax = 4096;
constexpr std::size_t kGroupNameBytesMax = 253;  // a DNS subdomain
constexpr std::size_t kOwnerUidBytesMax = 128;

}  // namespace

void ReadTenantLabel(const JsonObject& root, scheduler::Pod& pod) {
  const std::string_view tenant =
      root.Object("metadata").Object("labels").Entry(kTenantLabel).value_or("");
  pod.tenant_label = std::string(tenant.substr(0, kLabelBytesMax));
}

void ReadLabels(const JsonObject& root, scheduler::Pod& pod) {
  if (pod.node_name.empty()) return;
  root.Object("metadata")
      .Object("labels")
      .ForEachEntry([&](std::string_view key, const JsonElement& value, const JsonPath&) {
        std::string_view text;
        const bool is_text = value.get(text) == simdjson::SUCCESS;
        if (!is_text || key.size() > kLabelKeyBytesMax || text.size() > kLabelBytesMax) return;
        if (pod.labels.size() < kLabelsMax) pod.labels.emplace_back(key, text);
      });
}

void ReadGang(const JsonObject& root, scheduler::Pod& pod) {
  const JsonObject metadata = root.Object("metadata");
  const JsonObject annotations = metadata.Object("annotations");
  pod.gang =
      root.Object("spec").Object("schedulingGroup").String("podGroupName", kGroupNameBytesMax);
  if (pod.gang.empty()) pod.gang = metadata.Object("labels").Entry(kPodGroupLabel).value_or("");
  if (pod.gang.empty()) pod.gang = annotations.Entry(kGangAnnotation).value_or("");
  const std::string_view count = annotations.Entry(kGangMinCountAnnotation).value_or("");
  if (count.empty()) return;
  pod.gang_min_count = ParseField(count, kGangMinCountMax).value_or(0);
  if (pod.gang_min_count > 0) return;
  annotations.AddError(kGangMinCountAnnotation, "must be a number from 1 to 10000");
}

void ReadKueue(const JsonObject& root, scheduler::Pod& pod) {
  const JsonObject metadata = root.Object("metadata");
  pod.kueue_queue = metadata.Object("labels").Entry(kKueueQueueLabel).value_or("");
  pod.kueue_workload = metadata.Object("annotations").Entry(kKueueWorkloadAnnotation).value_or("");
  metadata.ForEach("ownerReferences", kOwnersMax, [&](const JsonObject& owner) {
    if (owner.Bool("controller")) pod.owner_uid = owner.String("uid", kOwnerUidBytesMax);
  });
}

void ReadGates(const JsonObject& root, scheduler::Pod& pod) {
  root.Object("spec").ForEach("schedulingGates", kGatesMax, [&](const JsonObject& gate) {
    (gate.String("name") == kQuotaGate ? pod.has_quota_gate : pod.has_other_gates) = true;
  });
}

}  // namespace offcut::api
