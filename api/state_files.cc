#include "api/state_files.h"

#include <fmt/format.h>

#include "api/document.h"
#include "api/kube_config.h"
#include "api/object_files.h"
#include "api/policy_file.h"
#include "binpack/strategy.h"

namespace offcut::api {
namespace {

std::string ToLine(const PolicyError& error) {
  std::string line =
      fmt::format("{}:{}:{}: {}: ", error.file, error.line, error.column, CodeText(error.code));
  if (!error.pointer.empty()) line += error.pointer + ": ";
  line += error.message;
  if (!error.suggestion.empty()) line += fmt::format(" (did you mean \"{}\"?)", error.suggestion);
  return line;
}

std::string ToLine(const ObjectProblem& problem) {
  return fmt::format("{}: object {}: {} {} left out: {}", problem.file, problem.index,
                     problem.kind.empty() ? "object" : problem.kind, problem.name,
                     problem.error.message);
}

}  // namespace

std::vector<std::string_view> StrategyNames() {
  std::vector<std::string_view> names;
  for (const binpack::Strategy& strategy : binpack::Strategies()) names.push_back(strategy.name);
  return names;
}

std::expected<scheduler::Policy, Error> LoadPolicy(const std::string& path) {
  if (path.empty()) return scheduler::Policy{};
  const auto text = ReadWholeFile(path, kMaxDocumentBytes);
  if (!text) return std::unexpected(text.error());
  auto policy = ReadPolicy(*text, path, StrategyNames());
  if (policy) return *std::move(policy);
  std::vector<std::string> lines;
  for (const PolicyError& error : policy.error()) lines.push_back(ToLine(error));
  return std::unexpected(Error{ErrorKind::kBadRequest, fmt::format("{}", fmt::join(lines, "\n"))});
}

std::expected<scheduler::Snapshot, Error> LoadSnapshot(std::span<const std::string> paths,
                                                       const scheduler::Policy& policy,
                                                       const LogLine& log) {
  auto objects = ReadObjectFiles(paths, policy.resources);
  if (!objects) return std::unexpected(objects.error());
  for (const ObjectProblem& problem : objects->problems) log(ToLine(problem));
  for (const std::string& warning : objects->warnings) log(warning);
  if (objects->nodes.empty()) {
    return std::unexpected(
        Error{ErrorKind::kBadRequest, "the snapshot holds no node that can be read"});
  }
  scheduler::Snapshot snapshot;
  for (auto& node : objects->nodes) snapshot.PutNode(std::move(node));
  for (auto& pod : objects->pods) snapshot.PutPod(std::move(pod));
  return snapshot;
}

}  // namespace offcut::api
