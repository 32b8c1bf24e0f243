#include "api/explain_command.h"

#include <optional>
#include <ostream>

#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include "api/explain_text.h"
#include "api/gpu_picture.h"
#include "api/state_files.h"

namespace offcut::api {
namespace {

struct FileState {
  scheduler::Policy policy;
  scheduler::Snapshot snapshot;
};

std::optional<FileState> Load(const std::vector<std::string>& snapshot_files,
                              const std::string& policy_file, std::ostream& err) {
  auto policy = LoadPolicy(policy_file);
  if (!policy) {
    fmt::print(err, "offcut: {}\n", policy.error().message);
    return std::nullopt;
  }
  auto snapshot = LoadSnapshot(snapshot_files, *policy, [&](std::string_view line) {
    fmt::print(err, "offcut: {}\n", line);
  });
  if (!snapshot) {
    fmt::print(err, "offcut: {}\n", snapshot.error().message);
    return std::nullopt;
  }
  return FileState{*std::move(policy), *std::move(snapshot)};
}

}  // namespace

int ExplainPod(const ExplainSettings& settings, std::ostream& out, std::ostream& err) {
  const auto state = Load(settings.snapshot_files, settings.policy_file, err);
  if (!state) return 1;
  const auto slash = settings.pod.find('/');
  const bool has_namespace = slash != std::string::npos;
  const std::string name_space = has_namespace ? settings.pod.substr(0, slash) : "default";
  const std::string name = has_namespace ? settings.pod.substr(slash + 1) : settings.pod;
  const scheduler::PodEntry* entry = scheduler::FindPodByName(state->snapshot, name_space, name);
  if (entry == nullptr) {
    fmt::print(err, "offcut: no pod {}/{} in the snapshot\n", name_space, name);
    return 1;
  }
  const auto explanation = scheduler::Explain(state->snapshot, entry->pod->uid, state->policy);
  if (settings.output == "json") {
    fmt::print(out, "{}\n", ToJson(explanation).dump(2));
  } else {
    fmt::print(out, "{}", PrintExplanation(explanation, settings.nodes_max));
  }
  return 0;
}

int ShowGpus(const GpusSettings& settings, std::ostream& out, std::ostream& err) {
  const auto state = Load(settings.snapshot_files, settings.policy_file, err);
  if (!state) return 1;
  out << DrawGpus(state->snapshot, {.columns = settings.columns, .colour = settings.colour});
  return 0;
}

}  // namespace offcut::api
