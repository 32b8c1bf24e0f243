#include "api/explain_text.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/device_record_json.h"
#include "api/gpu_json.h"
#include "api/gpu_picture.h"
#include "api/hold_text.h"
#include "api/node_rules_json.h"
#include "api/number_text.h"
#include "api/printable.h"
#include "api/tenant_json.h"
#include "api/tenant_text.h"
#include "scheduler/packing.h"

namespace offcut::api {
namespace {

using nlohmann::json;
using scheduler::Explanation;
using scheduler::NodeExplanation;
using scheduler::PodPhase;

// The texts of the items, with a separator between them.
template <typename Items, typename ToText>
std::string Joined(const Items& items, ToText to_text, std::string_view separator = ", ") {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += separator;
    text += to_text(item);
  }
  return text;
}

// Texts, equal ones that follow each other as one: "2 x 1g.5gb".
template <typename Items, typename ToText>
std::string Counted(const Items& items, ToText to_text) {
  std::vector<std::pair<std::string, int>> counts;
  for (const auto& item : items) {
    std::string text = to_text(item);
    if (!counts.empty() && counts.back().first == text) {
      ++counts.back().second;
    } else {
      counts.emplace_back(std::move(text), 1);
    }
  }
  return Joined(counts, [](const auto& entry) {
    return entry.second == 1 ? entry.first : fmt::format("{} x {}", entry.second, entry.first);
  });
}

// "GPU 3"; by its UUID where the index is not known.
std::string GpuText(const scheduler::RecordedDevice& device) {
  return device.gpu < 0 ? Printable(device.uuid) : fmt::format("GPU {}", device.gpu);
}

std::string DeviceText(const scheduler::RecordedDevice& device) {
  switch (device.kind) {
    case binpack::PieceKind::kWhole:
      return GpuText(device);
    case binpack::PieceKind::kSlot:
      return "a slot of " + GpuText(device);
    case binpack::PieceKind::kInstance:
      return device.start < 0 ? Printable(device.profile)
                              : fmt::format("{} at slice {} of {}", Printable(device.profile),
                                            device.start, GpuText(device));
    case binpack::PieceKind::kFraction:
      return fmt::format("{} MiB and {} % of {}", device.memory_mib, device.cores_percent,
                         GpuText(device));
  }
  return {};
}

std::string FractionText(const binpack::Fraction& fraction) {
  std::string text = NumberOf(fraction.gpus, "GPU") + " of";
  if (fraction.memory_mib > 0) {
    text += fmt::format(" {} MiB", fraction.memory_mib);
  } else if (fraction.memory_percent > 0) {
    text += fmt::format(" {} % of the memory", fraction.memory_percent);
  } else {
    text += " all memory";
  }
  if (fraction.cores_percent > 0) {
    text += fmt::format(", {} % of the cores", fraction.cores_percent);
  }
  return text;
}

std::string TermsText(const NodeExplanation& node) {
  return Joined(
      node.cost.terms,
      [](const binpack::CostTerm& term) { return fmt::format("{} {}", term.name, term.value); },
      " + ");
}

// The chosen node, then those that fit by cost, then the refused ones; by name among equals.
std::vector<const NodeExplanation*> InOrder(const Explanation& explanation) {
  std::vector<const NodeExplanation*> nodes;
  nodes.reserve(explanation.nodes.size());
  for (const NodeExplanation& node : explanation.nodes) nodes.push_back(&node);
  const auto key = [&](const NodeExplanation* node) {
    return std::tuple(node->node->name() != explanation.node_name, !node->verdict.fits(),
                      node->cost.cost, std::string_view(node->node->name()));
  };
  std::ranges::sort(nodes, [&](const auto* a, const auto* b) { return key(a) < key(b); });
  return nodes;
}

const NodeExplanation* ChosenOf(const Explanation& explanation) {
  const auto found = std::ranges::find_if(explanation.nodes, [&](const NodeExplanation& node) {
    return node.node->name() == explanation.node_name;
  });
  return found == explanation.nodes.end() ? nullptr : &*found;
}

// What the pod and the node say that keeps them apart, which kube-scheduler decides on; empty:
// nothing that can be read.
std::string KeptAwayBy(const scheduler::Node& node, const scheduler::Pod& pod) {
  const scheduler::NodeMarks& marks = *node.inventory.marks;
  if (pod.node_rules.is_unreadable || marks.is_unreadable) return {};
  if (!scheduler::Chooses(pod.node_rules, node.name(), marks)) return "its selector or affinity";
  const scheduler::Taint* const taint = scheduler::FindUntolerated(marks, pod.node_rules);
  return taint == nullptr ? std::string() : "taint " + Printable(TaintText(*taint));
}

// What stands between this answer and kube-scheduler's.
std::string CaveatOf(const scheduler::Pod& pod) {
  std::string text =
      pod.selects_nodes
          ? "The pod selects nodes itself (nodeSelector or affinity), which decides nothing here; "
            "nor do taints and volumes: kube-scheduler decides on them.\n"
          : "(decides nothing here, since kube-scheduler decides on it: taints and volumes)\n";
  if (!pod.unscheduled_message.empty()) {
    text += fmt::format("kube-scheduler said last: {}\n", Printable(pod.unscheduled_message));
  }
  return text;
}

// "quota: team-a uses 8 of 8 GPUs ... (3 nodes)"
std::string QuotaOf(const Explanation& explanation) {
  return Joined(
      explanation.quota,
      [&](const scheduler::QuotaRefusalCount& each) {
        return fmt::format("quota: {} ({})\n", RefusalText(explanation.tenant, each.refusal),
                           NumberOf(each.nodes, "node"));
      },
      "");
}

// What is kept for the pod, and whose is what the nodes of the table keep from it.
std::string HeldOf(const Explanation& explanation, std::size_t nodes_max) {
  std::string text;
  if (explanation.held) text = fmt::format("held for it: {}\n", HeldText(*explanation.held));
  for (const NodeExplanation& node : explanation.nodes) {
    for (const scheduler::HeldPlace& place : node.held) {
      if (nodes_max-- == 0) return text;
      text += fmt::format("held for {}/{}: {}\n", Printable(place.owner->name_space),
                          Printable(place.owner->name), HeldText(place));
    }
  }
  return text;
}

std::string TableOf(const Explanation& explanation, std::size_t nodes_max) {
  const auto nodes = InOrder(explanation);
  std::size_t width = 4;
  for (const NodeExplanation* node : nodes) {
    width = std::max(width, Printable(node->node->name()).size());
  }
  std::string table = fmt::format("\n{:{}}  {:>5}  {:>6}  {}\n", "node", width, "score", "cost",
                                  "terms, or why not");
  for (const NodeExplanation* node : nodes) {
    if (nodes_max-- == 0) break;
    const std::string name = Printable(node->node->name());
    if (node->verdict.fits()) {
      table += fmt::format("{:{}}  {:>5}  {:>6}  {}", name, width, node->score, node->cost.cost,
                           TermsText(*node));
    } else {
      const auto& info = scheduler::InfoOf(node->verdict.reason);
      table +=
          fmt::format("{:{}}  {:>5}  {:>6}  {} ({})", name, width, "-", "-", info.text, info.code);
    }
    const std::string kept_away_by = KeptAwayBy(*node->node, explanation.pod);
    if (!kept_away_by.empty()) table += "; kube-scheduler: kept away by " + kept_away_by;
    table += '\n';
  }
  return table;
}

// Why the chosen node may not be the one of the least cost.
std::string WholeNodesOf(const Explanation& explanation) {
  if (explanation.opening_cost == 0) return {};
  const binpack::WholeNodePrice& price = explanation.packing->whole_nodes;
  const std::int64_t free = explanation.free_whole_nodes;
  return fmt::format(
      "\n{} of a whole node ({}) {} expected, and {} such {} entirely free. While they are so "
      "few,\n"
      "- to take a part of one costs {} more (whole_node);\n"
      "- costs are rounded up to multiples of {} before they are compared, and of equal ones the "
      "node\n"
      "  with the fewest free GPUs is chosen: small pods fill nodes that are in use already.\n",
      NumberOf(price.expected, "job"), NumberOf(price.gpus, "GPU"),
      price.expected == 1 ? "is" : "are", free, free == 1 ? "node is" : "nodes are",
      explanation.opening_cost, scheduler::kCoarseStep);
}

// The GPUs of the first nodes of the table, as they are before the pod comes; where it fits
// somewhere, of those alone where it does.
std::string PictureOf(const Explanation& explanation, std::size_t pictures_max) {
  const bool fits_somewhere = ChosenOf(explanation) != nullptr;
  std::vector<std::shared_ptr<const scheduler::Node>> nodes;
  for (const NodeExplanation* node : InOrder(explanation)) {
    if (nodes.size() < pictures_max && node->verdict.fits() == fits_somewhere) {
      nodes.push_back(node->node);
    }
  }
  return nodes.empty() ? "" : "\n" + DrawGpus(nodes);
}

json NodeJson(const NodeExplanation& node, const scheduler::Pod& pod) {
  const auto& info = scheduler::InfoOf(node.verdict.reason);
  json object = ToJson(*node.node);
  object.erase("holders");
  object["fits"] = node.verdict.fits();
  object["score"] = node.score;
  const std::string kept_away_by = KeptAwayBy(*node.node, pod);
  if (!kept_away_by.empty()) object["keptAwayBy"] = kept_away_by;
  if (!node.verdict.fits()) {
    object["reason"] = info.code;
    object["text"] = info.text;
    for (const scheduler::HeldPlace& place : node.held) object["heldFor"].push_back(ToJson(place));
    return object;
  }
  object["cost"] = node.cost.cost;
  object["fillLevelPermille"] = node.cost.fill_level_permille;
  object["terms"] = json::object();
  for (const auto& term : node.cost.terms) object["terms"][std::string(term.name)] = term.value;
  const auto record = scheduler::RecordOf(node.node->inventory, pod, node.cost.placement,
                                          scheduler::ChargeOn(*node.node, node.cost.placement));
  object["record"] = json::parse(PrintDeviceRecord(record));
  return object;
}

}  // namespace

