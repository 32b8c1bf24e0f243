// Health and metrics. GET and HEAD alone; anything else is 405, and another path 404.
//
// Each function answers from values that it is given, so each may stand on a listener of its own.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "api/http.h"
#include "api/metrics.h"
#include "scheduler/snapshot.h"

namespace offcut::api {

// Something that must hold before the process may be sent requests.
struct ReadyCheck {
  std::string name;                // "state-synced"
  std::function<bool()> is_ready;  // thread-safe; must not block
  bool is_required = true;         // false: it is listed, and decides nothing
  // Why it fails, for a person; where it is empty or says nothing, only that it does. Likewise.
  std::function<std::string()> why = {};
};

// /livez: 200 "ok" as long as the process answers at all.
// /readyz, and /healthz for those who ask by that name: 200 "ok", or 503 if a check fails. With
// ?verbose, and whenever one fails, the text lists every check.
HttpResponse AnswerHealth(std::span<const ReadyCheck> checks, const HttpRequest& request);

// /metrics: the Prometheus text format. Brings the gauges of nodes and pods up to date first;
// those of tenants follow at the end.
HttpResponse AnswerMetrics(const scheduler::Snapshot& snapshot, Metrics& metrics,
                           const HttpRequest& request);

}  // namespace offcut::api
