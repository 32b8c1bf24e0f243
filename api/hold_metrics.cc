#include "api/hold_metrics.h"

#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "api/hold_json.h"
#include "scheduler/held_places.h"

namespace offcut::api {
namespace {

void AddGauge(scheduler::HoldCause cause, double value, prometheus::MetricFamily& family) {
  prometheus::ClientMetric metric;
  metric.label = {{"cause", std::string(CauseText(cause))}};
  metric.gauge.value = value;
  family.metric.push_back(std::move(metric));
}

}  // namespace

std::string PrintHoldMetrics(const scheduler::Snapshot& snapshot) {
  prometheus::MetricFamily holds{.name = "offcut_holds",
                                 .help = "Places that are kept for pods, by cause.",
                                 .type = prometheus::MetricType::Gauge,
                                 .metric = {}};
  prometheus::MetricFamily devices{
      .name = "offcut_held_devices",
      .help = "GPUs that are kept for pods, by cause, parts of GPUs as fractions.",
      .type = prometheus::MetricType::Gauge,
      .metric = {}};
  const auto sums = SumOfHeld(snapshot);
  for (const auto cause : {scheduler::HoldCause::kReclaim, scheduler::HoldCause::kDate}) {
    const scheduler::HeldSum& sum = sums.at(static_cast<std::size_t>(cause));
    AddGauge(cause, static_cast<double>(sum.holds), holds);
    AddGauge(cause, static_cast<double>(sum.devices) / static_cast<double>(quota::kWholeDevice),
             devices);
  }
  return prometheus::TextSerializer{}.Serialize({std::move(holds), std::move(devices)});
}

}  // namespace offcut::api
