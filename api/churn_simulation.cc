#include "api/churn_simulation.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/churn_arrivals.h"
#include "api/simulation_policy.h"
#include "scheduler/demand.h"
#include "scheduler/simulation.h"

namespace offcut::api {
namespace {

// As the curve counts time.
double LifePercent(double lives) { return 100 * lives; }

Error Refused(std::string message) { return {ErrorKind::kBadRequest, std::move(message)}; }

// In the order in which they come, should it count.
std::vector<ChurnRow> RowsOf(const SimulationInput& input, std::string_view lives) {
  std::vector<ChurnRow> rows;
  rows.reserve(input.order.size());
  for (const std::size_t index : input.order) {
    const SimulatedPod& pod = input.pods[index];
    ChurnRow& row = rows.emplace_back(ChurnRow{.units = pod.demand.units, .life = {}});
    if (lives == "trace" && pod.lives_s) row.life = static_cast<double>(*pod.lives_s);
  }
  return rows;
}

std::string_view KindOfLives(const std::vector<ChurnRow>& rows) {
  const auto known =
      std::ranges::count_if(rows, [](const auto& row) { return row.life.has_value(); });
  if (known == 0) return "exponential";
  return known == std::ssize(rows) ? "trace" : "mixed";
}

std::expected<std::vector<ChurnArrival>, Error> Draw(const std::vector<ChurnRow>& rows,
                                                     std::int64_t capacity_units,
                                                     const Churn& churn) {
  const double rate = ArrivalRate(rows, churn.load, capacity_units);
  if (rate == 0) {
    return std::unexpected(Refused("--load: no pod would hold a GPU of these nodes for any time"));
  }
  const double expected = rate * (1 + churn.duration);
  if (expected > static_cast<double>(kArrivalsMax)) {
    return std::unexpected(Refused(
        fmt::format("--load: about {:.0f} pods would arrive, and {} is the most; choose a lower "
                    "--load or shorter times",
                    expected, kArrivalsMax)));
  }
  return DrawChurn(rows, capacity_units, churn);
}

struct Exit {
  double at = 0;
  std::string uid;
  bool operator>(const Exit& other) const { return at > other.at; }
};

// The cluster, who will leave it, and its curve.
class ChurnedCluster {
 public:
  ChurnedCluster(const SimulationInput& input, const scheduler::Policy& policy,
                 scheduler::TimeCurve& curve)
      : simulation_(input.start, policy),
        start_(simulation_.totals()),
        requests_(policy.packing->classes.total_count),
        curve_(curve) {}

  // Lets leave who leaves by then.
  void PassUntil(double at) {
    for (; !exits_.empty() && exits_.top().at <= at; exits_.pop()) {
      Pass(exits_.top().at);
      simulation_.Depart(exits_.top().uid);
    }
    Pass(at);
  }

  bool Arrive(const scheduler::Pod& pod, double leaves_at) {
    if (simulation_.Arrive(pod).empty()) return false;
    exits_.push({leaves_at, pod.uid});
    return true;
  }

  // Lets everybody leave; what was there at the beginning is there again.
  void Empty() {
    for (; !exits_.empty(); exits_.pop()) simulation_.Depart(exits_.top().uid);
    assert(simulation_.totals() == start_);
  }

 private:
  void Pass(double at) { curve_.Pass(LifePercent(at), PointOf(simulation_.totals(), requests_)); }

  scheduler::Simulation simulation_;
  scheduler::ClusterTotals start_;
  std::int64_t requests_;
  scheduler::TimeCurve& curve_;
  std::priority_queue<Exit, std::vector<Exit>, std::greater<>> exits_;
};

void Play(const SimulationInput& input, const std::vector<ChurnArrival>& arrivals,
          const scheduler::Policy& policy, ChurnReport& report, const Progress& progress) {
  ChurnedCluster cluster(input, policy, report.curve);
  std::size_t count = 0;
  for (const ChurnArrival& arrival : arrivals) {
    const SimulatedPod& arriving = input.pods[input.order[arrival.row]];
    scheduler::Pod pod = arriving.pod;
    pod.uid += fmt::format("#{}", count++);
    cluster.PassUntil(arrival.at);
    const bool is_placed =
        report.decisions.Measure([&] { return cluster.Arrive(pod, arrival.leaves_at); });
    progress(count, arrivals.size());
    if (arrival.at == 0) {
      ++report.there_at_start;
      report.refused_at_start += is_placed ? 0 : 1;
      continue;
    }
    report.curve.Arrive(arriving.demand.units, is_placed);
    if (LifePercent(arrival.at) < LifePercent(report.churn.warm_up)) continue;
    ClassCounts& counts = report.classes[scheduler::ClassNameOf(arriving.demand)];
    ++counts.arrived;
    counts.failed += is_placed ? 0 : 1;
  }
  cluster.PassUntil(report.churn.warm_up + report.churn.duration);
  cluster.Empty();
}

}  // namespace

std::expected<ChurnReport, Error> RunChurn(const SimulationInput& input,
                                           const SimulateSettings& settings,
                                           const Progress& progress) {
  const ChurnSettings& churn = *settings.churn;
  const auto policy = SimulationPolicy(settings.strategy, settings.ties, settings.seed, input);
  if (!policy) return std::unexpected(policy.error());
  ChurnReport report{
      .strategy = settings.strategy, .ties = settings.ties, .seed = settings.seed, .churn = churn};
  const scheduler::ClusterTotals start = scheduler::Simulation(input.start, *policy).totals();
  report.pods_before = scheduler::CountHolders(input.start);
  report.units_before = start.used_units;
  report.capacity_units = start.capacity_units;
  report.closed_units = start.closed_units();
  if (report.capacity_units == 0) return std::unexpected(Refused("the nodes have no GPU"));
  const std::vector<ChurnRow> rows = RowsOf(input, churn.lives);
  report.lives = KindOfLives(rows);
  report.mean_life_s = MeanLife(rows);
  const auto arrivals = Draw(rows, report.capacity_units,
                             {.load = churn.load,
                              .duration = static_cast<double>(churn.warm_up + churn.duration),
                              .is_in_order = input.has_order,
                              .seed = settings.seed});
  if (!arrivals) return std::unexpected(arrivals.error());
  Play(input, *arrivals, *policy, report, progress);
  report.counted =
      report.curve.SumFrom(static_cast<std::size_t>(churn.warm_up) * (100 / kPeriodPercent));
  return report;
}

}  // namespace offcut::api
