#include "api/state_routes.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/device_record_json.h"
#include "api/explain_text.h"
#include "api/gpu_json.h"
#include "api/gpu_picture.h"
#include "api/http_answer.h"
#include "api/policy_workload.h"
#include "api/tenant_json.h"
#include "api/tenant_text.h"
#include "binpack/node_state.h"
#include "binpack/strategy.h"
#include "scheduler/packing.h"
#include "scheduler/tenant_report.h"

namespace offcut::api {
namespace {

using nlohmann::json;
using scheduler::Holder;
using scheduler::Node;
using scheduler::PodEntry;
using scheduler::Snapshot;

constexpr std::string_view kPods = "/api/v1/pods";
constexpr std::string_view kTenants = "/api/v1/tenants";
constexpr std::string_view kExplain = "/api/v1/explain/";

HttpResponse DocumentAnswer(const json& document) {
  return JsonAnswer(document.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string_view NameOf(scheduler::OfferKind kind) {
  switch (kind) {
    case scheduler::OfferKind::kWholeGpus:
      return "whole";
    case scheduler::OfferKind::kSlots:
      return "slot";
    case scheduler::OfferKind::kInstances:
    case scheduler::OfferKind::kPlacedInstances:
      return "mig";
    case scheduler::OfferKind::kFullShares:
      return "fraction";
  }
  assert(false);
  return "";
}

json PrintNode(const Node& node) {
  json printed = ToJson(node);
  printed["servesFractions"] = node.inventory.serves_fractions;
  printed["gpuUnits"] = {{"used", UsedUnits(node.state)}, {"total", TotalUnits(node.state)}};
  printed["offers"] = json::array();
  for (const scheduler::Offer& offer : node.inventory.offers) {
    printed["offers"].push_back({{"resource", offer.resource}, {"kind", NameOf(offer.kind)}});
  }
  return printed;
}

// The pods that hold a part of that GPU, or of that pool.
json PrintHolders(const Node& node, int gpu, int pool) {
  json holders = json::array();
  for (const Holder& holder : node.holders) {
    const auto pieces = std::ranges::count_if(
        holder.placement.pieces,
        [&](const binpack::Piece& piece) { return piece.gpu == gpu && piece.pool == pool; });
    if (pieces == 0) continue;
    holders.push_back({{"namespace", holder.pod->name_space},
                       {"name", holder.pod->name},
                       {"uid", holder.pod->uid},
                       {"pieces", pieces},
                       {"recorded", holder.follows_record}});
  }
  return holders;
}

json PrintGpu(const Node& node, std::size_t index) {
  const binpack::Gpu& gpu = node.state.gpus[index];
  json printed = ToJson(gpu, static_cast<int>(index));
  printed["node"] = node.name();
  printed["gpuUnits"] = {{"used", UsedUnits(gpu)}, {"total", binpack::kGpuUnits}};
  printed["holders"] = PrintHolders(node, static_cast<int>(index), -1);
  return printed;
}

json PrintPool(const Node& node, std::size_t index) {
  json printed = ToJson(node.state.pools[index]);
  printed["node"] = node.name();
  printed["mode"] = "mig";
  printed["pool"] = index;
  printed["holders"] = PrintHolders(node, -1, static_cast<int>(index));
  return printed;
}

const Holder* FindHolder(const Snapshot& snapshot, const PodEntry& entry) {
  const Node* node = snapshot.FindNode(entry.node_name);
  if (node == nullptr) return nullptr;
  const auto found = std::ranges::find_if(
      node->holders, [&](const Holder& holder) { return holder.pod->uid == entry.pod->uid; });
  return found == node->holders.end() ? nullptr : &*found;
}

json PrintRequest(const scheduler::DeviceRequest& request) {
  json devices = json::object();
  for (const auto& [resource, count] : request.devices) devices[resource] = count;
  json fractions = json::array();
  for (const binpack::Fraction& fraction : request.fractions) {
    fractions.push_back({{"gpus", fraction.gpus},
                         {"memoryMiB", fraction.memory_mib},
                         {"memoryPercent", fraction.memory_percent},
                         {"coresPercent", fraction.cores_percent}});
  }
  return {{"devices", std::move(devices)}, {"fractions", std::move(fractions)}};
}

json PrintPod(const Snapshot& snapshot, const PodEntry& entry) {
  const scheduler::Pod& pod = *entry.pod;
  json printed = {
      {"namespace", pod.name_space},
      {"name", pod.name},
      {"uid", pod.uid},
      {"phase", scheduler::NameOf(entry.phase)},
      {"node", entry.node_name},
      {"nominatedNode", pod.nominated_node_name},
      {"priority", pod.priority},
      {"createdSeconds", pod.created_s},
      {"request", PrintRequest(pod.request)},
  };
  if (const Holder* holder = FindHolder(snapshot, entry); holder != nullptr) {
    printed["withoutRoom"] = holder->is_unplaced;
    if (holder->record) {
      printed["record"] = json::parse(PrintDeviceRecord(*holder->record), nullptr, false);
    }
  }
  return printed;
}

// The entries that `wanted` accepts, by namespace, name and UID.
template <typename Wanted>
std::vector<const PodEntry*> SortedPods(const Snapshot& snapshot, Wanted wanted) {
  std::vector<const PodEntry*> entries;
  snapshot.ForEachPod([&](const PodEntry& entry) {
    if (wanted(entry)) entries.push_back(&entry);
  });
  std::ranges::sort(entries, {}, [](const PodEntry* entry) {
    const scheduler::Pod& pod = *entry->pod;
    return std::tuple<std::string_view, std::string_view, std::string_view>(pod.name_space,
                                                                            pod.name, pod.uid);
  });
  return entries;
}

HttpResponse AnswerPods(const Snapshot& snapshot, std::string_view path) {
  // "", "/NAMESPACE" or "/NAMESPACE/NAME"
  const std::string_view name_space = path.empty() ? "" : path.substr(1, path.find('/', 1) - 1);
  const std::string_view rest = path.empty() ? "" : path.substr(1 + name_space.size());
  const std::string_view name = rest.empty() ? "" : rest.substr(1);
  if (name.find('/') != std::string_view::npos) return ErrorAnswer(404, "no such path");
  const auto entries = SortedPods(snapshot, [&](const PodEntry& entry) {
    return (name_space.empty() || entry.pod->name_space == name_space) &&
           (name.empty() || entry.pod->name == name);
  });
  if (name.empty()) {
    json items = json::array();
    for (const PodEntry* entry : entries) items.push_back(PrintPod(snapshot, *entry));
    return DocumentAnswer({{"items", std::move(items)}});
  }
  const PodEntry* entry = scheduler::FindPodByName(snapshot, name_space, name);
  if (entry == nullptr) return ErrorAnswer(404, "pod is not known to offcut");
  return DocumentAnswer(PrintPod(snapshot, *entry));
}

HttpResponse AnswerPending(const Snapshot& snapshot) {
  auto entries = SortedPods(snapshot, [](const PodEntry& entry) {
    return entry.phase == scheduler::PodPhase::kPending && !entry.pod->request.empty();
  });
  std::ranges::stable_sort(entries, {}, [](const PodEntry* e) { return e->pod->created_s; });
  json items = json::array();
  for (const PodEntry* entry : entries) items.push_back(PrintPod(snapshot, *entry));
  return DocumentAnswer({{"items", std::move(items)}});
}

HttpResponse AnswerNodes(const Snapshot& snapshot) {
  json items = json::array();
  for (const auto& node : snapshot.nodes()) items.push_back(PrintNode(*node));
  return DocumentAnswer({{"items", std::move(items)}});
}

HttpResponse AnswerGpus(const Snapshot& snapshot) {
  json items = json::array();
  for (const auto& node : snapshot.nodes()) {
    for (std::size_t i = 0; i < node->state.gpus.size(); ++i) items.push_back(PrintGpu(*node, i));
    for (std::size_t i = 0; i < node->state.pools.size(); ++i) items.push_back(PrintPool(*node, i));
  }
  return DocumentAnswer({{"items", std::move(items)}});
}

HttpResponse AnswerPacking(const Snapshot& snapshot, const scheduler::Policy& policy) {
  const auto packing = scheduler::PackingOf(snapshot, policy);
  json printed = {{"strategy", packing->strategy->name}};
  if (packing->strategy->reads_workload) {
    printed["targetWorkload"] = {{"hash", scheduler::WorkloadText(*packing)},
                                 {"source", policy.target_workload ? "declared" : "derived"},
                                 {"classes", ToJson(packing->workload)}};
  }
  return DocumentAnswer(printed);
}

const scheduler::Tenancy* TenancyOf(const Snapshot& snapshot) {
  return snapshot.accounts() == nullptr ? nullptr : &snapshot.accounts()->tenancy();
}

// "" or "/NAME"
HttpResponse AnswerTenants(const Snapshot& snapshot, const scheduler::Policy& policy,
                           std::string_view path, bool as_text) {
  const scheduler::Tenancy* tenancy = TenancyOf(snapshot);
  if (path.empty()) {
    const auto reports = scheduler::ReportTenants(snapshot, policy);
    return as_text ? TextAnswer(200, PrintTenants(reports, tenancy))
                   : DocumentAnswer(ToJson(reports, tenancy, snapshot.resource_quotas()));
  }
  const int tenant =
      tenancy == nullptr ? scheduler::kNoTenant : quota::FindTenant(*tenancy->tree, path.substr(1));
  if (tenant == scheduler::kNoTenant) return ErrorAnswer(404, "tenant is not known to offcut");
  const auto report = scheduler::ReportTenants(snapshot, policy, tenant).front();
  return as_text ? TextAnswer(200, PrintTenant(report, *tenancy))
                 : DocumentAnswer(ToJson(report, *tenancy, snapshot.resource_quotas()));
}

// "NAMESPACE/NAME"
HttpResponse AnswerExplain(const Snapshot& snapshot, const scheduler::Policy& policy,
                           std::string_view pod, bool as_text) {
  const auto slash = pod.find('/');
  const PodEntry* entry =
      slash == std::string_view::npos
          ? nullptr
          : scheduler::FindPodByName(snapshot, pod.substr(0, slash), pod.substr(slash + 1));
  if (entry == nullptr) return ErrorAnswer(404, "pod is not known to offcut");
  const auto explanation = scheduler::Explain(snapshot, entry->pod->uid, policy);
  return as_text ? TextAnswer(200, PrintExplanation(explanation))
                 : DocumentAnswer(ToJson(explanation));
}

// What the path names, or nullopt where nothing of ours has that path.
std::optional<HttpResponse> Answer(const Snapshot& snapshot, const scheduler::Policy& policy,
                                   std::string_view path, bool as_text) {
  if (path == "/api/v1/nodes") return AnswerNodes(snapshot);
  if (path == "/api/v1/gpus") {
    return as_text ? TextAnswer(200, DrawGpus(snapshot)) : AnswerGpus(snapshot);
  }
  if (path == "/api/v1/pending") return AnswerPending(snapshot);
  if (path == "/api/v1/packing") return AnswerPacking(snapshot, policy);
  if (path.starts_with(kExplain)) {
    return AnswerExplain(snapshot, policy, path.substr(kExplain.size()), as_text);
  }
  if (path == kTenants || (path.starts_with(kTenants) && path[kTenants.size()] == '/')) {
    return AnswerTenants(snapshot, policy, path.substr(kTenants.size()), as_text);
  }
  if (path == kPods || (path.starts_with(kPods) && path[kPods.size()] == '/')) {
    return AnswerPods(snapshot, path.substr(kPods.size()));
  }
  return std::nullopt;
}

}  // namespace

HttpResponse AnswerState(const Snapshot& snapshot, const scheduler::Policy& policy,
                         const HttpRequest& request) {
  const bool as_text = QueryValue(request.target, "output") == "text";
  auto answer = Answer(snapshot, policy, PathOf(request.target), as_text);
  if (!answer) return ErrorAnswer(404, "no such path");
  if (!IsRead(request)) return MethodNotAllowed(kReadMethods);
  return *std::move(answer);
}

}  // namespace offcut::api
