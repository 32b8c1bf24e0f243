#include "bench/played_node.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "api/quantity.h"
#include "bench/cluster_objects.h"

namespace offcut::bench {
namespace {

using api::Error;
using nlohmann::json;

std::int64_t SaturatedSum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

std::int64_t AmountOf(const ResourceAmounts& amounts, const std::string& resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? 0 : found->second;
}

void AddAmounts(ResourceAmounts& amounts, const ResourceAmounts& more) {
  for (const auto& [resource, amount] : more) {
    amounts[resource] = SaturatedSum(amounts[resource], amount);
  }
}

void RaiseAmounts(ResourceAmounts& amounts, const ResourceAmounts& floor) {
  for (const auto& [resource, amount] : floor) {
    amounts[resource] = std::max(amounts[resource], amount);
  }
}

// Puts the list's entries over those that are there.
std::expected<void, Error> ReadResourceList(const json& list, const std::string& where,
                                            ResourceAmounts& amounts) {
  if (!list.is_object()) return {};
  for (const auto& [resource, value] : list.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    const auto quantity = api::ParseQuantity(text);
    if (!quantity) {
      return std::unexpected(Error{quantity.error().kind, fmt::format("{}, {}: {}", where, resource,
                                                                      quantity.error().message)});
    }
    amounts[resource] = resource == "cpu" ? quantity->milli : quantity->value;
  }
  return {};
}

std::expected<ResourceAmounts, Error> RequestsOfContainer(const json& container,
                                                          const std::string& pod_name) {
  ResourceAmounts amounts;
  const std::string where =
      fmt::format("pod {}, container {}", pod_name, StringAt(container, {"name"}));
  for (const std::string_view list : {"limits", "requests"}) {  // requests win
    auto read = ReadResourceList(MemberAt(container, {"resources", list}), where, amounts);
    if (!read) return std::unexpected(read.error());
  }
  return amounts;
}

// At any time either one init container runs with the sidecars before it, or all app containers
// with all sidecars.
std::expected<ResourceAmounts, Error> RequestsOfContainers(const json& spec,
                                                           const std::string& pod_name) {
  ResourceAmounts sidecars;
  ResourceAmounts peak;
  for (const json& container : MemberAt(spec, {"initContainers"})) {
    const auto amounts = RequestsOfContainer(container, pod_name);
    if (!amounts) return std::unexpected(amounts.error());
    if (StringAt(container, {"restartPolicy"}) == "Always") {
      AddAmounts(sidecars, *amounts);
      RaiseAmounts(peak, sidecars);
    } else {
      ResourceAmounts beside = sidecars;
      AddAmounts(beside, *amounts);
      RaiseAmounts(peak, beside);
    }
  }
  ResourceAmounts running = std::move(sidecars);
  for (const json& container : MemberAt(spec, {"containers"})) {
    const auto amounts = RequestsOfContainer(container, pod_name);
    if (!amounts) return std::unexpected(amounts.error());
    AddAmounts(running, *amounts);
  }
  RaiseAmounts(peak, running);
  return peak;
}

bool MatchesSelector(const PlayedNode& node, const json& selector) {
  if (!selector.is_object()) return true;
  return std::ranges::all_of(selector.items(), [&](const auto& wanted) {
    const auto label = node.labels.find(wanted.key());
    return label != node.labels.end() && wanted.value() == label->second;
  });
}

}  // namespace

std::expected<PlayedNode, Error> PlayedNodeOf(const json& node) {
  PlayedNode played{.name = StringAt(node, {"metadata", "name"})};
  const json& labels = MemberAt(node, {"metadata", "labels"});
  if (labels.is_object()) {
    for (const auto& [key, value] : labels.items()) {
      if (value.is_string()) played.labels[key] = value.get<std::string>();
    }
  }
  played.is_unschedulable = MemberAt(node, {"spec", "unschedulable"}) == true;
  auto read =
      ReadResourceList(MemberAt(node, {"status", "allocatable"}),
                       fmt::format("node {}, allocatable", played.name), played.allocatable);
  if (!read) return std::unexpected(read.error());
  return played;
}

std::expected<ResourceAmounts, Error> RequestsOf(const json& pod) {
  const std::string name = StringAt(pod, {"metadata", "name"});
  auto amounts = RequestsOfContainers(MemberAt(pod, {"spec"}), name);
  if (!amounts) return amounts;
  ResourceAmounts overhead;
  auto read = ReadResourceList(MemberAt(pod, {"spec", "overhead"}),
                               fmt::format("pod {}, overhead", name), overhead);
  if (!read) return std::unexpected(read.error());
  AddAmounts(*amounts, overhead);
  (*amounts)["pods"] = 1;
  std::erase_if(*amounts, [](const auto& entry) { return entry.second == 0; });
  return amounts;
}

void Charge(PlayedNode& node, const ResourceAmounts& requests) {
  AddAmounts(node.requested, requests);
}

std::vector<std::string> InTreeRefusals(const PlayedNode& node, const json& pod,
                                        const ResourceAmounts& requests,
                                        const std::set<std::string>& ignored) {
  if (node.is_unschedulable) return {"node(s) were unschedulable"};
  if (!MatchesSelector(node, MemberAt(pod, {"spec", "nodeSelector"}))) {
    return {"node(s) didn't match Pod's node affinity/selector"};
  }
  std::vector<std::string> refusals;
  for (const auto& [resource, amount] : requests) {
    if (ignored.contains(resource)) continue;
    if (amount <= AmountOf(node.allocatable, resource) - AmountOf(node.requested, resource)) {
      continue;
    }
    refusals.push_back(resource == "pods" ? "Too many pods"
                                          : fmt::format("Insufficient {}", resource));
  }
  return refusals;
}

std::int64_t MostAllocatedScore(const PlayedNode& node, const ResourceAmounts& requests) {
  std::int64_t sum = 0;
  int resources = 0;
  for (const std::string resource : {"cpu", "memory"}) {
    const std::int64_t allocatable = AmountOf(node.allocatable, resource);
    if (allocatable <= 0) continue;
    const std::int64_t used = std::min(allocatable, SaturatedSum(AmountOf(node.requested, resource),
                                                                 AmountOf(requests, resource)));
    sum += static_cast<std::int64_t>(100.0 * static_cast<double>(used) /
                                     static_cast<double>(allocatable));
    ++resources;
  }
  return resources == 0 ? 0 : sum / resources;
}

std::string PrintFitError(std::size_t nodes, const std::map<std::string, int>& counts) {
  std::vector<std::string> texts;
  texts.reserve(counts.size());
  for (const auto& [reason, count] : counts) texts.push_back(fmt::format("{} {}", count, reason));
  std::ranges::sort(texts);  // as kube-scheduler does: by text, figures included
  return fmt::format("0/{} nodes are available: {}.", nodes, fmt::join(texts, ", "));
}

}  // namespace offcut::bench
