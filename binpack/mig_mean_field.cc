#include "binpack/mig_mean_field.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>

#include "binpack/indexing.h"

namespace offcut::binpack {
namespace {

constexpr int kPeers = 32;          // fewer: rougher luck for all; more: the iteration wavers
constexpr int kIterations = 400;    // at each load
constexpr double kFirstStep = 0.3;  // of the way to what the equation gives; 1/n later on
constexpr double kLeastStep = 0.02;
constexpr double kStepHalved = 30;  // iterations until the step has halved
constexpr double kShareStep = 0.5;
constexpr double kSameCost = 1e-9;  // below it two costs differ by rounding
constexpr double kMillionths = 1e6;

using PerLayout = std::vector<double>;

// A profile of the workload, and what the iteration knows about it.
struct Demand {
  int profile = 0;
  double arrivals = 0;     // of one GPU's share, by mean life
  std::vector<int> order;  // layouts with room, the cheapest first
  PerLayout cost;          // of an instance here
  std::vector<int> next;   // the layout that it makes; -1: no room
  PerLayout rate;          // at which a GPU in this layout takes pods
  PerLayout outbid;        // at which it takes pods that would cost more elsewhere
  PerLayout spared;        // and what they would cost there, by time
};

struct Field {
  PerLayout worth;  // h
  PerLayout share;  // of GPUs in each layout
};

// x^n without the library's pow, whose last bit differs by version.
double Power(double x, int n) {
  double result = 1;
  for (double square = std::max(x, 0.0); n > 0; n /= 2, square *= square) {
    if (n % 2 == 1) result *= square;
  }
  return result;
}

std::vector<Demand> DemandsOf(const MigLayouts& layouts, const ProfileWeights& weights) {
  const GpuModel& model = *layouts.model;
  assert(weights.size() == model.profiles.size());
  double slices = 0;
  for (const int p : layouts.profiles) {
    slices += static_cast<double>(At(weights, p)) * At(model.profiles, p).memory_slices;
  }
  const std::size_t count = layouts.layouts.size();
  std::vector<Demand> demands;
  for (const int p : layouts.profiles) {
    if (At(weights, p) == 0) continue;
    demands.push_back(
        {.profile = p,
         .arrivals = static_cast<double>(At(weights, p)) * model.memory_slices / slices,
         .order = {},
         .cost = PerLayout(count),
         .next = std::vector<int>(count, -1),
         .rate = PerLayout(count),
         .outbid = PerLayout(count),
         .spared = PerLayout(count)});
    for (std::size_t i = 0; i < count; ++i) {
      if (!At(layouts.layouts[i].steps, p).empty()) {
        demands.back().order.push_back(static_cast<int>(i));
      }
    }
  }
  return demands;
}

// Where the profile costs least in each layout, the highest start of several, and the order of the
// layouts by that cost; of equal ones the fuller comes first.
void Bid(const MigLayouts& layouts, const PerLayout& worth, Demand& demand) {
  for (const int i : demand.order) {
    double best = std::numeric_limits<double>::infinity();
    for (const LayoutStep& step : At(At(layouts.layouts, i).steps, demand.profile)) {
      const double cost = At(worth, i) - At(worth, step.layout);
      if (cost > best) continue;
      best = cost;
      At(demand.next, i) = step.layout;
    }
    At(demand.cost, i) = best;
  }
  std::ranges::sort(demand.order, [&](int a, int b) {
    if (At(demand.cost, a) != At(demand.cost, b)) return At(demand.cost, a) < At(demand.cost, b);
    const int free_a = At(layouts.layouts, a).free_slices;
    const int free_b = At(layouts.layouts, b).free_slices;
    return free_a != free_b ? free_a < free_b : a < b;
  });
}

// Layouts that bid alike: order[first, end), and the chance that the cheapest of the other GPUs is
// in one of them.
struct Rank {
  std::size_t first = 0;
  std::size_t end = 0;
  double chance = 0;
};

// At which rate a GPU in each layout is given the profile's pods; returns the ranks of bids.
// None of k GPUs is among layouts that hold a share x with chance (1 - x)^k.
std::vector<Rank> Route(const MigLayouts& layouts, const PerLayout& share, double load,
                        Demand& demand) {
  const std::vector<int>& order = demand.order;
  const auto is_alike = [&](int a, int b) {
    return At(demand.cost, b) - At(demand.cost, a) <= kSameCost &&
           At(layouts.layouts, a).free_slices == At(layouts.layouts, b).free_slices;
  };
  std::vector<Rank> ranks;
  double left = 1;  // share of the layouts that bid higher, or not at all
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    double here = 0;
    for (; end < order.size() && is_alike(order[first], order[end]); ++end) {
      here += At(share, order[end]);
    }
    const double others_higher = Power(left, kPeers - 1);
    // Of all GPUs in these layouts one takes the pod if none bids lower.
    const double taken = here > 1e-12
                             ? (Power(left, kPeers) - Power(left - here, kPeers)) / (kPeers * here)
                             : others_higher;
    for (std::size_t i = first; i < end; ++i) {
      At(demand.rate, order[i]) = load * demand.arrivals * kPeers * taken;
    }
    ranks.push_back({first, end, others_higher - Power(left - here, kPeers - 1)});
    left -= here;
    first = end;
  }
  return ranks;
}

// What taking the profile's pods spares the other GPUs, from the highest bid down. Beyond the last
// one a pod is lost, and that counts 1.
void CreditSpared(const std::vector<Rank>& ranks, double load, Demand& demand) {
  double chance = 1;
  for (const Rank& rank : ranks) chance -= rank.chance;
  double spared = chance;
  const double arrivals = load * demand.arrivals * kPeers;
  for (std::size_t r = ranks.size(); r-- > 0;) {
    for (std::size_t i = ranks[r].first; i < ranks[r].end; ++i) {
      At(demand.outbid, demand.order[i]) = arrivals * chance;
      At(demand.spared, demand.order[i]) = arrivals * spared;
    }
    chance += ranks[r].chance;
    spared += ranks[r].chance * At(demand.cost, demand.order[ranks[r].first]);
  }
}

// Moves the shares towards balance: what enters a layout is what leaves it.
void StepShares(const MigLayouts& layouts, const std::vector<Demand>& demands, PerLayout& share) {
  PerLayout entering(share.size());
  PerLayout leaving(share.size());
  for (std::size_t i = 0; i < share.size(); ++i) {
    const MigLayout& layout = layouts.layouts[i];
    leaving[i] = static_cast<double>(layout.after_exit.size());
    for (const int after : layout.after_exit) At(entering, after) += share[i];
  }
  for (const Demand& demand : demands) {
    for (const int i : demand.order) {
      At(leaving, i) += At(demand.rate, i);
      At(entering, At(demand.next, i)) += At(share, i) * At(demand.rate, i);
    }
  }
  double sum = 0;
  for (std::size_t i = 0; i < share.size(); ++i) {
    // Nothing enters or leaves an empty GPU of a workload that never fits.
    if (leaving[i] > 0) share[i] += kShareStep * (entering[i] / leaving[i] - share[i]);
    sum += share[i];
  }
  for (double& part : share) part /= sum;
}

// Moves the worths towards what the equation gives with the present ones on its right side.
void StepWorth(const MigLayouts& layouts, const std::vector<Demand>& demands, double step,
               PerLayout& worth) {
  PerLayout value(worth.size());
  PerLayout rate(worth.size(), 1.0);  // that the look ahead ends
  for (std::size_t i = 0; i < worth.size(); ++i) {
    const MigLayout& layout = layouts.layouts[i];
    rate[i] += static_cast<double>(layout.after_exit.size());
    for (const int after : layout.after_exit) value[i] += At(worth, after);
  }
  for (const Demand& demand : demands) {
    for (const int i : demand.order) {
      rate[static_cast<std::size_t>(i)] += At(demand.outbid, i);
      At(value, i) += At(demand.spared, i) + At(demand.outbid, i) * At(worth, At(demand.next, i));
    }
  }
  for (std::size_t i = 0; i < worth.size(); ++i) {
    worth[i] += step * (value[i] / rate[i] - worth[i]);
  }
}

void Iterate(const MigLayouts& layouts, double load, std::vector<Demand>& demands, Field& field) {
  for (int n = 0; n < kIterations; ++n) {
    for (Demand& demand : demands) {
      Bid(layouts, field.worth, demand);
      CreditSpared(Route(layouts, field.share, load, demand), load, demand);
    }
    StepShares(layouts, demands, field.share);
    StepWorth(layouts, demands, std::max(kLeastStep, kFirstStep / (1 + n / kStepHalved)),
              field.worth);
  }
}

// What the FGD mask would have it be, an instance of every slice costing one pod.
Field StartingField(const MigLayouts& layouts, const ProfileWeights& weights) {
  Field field{.worth = {}, .share = PerLayout(layouts.layouts.size())};
  field.share.front() = 1;
  const auto weight =
      static_cast<double>(std::accumulate(weights.begin(), weights.end(), std::int64_t{0}));
  for (const std::int64_t potential : FgdPotential(layouts, weights)) {
    field.worth.push_back(static_cast<double>(-potential) /
                          (weight * layouts.model->memory_slices));
  }
  return field;
}

MeanFieldLevel LevelOf(const MigLayouts& layouts, const Field& field) {
  MeanFieldLevel level;
  double used = 0;
  for (std::size_t i = 0; i < field.worth.size(); ++i) {
    level.potential.push_back(std::llround(kMillionths * (field.worth.front() - field.worth[i])));
    used += field.share[i] * (layouts.model->memory_slices - layouts.layouts[i].free_slices);
  }
  level.fill_permille = static_cast<int>(std::lround(1000 * used / layouts.model->memory_slices));
  return level;
}

}  // namespace

std::vector<MeanFieldLevel> SolveMeanField(const MigLayouts& layouts,
                                           const ProfileWeights& weights) {
  std::vector<Demand> demands = DemandsOf(layouts, weights);
  std::vector<MeanFieldLevel> levels;
  for (const int load_permille : kLoadsPermille) {
    Field field = StartingField(layouts, weights);
    Iterate(layouts, load_permille / 1000.0, demands, field);
    levels.push_back(LevelOf(layouts, field));
  }
  return levels;
}

}  // namespace offcut::binpack
