#include "api/mig_churn.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <utility>

#include "api/draws.h"
#include "binpack/indexing.h"
#include "binpack/placement.h"

namespace offcut::api {
namespace {

using binpack::At;
using binpack::MigGpu;
using binpack::NodeState;
using binpack::Placement;

int DrawProfile(const binpack::ProfileWeights& weights, double sum, std::mt19937_64& random) {
  double rest = DrawUniform(random) * sum;
  int profile = 0;
  int last = 0;  // with a weight: rounding could carry us beyond it
  for (const std::int64_t weight : weights) {
    if (weight > 0) {
      last = profile;
      if (rest < static_cast<double>(weight)) break;
      rest -= static_cast<double>(weight);
    }
    ++profile;
  }
  return last;
}

// All GPUs of the cluster as those of one node, and what a strategy knows about each.
class Cluster {
 public:
  Cluster(const binpack::GpuModel& model, int gpus, const binpack::MigLayouts& layouts)
      : layouts_(layouts), numbers_(static_cast<std::size_t>(gpus)) {
    node_.picker = binpack::DevicePicker::kScheduler;
    // The model outlives the cluster: a pointer that owns nothing.
    const std::shared_ptr<const binpack::GpuModel> shared(std::shared_ptr<void>(), &model);
    node_.gpus.assign(static_cast<std::size_t>(gpus),
                      {.model = shared, .memory_mib = 1024 * model.memory_gib, .state = MigGpu{}});
  }

  // Where the strategy put an instance of the profile, or nullopt: there is no room.
  std::optional<Placement> Place(const binpack::MigStrategy& strategy, int profile) {
    const std::int64_t slices =
        static_cast<std::int64_t>(numbers_.size()) * layouts_.model->memory_slices;
    const auto& table = binpack::TableAt(strategy, slices_used_, slices);
    const auto pick = binpack::PickGpu(layouts_, table, numbers_, profile);
    if (!pick) return std::nullopt;
    const int size = At(layouts_.model->profiles, profile).memory_slices;
    Placement placement{{{.kind = binpack::PieceKind::kInstance,
                          .gpu = pick->gpu,
                          .profile = profile,
                          .slices = {pick->offer.start, size}}}};
    binpack::Occupy(node_, placement);
    slices_used_ += size;
    Renumber(pick->gpu);
    return placement;
  }

  void Release(const Placement& placement) {
    binpack::Release(node_, placement);
    slices_used_ -= placement.pieces.front().slices.size;
    Renumber(placement.pieces.front().gpu);
  }

 private:
  void Renumber(int gpu) {
    At(numbers_, gpu) = FindLayout(layouts_, std::get<MigGpu>(At(node_.gpus, gpu).state));
  }

  const binpack::MigLayouts& layouts_;
  NodeState node_;
  std::vector<int> numbers_;  // element i: the layout of GPU i
  std::int64_t slices_used_ = 0;
};

struct Exit {
  double at = 0;
  Placement placement;
  bool operator>(const Exit& other) const { return at > other.at; }
};

std::int64_t Sum(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

std::int64_t Slices(const std::vector<std::int64_t>& counts, const binpack::GpuModel& model) {
  std::int64_t slices = 0;
  for (std::size_t p = 0; p < counts.size(); ++p) {
    slices += counts[p] * model.profiles[p].memory_slices;
  }
  return slices;
}

double Percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 100.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::vector<MigArrival> DrawArrivals(const MigChurn& churn) {
  const std::int64_t sum = Sum(churn.weights);
  const double mean_slices =
      static_cast<double>(Slices(churn.weights, *churn.model)) / static_cast<double>(sum);
  const double rate =
      churn.load_permille / 1000.0 * churn.gpus * churn.model->memory_slices / mean_slices;
  std::mt19937_64 random(churn.seed);
  std::vector<MigArrival> arrivals;
  double now = 0;
  for (int i = 0; i < churn.arrivals; ++i) {
    now += DrawExponential(random) / rate;
    const int profile = DrawProfile(churn.weights, static_cast<double>(sum), random);
    arrivals.push_back({.at = now, .life = DrawExponential(random), .profile = profile});
  }
  return arrivals;
}

MigChurnCounts RunMigChurn(const MigChurn& churn, std::span<const MigArrival> arrivals,
                           const binpack::MigLayouts& layouts,
                           const binpack::MigStrategy& strategy) {
  Cluster cluster(*churn.model, churn.gpus, layouts);
  std::priority_queue<Exit, std::vector<Exit>, std::greater<>> exits;
  const std::size_t profiles = churn.model->profiles.size();
  MigChurnCounts counts{.arrived = std::vector<std::int64_t>(profiles),
                        .accepted = std::vector<std::int64_t>(profiles)};
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    const MigArrival& pod = arrivals[i];
    for (; !exits.empty() && exits.top().at <= pod.at; exits.pop()) {
      cluster.Release(exits.top().placement);
    }
    std::optional<Placement> placement = cluster.Place(strategy, pod.profile);
    if (i >= arrivals.size() / 4) {
      ++At(counts.arrived, pod.profile);
      if (placement) ++At(counts.accepted, pod.profile);
    }
    if (placement) exits.push({.at = pod.at + pod.life, .placement = *std::move(placement)});
  }
  return counts;
}

double AcceptedPercent(const MigChurnCounts& counts) {
  return Percent(Sum(counts.accepted), Sum(counts.arrived));
}

double AcceptedSlicesPercent(const MigChurnCounts& counts, const binpack::GpuModel& model) {
  return Percent(Slices(counts.accepted, model), Slices(counts.arrived, model));
}

}  // namespace offcut::api
