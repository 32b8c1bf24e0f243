#include "api/explain_command.h"

#include <algorithm>
#include <expected>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include "api/closest_word.h"
#include "api/error.h"
#include "api/gpu_json.h"
#include "api/number_text.h"
#include "api/printable.h"
#include "api/state_files.h"
#include "api/tenant_json.h"
#include "api/tenant_text.h"
#include "scheduler/packing.h"
#include "scheduler/tenant_report.h"

namespace offcut::api {
namespace {

using scheduler::PodEntry;
using scheduler::Snapshot;

struct FileState {
  scheduler::Policy policy;
  Snapshot snapshot;
  std::vector<std::string> lines;  // what was said of the files
};

std::optional<FileState> Load(const std::vector<std::string>& snapshot_files,
                              const std::string& policy_file, std::ostream& err) {
  auto policy = LoadPolicy(policy_file);
  if (!policy) {
    fmt::print(err, "offcut: {}\n", PrintableLines(policy.error().message));
    return std::nullopt;
  }
  std::vector<std::string> lines;
  auto snapshot = LoadSnapshot(snapshot_files, *policy, [&](std::string_view line) {
    fmt::print(err, "offcut: {}\n", line);
    lines.emplace_back(line);
  });
  if (!snapshot) {
    fmt::print(err, "offcut: {}\n", PrintableLines(snapshot.error().message));
    return std::nullopt;
  }
  snapshot->SetPacking(scheduler::RenewedPacking(*snapshot, *policy));
  return FileState{*std::move(policy), *std::move(snapshot), std::move(lines)};
}

// "no pod a/b in the snapshot (did you mean "a/c"?)"
std::string NoSuchPod(const FileState& state, const std::string& wanted) {
  const bool was_left_out = std::ranges::any_of(state.lines, [&](const std::string& line) {
    return line.find(fmt::format(" Pod {} left out: ", wanted)) != std::string::npos;
  });
  if (was_left_out) return fmt::format("pod {} could not be read: see above", wanted);
  const Snapshot& snapshot = state.snapshot;
  std::vector<std::string> names;
  names.reserve(snapshot.pod_count());
  snapshot.ForEachPod([&](const PodEntry& entry) {
    names.push_back(entry.pod->name_space + "/" + entry.pod->name);
  });
  std::ranges::sort(names);
  const std::vector<std::string_view> words(names.begin(), names.end());
  // The same name elsewhere is meant sooner than another name here.
  const std::string suffix = wanted.substr(wanted.find('/'));
  const auto elsewhere =
      std::ranges::find_if(words, [&](std::string_view word) { return word.ends_with(suffix); });
  const std::string_view closest =
      elsewhere != words.end() ? *elsewhere : ClosestWord(wanted, words);
  std::string text = fmt::format("no pod {} in the snapshot", wanted);
  if (!closest.empty()) return text + fmt::format(" (did you mean \"{}\"?)", closest);
  // A finished pod is read and left out, and so is one that could not be read.
  return text + fmt::format("; it has {}", NumberOf(words.size(), "unfinished pod"));
}

using Nodes = std::vector<std::shared_ptr<const scheduler::Node>>;

// The nodes of those names, in the order of the snapshot; all where none is named.
std::expected<Nodes, Error> NodesOf(const Snapshot& snapshot,
                                    const std::vector<std::string>& names) {
  const auto all = snapshot.nodes();
  if (names.empty()) return Nodes(all.begin(), all.end());
  std::vector<std::string_view> known;
  for (const auto& node : all) known.push_back(node->name());
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::string_view closest = ClosestWord(name, known);
    std::string text = fmt::format("no node {} in the snapshot", name);
    if (!closest.empty()) text += fmt::format(" (did you mean \"{}\"?)", closest);
    return std::unexpected(Error{ErrorKind::kNotFound, std::move(text)});
  }
  Nodes nodes;
  std::ranges::copy_if(all, std::back_inserter(nodes), [&](const auto& node) {
    return std::ranges::find(names, node->name()) != names.end();
  });
  return nodes;
}

// "no tenant red in the policy (did you mean "rad"?)"
std::string NoSuchTenant(const scheduler::Tenancy* tenancy, const std::string& wanted) {
  if (tenancy == nullptr) return fmt::format("no tenant {}: the policy names none", wanted);
  std::vector<std::string_view> known;
  for (const auto& [name, tenant] : tenancy->tree->by_name) known.push_back(name);
  const std::string_view closest = ClosestWord(wanted, known);
  std::string text = fmt::format("no tenant {} in the policy", wanted);
  if (!closest.empty()) text += fmt::format(" (did you mean \"{}\"?)", closest);
  return text;
}

}  // namespace

int ExplainPod(const ExplainSettings& settings, std::ostream& out, std::ostream& err) {
  const auto state = Load(settings.snapshot_files, settings.policy_file, err);
  if (!state) return 1;
  const auto slash = settings.pod.find('/');
  const bool has_namespace = slash != std::string::npos;
  const std::string name_space = has_namespace ? settings.pod.substr(0, slash) : "default";
  const std::string name = has_namespace ? settings.pod.substr(slash + 1) : settings.pod;
  const PodEntry* entry = scheduler::FindPodByName(state->snapshot, name_space, name);
  if (entry == nullptr) {
    fmt::print(err, "offcut: {}\n", Printable(NoSuchPod(*state, name_space + "/" + name)));
    return 1;
  }
  const auto explanation = scheduler::Explain(state->snapshot, entry->pod->uid, state->policy);
  if (settings.output == "json") {
    fmt::print(out, "{}\n", ToJson(explanation).dump(2));
  } else {
    fmt::print(out, "{}", PrintExplanation(explanation, settings.limits));
  }
  return 0;
}

int ShowGpus(const GpusSettings& settings, std::ostream& out, std::ostream& err) {
  const auto state = Load(settings.snapshot_files, settings.policy_file, err);
  if (!state) return 1;
  const auto nodes = NodesOf(state->snapshot, settings.nodes);
  if (!nodes) {
    fmt::print(err, "offcut: {}\n", Printable(nodes.error().message));
    return 1;
  }
  if (settings.output == "json") {
    auto list = nlohmann::json::array();
    for (const auto& node : *nodes) list.push_back(ToJson(*node));
    fmt::print(out, "{}\n", list.dump(2));
  } else {
    out << DrawGpus(*nodes, settings.style);
  }
  return 0;
}

int ShowTenants(const TenantsSettings& settings, std::ostream& out, std::ostream& err) {
  const auto state = Load(settings.snapshot_files, settings.policy_file, err);
  if (!state) return 1;
  const scheduler::Tenancy* tenancy = state->policy.tenancy.get();
  const bool as_json = settings.output == "json";
  if (settings.tenant.empty()) {
    const auto reports = scheduler::ReportTenants(state->snapshot, state->policy);
    out << (as_json ? ToJson(reports, tenancy).dump(2) + "\n" : PrintTenants(reports, tenancy));
    return 0;
  }
  const int tenant = tenancy == nullptr ? scheduler::kNoTenant
                                        : quota::FindTenant(*tenancy->tree, settings.tenant);
  if (tenant == scheduler::kNoTenant) {
    fmt::print(err, "offcut: {}\n", Printable(NoSuchTenant(tenancy, settings.tenant)));
    return 1;
  }
  const auto report = scheduler::ReportTenants(state->snapshot, state->policy, tenant).front();
  out << (as_json ? ToJson(report, *tenancy).dump(2) + "\n" : PrintTenant(report, *tenancy));
  return 0;
}

}  // namespace offcut::api
