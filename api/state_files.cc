#include "api/state_files.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/document.h"
#include "api/kube_config.h"
#include "api/number_text.h"
#include "api/object_files.h"
#include "api/policy_file.h"
#include "api/printable.h"
#include "binpack/strategy.h"

namespace offcut::api {
namespace {

constexpr std::size_t kProblemsLoggedMax = 20;

std::string ToLine(const ObjectProblem& problem) {
  const std::string_view blank = problem.name.empty() ? "" : " ";
  return fmt::format("{}: object {}: {}{}{} left out: {}", problem.file, problem.index,
                     problem.kind.empty() ? "object" : problem.kind, blank, problem.name,
                     problem.error.message);
}

// What is wrong with a file that is no dump of a cluster is the same for each of its objects.
void LogProblems(const std::vector<ObjectProblem>& problems, const LogLine& log) {
  const std::size_t count = std::min(problems.size(), kProblemsLoggedMax);
  for (std::size_t i = 0; i < count; ++i) log(Printable(ToLine(problems[i])));
  if (problems.size() > count) log(fmt::format("... and {} more", problems.size() - count));
}

// That there is no node, with what is there and how a snapshot is made.
Error NoNodeError(const ObjectSet& objects) {
  std::string text = "the snapshot holds no node that can be read";
  if (objects.ignored > 0) {
    text += fmt::format("; {} of other kinds", NumberOf(objects.ignored, "object"));
  }
  return {ErrorKind::kBadRequest, text + " (kubectl get nodes,pods -A -o json prints one)"};
}

}  // namespace

std::vector<std::string_view> StrategyNames() {
  std::vector<std::string_view> names;
  for (const binpack::Strategy& strategy : binpack::Strategies()) {
    if (strategy.is_offered) names.push_back(strategy.name);
  }
  return names;
}

std::expected<scheduler::Policy, Error> LoadPolicy(const std::string& path) {
  if (path.empty()) return scheduler::Policy{};
  const auto text = ReadWholeFile(path, kMaxDocumentBytes);
  if (!text) return std::unexpected(text.error());
  auto policy = ReadPolicy(*text, path, StrategyNames());
  if (policy) return *std::move(policy);
  std::vector<std::string> lines;
  for (const PolicyError& error : policy.error()) lines.push_back(OneLineOf(error));
  return std::unexpected(Error{ErrorKind::kBadRequest, fmt::format("{}", fmt::join(lines, "\n"))});
}

std::expected<scheduler::Snapshot, Error> LoadSnapshot(std::span<const std::string> paths,
                                                       const scheduler::Policy& policy,
                                                       const LogLine& log) {
  auto objects = ReadObjectFiles(paths, policy.resources);
  if (!objects) return std::unexpected(objects.error());
  LogProblems(objects->problems, log);
  for (const std::string& warning : objects->warnings) log(Printable(warning));
  if (objects->nodes.empty()) return std::unexpected(NoNodeError(*objects));
  scheduler::Snapshot snapshot;
  for (auto& node : objects->nodes) snapshot.PutNode(std::move(node));
  for (auto& pod : objects->pods) snapshot.PutPod(std::move(pod));
  snapshot.SetTenancy(policy.tenancy);
  return snapshot;
}

}  // namespace offcut::api
