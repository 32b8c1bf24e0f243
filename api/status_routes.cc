#include "api/status_routes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/hold_metrics.h"
#include "api/http_answer.h"
#include "api/printable.h"
#include "api/tenant_metrics.h"

namespace offcut::api {
namespace {

using scheduler::PodEntry;
using scheduler::Snapshot;

void SetGauges(const Snapshot& snapshot, Metrics& metrics) {
  std::array<std::uint64_t, scheduler::kPodPhases.size()> counts{};
  snapshot.ForEachPod(
      [&](const PodEntry& entry) { ++counts[static_cast<std::size_t>(entry.phase)]; });
  metrics.SetNodes(snapshot.nodes().size());
  for (const scheduler::PodPhase phase : scheduler::kPodPhases) {
    metrics.SetPods(phase, counts[static_cast<std::size_t>(phase)]);
  }
}

}  // namespace

HttpResponse AnswerHealth(std::span<const ReadyCheck> checks, const HttpRequest& request) {
  const std::string_view path = PathOf(request.target);
  const bool is_live = path == "/livez";
  if (!is_live && path != "/readyz" && path != "/healthz") return ErrorAnswer(404, "no such path");
  if (!IsRead(request)) return MethodNotAllowed(kReadMethods);
  bool all_ready = true;
  std::string list;
  if (!is_live) {
    for (const ReadyCheck& check : checks) {
      const bool is_ready = check.is_ready();
      all_ready = all_ready && (is_ready || !check.is_required);
      list.append(is_ready ? "[+]" : "[-]").append(check.name);
      list.append(is_ready ? " ok" : check.is_required ? " failed" : " failed (not required)");
      const std::string why = is_ready || !check.why ? "" : check.why();
      if (!why.empty()) list.append(": ").append(Printable(why));
      list.append("\n");
    }
  }
  const std::string verdict = all_ready ? "ok" : "not ready";
  if (all_ready && !HasQuery(request.target, "verbose")) return TextAnswer(200, verdict);
  return TextAnswer(all_ready ? 200 : 503, list + verdict + "\n");
}

HttpResponse AnswerMetrics(const Snapshot& snapshot, Metrics& metrics, const HttpRequest& request) {
  if (PathOf(request.target) != "/metrics") return ErrorAnswer(404, "no such path");
  if (!IsRead(request)) return MethodNotAllowed(kReadMethods);
  SetGauges(snapshot, metrics);
  HttpResponse response =
      TextAnswer(200, metrics.Print() + PrintTenantMetrics(snapshot) + PrintHoldMetrics(snapshot));
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  return response;
}

}  // namespace offcut::api
