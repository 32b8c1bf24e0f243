#include "api/tenant_metrics.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "scheduler/tenant_report.h"

namespace offcut::api {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

std::size_t Index(int i) { return static_cast<std::size_t>(i); }

MetricFamily GaugeFamily(std::string name, std::string help) {
  return {.name = std::move(name),
          .help = std::move(help),
          .type = prometheus::MetricType::Gauge,
          .metric = {}};
}

void AddGauge(std::vector<ClientMetric::Label> labels, double value, MetricFamily& family) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  family.metric.push_back(std::move(metric));
}

double GpusOf(std::int64_t devices) {
  return static_cast<double>(devices) / static_cast<double>(quota::kWholeDevice);
}

void AddDevices(std::string_view tenant, std::string_view pool, const quota::Standing& standing,
                MetricFamily& family) {
  for (const auto& [state, devices] :
       {std::pair("guaranteed", standing.guarantee), std::pair("used", standing.used),
        std::pair("borrowed", standing.borrowed), std::pair("lent", standing.lent)}) {
    AddGauge({{"tenant", std::string(tenant)}, {"pool", std::string(pool)}, {"state", state}},
             GpusOf(devices), family);
  }
}

// One pool's devices, and how all tenants stand in them.
struct PoolDevices {
  int cell = 0;
  std::vector<quota::Standing> standings;
};

std::vector<PoolDevices> DevicesOf(const quota::Ledger& ledger) {
  std::vector<PoolDevices> pools;
  const auto& cells = ledger.tree().cells;
  for (int cell = 0; cell < static_cast<int>(cells.size()); ++cell) {
    if (cells[Index(cell)].resource != quota::kDevices) continue;
    pools.push_back({cell, ledger.StandingsIn(cell)});
  }
  return pools;
}

}  // namespace

std::string PrintTenantMetrics(const scheduler::Snapshot& snapshot, std::size_t pools_max) {
  if (snapshot.accounts() == nullptr) return {};
  MetricFamily devices = GaugeFamily(
      "offcut_tenant_devices",
      "GPUs of a tenant and all below it, by pool and state, parts of GPUs as fractions.");
  MetricFamily waiting =
      GaugeFamily("offcut_tenant_waiting_pods",
                  "Pods of a tenant, not of those below it, that ask for devices and hold none.");
  MetricFamily left_out = GaugeFamily("offcut_tenants_left_out",
                                      "Tenants that have no series because there are too many.");
  const quota::Ledger& ledger = snapshot.accounts()->charged();
  const quota::TenantTree& tree = ledger.tree();
  const std::vector<PoolDevices> pools = DevicesOf(ledger);
  const std::vector<int> counts = scheduler::CountWaiting(snapshot);
  std::size_t left = pools_max;
  int tenants_left_out = 0;
  for (const int tenant : scheduler::TenantsInOrder(tree)) {
    const auto is_limited = [&](const PoolDevices& pool) {
      return tree.Plan(pool.cell, tenant).takes_part;
    };
    const auto pairs = std::max<std::size_t>(
        1, static_cast<std::size_t>(std::ranges::count_if(pools, is_limited)));
    if (tenants_left_out > 0 || pairs > left) {
      ++tenants_left_out;
      continue;
    }
    left -= pairs;
    const std::string& name = tree.tenants[Index(tenant)].name;
    for (const PoolDevices& pool : pools) {
      if (!is_limited(pool)) continue;
      AddDevices(name, tree.cells[Index(pool.cell)].pool, pool.standings[Index(tenant)], devices);
    }
    AddGauge({{"tenant", name}}, counts[Index(tenant)], waiting);
  }
  AddGauge({}, tenants_left_out, left_out);
  return prometheus::TextSerializer{}.Serialize(
      {std::move(devices), std::move(waiting), std::move(left_out)});
}

}  // namespace offcut::api