std::string DevicesText(const scheduler::DeviceRecord& record) {
  std::string text = Counted(record.devices, DeviceText);
  if (!text.empty() && record.certainty == scheduler::Certainty::kAssumed) {
    text += " (assumed: the kubelet picks)";
  } else if (!text.empty() && record.certainty == scheduler::Certainty::kObserved) {
    text += " (as the kubelet reports)";
  }
  return text;
}

std::string AsksOf(const scheduler::Pod& pod) {
  std::string text = Joined(
      pod.request.devices,
      [](const scheduler::ResourceCount& asked) {
        return fmt::format("{} x {}", asked.count, Printable(asked.resource));
      },
      " + ");
  if (!text.empty() && !pod.request.fractions.empty()) text += " + ";
  text += Joined(pod.request.fractions, FractionText, " + ");
  return text.empty() ? "no GPU" : text;
}

std::string PrintRefusals(const std::vector<scheduler::ReasonCount>& refusals) {
  return Joined(refusals, [](const scheduler::ReasonCount& refusal) {
    return fmt::format("{} {}", refusal.nodes, scheduler::InfoOf(refusal.reason).text);
  });
}

std::string PrintExplanation(const Explanation& explanation, const ExplanationLimits& limits) {
  const scheduler::Pod& pod = explanation.pod;
  const std::string of_tenant =
      explanation.tenant.empty() ? "" : " of tenant " + Printable(explanation.tenant);
  std::string text =
      fmt::format("pod {}/{}{} asks for {}; priority {}\n", Printable(pod.name_space),
                  Printable(pod.name), of_tenant, AsksOf(pod), pod.priority);
  if (explanation.phase != PodPhase::kPending) {
    text += fmt::format("{} on {}\n", NameOf(explanation.phase), Printable(explanation.node_name));
    const std::string held = explanation.record ? DevicesText(*explanation.record) : "";
    if (!held.empty()) {
      text += "holds " + held + "\n";
    } else {
      text += pod.request.empty()
                  ? "holds no GPU\n"
                  : "holds no device that the node offers now: it was made again, or "
                    "its devices were laid out anew\n";
    }
    if (explanation.is_drifted)
      text += "drifted: the kubelet chose other GPUs than are on record\n";
    return text;
  }
  if (pod.request.empty())
    return text +
           "no resource of ours (their names stand in the policy, and are matched exactly), so "
           "kube-scheduler does not ask Offcut\n";
  const auto fitting = std::ranges::count_if(
      explanation.nodes, [](const NodeExplanation& node) { return node.verdict.fits(); });
  if (const NodeExplanation* chosen = ChosenOf(explanation); chosen != nullptr) {
    const auto record =
        scheduler::RecordOf(chosen->node->inventory, pod, chosen->cost.placement,
                            scheduler::ChargeOn(*chosen->node, chosen->cost.placement));
    text +=
        fmt::format("it fits on {} of {}; would go to {}", fitting,
                    NumberOf(explanation.nodes.size(), "node"), Printable(explanation.node_name));
    text += record.devices.empty() ? "\n" : fmt::format(" and get {}\n", DevicesText(record));
  } else {
    text += fmt::format("fits nowhere. 0/{} nodes are available: {}.\n", explanation.nodes.size(),
                        PrintRefusals(explanation.refusals));
  }
  text += QuotaOf(explanation);
  text += HeldOf(explanation, limits.nodes_max);
  if (pod.has_quota_gate) text += "waits behind the gate offcut.dev/quota until its turn comes\n";
  text += CaveatOf(pod);
  text += TableOf(explanation, limits.nodes_max);
  if (explanation.nodes.size() > limits.nodes_max) {
    text += fmt::format("... and {} more\n", explanation.nodes.size() - limits.nodes_max);
  }
  if (fitting > 0) text += WholeNodesOf(explanation);
  return text + PictureOf(explanation, limits.pictures_max);
}

json ToJson(const Explanation& explanation) {
  const scheduler::Pod& pod = explanation.pod;
  json object = {{"pod", pod.name},
                 {"namespace", pod.name_space},
                 {"uid", pod.uid},
                 {"tenant", explanation.tenant},
                 {"phase", NameOf(explanation.phase)},
                 {"priority", pod.priority},
                 {"asks", AsksOf(pod)},
                 {"node", explanation.node_name},
                 {"selectsNodes", pod.selects_nodes},
                 {"drifted", explanation.is_drifted},
                 {"strategy", explanation.packing->strategy->name},
                 {"nodes", json::array()},
                 {"refusals", json::array()},
                 {"quota", json::array()}};
  const std::string workload = scheduler::WorkloadText(*explanation.packing);
  if (!workload.empty()) object["targetWorkload"] = workload;
  if (!pod.unscheduled_message.empty()) object["unscheduledMessage"] = pod.unscheduled_message;
  if (explanation.record) object["record"] = json::parse(PrintDeviceRecord(*explanation.record));
  if (explanation.held) object["held"] = ToJson(*explanation.held);
  if (explanation.opening_cost > 0) {
    const binpack::WholeNodePrice& price = explanation.packing->whole_nodes;
    object["wholeNodes"] = {{"gpus", price.gpus},
                            {"expected", price.expected},
                            {"free", explanation.free_whole_nodes},
                            {"openingCost", explanation.opening_cost},
                            {"costStep", scheduler::kCoarseStep}};
  }
  for (const NodeExplanation& node : explanation.nodes)
    object["nodes"].push_back(NodeJson(node, pod));
  for (const auto& refusal : explanation.refusals) {
    const auto& info = scheduler::InfoOf(refusal.reason);
    object["refusals"].push_back(
        {{"reason", info.code}, {"text", info.text}, {"nodes", refusal.nodes}});
  }
  for (const auto& [refusal, nodes] : explanation.quota) {
    json printed = ToJson(refusal);
    printed["nodes"] = nodes;
    printed["text"] = RefusalText(explanation.tenant, refusal);
    object["quota"].push_back(std::move(printed));
  }
  return object;
}

}  // namespace offcut::api
