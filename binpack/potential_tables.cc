#include "binpack/potential_tables.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "binpack/cutting_stock.h"

namespace offcut::binpack {
namespace {

using Model = PotentialTables::Model;

constexpr std::int64_t kCopiesMax = 255;

bool IsShare(const ExpectedRequest& request) { return request.kind == DemandKind::kShare; }
// The size by which a share is cut from a GPU, rounded up.
int PercentOf(const ExpectedRequest& request) {
  return (request.share_units + PotentialTables::kPercentUnits - 1) /
         PotentialTables::kPercentUnits;
}
bool IsPart(const ExpectedRequest& request) {
  return IsShare(request) && request.gpus == 1 && request.share_units < kGpuUnits;
}
// Of one whole request.
std::int64_t RequestedMilli(const ExpectedRequest& request) {
  return MilliOf(RequestedUnits(request) / request.gpus) * request.gpus;
}

// The classes that ask for devices, with what each may use.
struct Demand {
  ExpectedRequest request;
  double count = 0;
  std::vector<bool> accepts;  // by capacity
  double capacity = 0;        // GPUs that it may use
};

std::vector<bool> AcceptedOf(const NodeState& examples, const std::vector<std::string>& models) {
  const AcceptedGpus accepted = Accept(examples, {.models_allowed = models});
  std::vector<bool> result;
  result.reserve(examples.gpus.size());
  for (std::size_t i = 0; i < examples.gpus.size(); ++i) {
    result.push_back(accepted.Of(i) == Acceptance::kAccepted);
  }
  return result;
}

std::vector<Demand> DemandsOf(const TargetWorkload& workload,
                              std::span<const GpuCapacity> capacities) {
  NodeState examples;
  examples.gpus.reserve(capacities.size());
  for (const GpuCapacity& each : capacities) examples.gpus.push_back(each.gpu);
  std::vector<Demand> demands;
  demands.reserve(workload.classes.size());
  for (const auto& [request, count] : workload.classes) {
    if (request.kind == DemandKind::kHostOnly) continue;
    Demand demand{.request = request, .count = static_cast<double>(count)};
    demand.accepts = AcceptedOf(examples, request.models);
    for (std::size_t i = 0; i < capacities.size(); ++i) {
      if (demand.accepts[i]) demand.capacity += static_cast<double>(capacities[i].count);
    }
    demands.push_back(std::move(demand));
  }
  return demands;
}

double TotalOf(std::span<const GpuCapacity> capacities) {
  double total = 0;
  for (const GpuCapacity& each : capacities) total += static_cast<double>(each.count);
  return total;
}

// The weights of the classes, scaled: requests, times how scarce what they may use is, times the
// root of the GPUs that they want at once, which protects jobs of whole nodes.
std::vector<std::int64_t> WeightsOf(std::span<const Demand> demands, std::int64_t host_only,
                                    double capacity) {
  std::vector<double> raw;
  raw.reserve(demands.size());
  double sum = static_cast<double>(host_only);
  for (const Demand& demand : demands) {
    const double scarcity = capacity / std::max(demand.capacity, 1.0);
    raw.push_back(demand.count * scarcity * std::sqrt(static_cast<double>(demand.request.gpus)));
    sum += raw.back();
  }
  std::vector<std::int64_t> weights(raw.size(), 0);
  if (sum <= 0) return weights;  // no GPU accepts what is expected
  for (std::size_t i = 0; i < raw.size(); ++i) {
    weights[i] = std::llround(raw[i] / sum * PotentialTables::kWeightsSum);
  }
  return weights;
}

std::uint8_t CopiesOn(std::int64_t free_milli, const ExpectedRequest& request) {
  const std::int64_t copies = free_milli / std::max<std::int64_t>(1, MilliOf(request.share_units));
  // Of a request for several GPUs each gives one share.
  return static_cast<std::uint8_t>(request.gpus > 1 ? std::min<std::int64_t>(copies, 1)
                                                    : std::min(copies, kCopiesMax));
}

void AddClass(const Demand& demand, std::int64_t weight, PotentialTables& tables) {
  const std::size_t m = tables.size++;
  const ExpectedRequest& request = demand.request;
  tables.value[m] = weight * RequestedMilli(request);
  tables.cpu_milli[m] = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(request.cpu_milli, 0, PotentialTables::kCpuMilliMax));
  tables.gpus[m] = request.gpus;
  tables.weight += weight;
  if (IsShare(request)) {
    for (std::size_t percent = 0; percent < PotentialTables::kPercents; ++percent) {
      tables.fraction_copies[percent][m] =
          CopiesOn(static_cast<std::int64_t>(percent) * 10, request);
    }
    tables.whole_copies[m] = request.share_units == kGpuUnits ? 1 : 0;
  } else if (request.kind == DemandKind::kSlot) {
    // Copies of a milli each: how much a slot is differs by GPU.
    const std::int64_t milli = std::max<std::int64_t>(1, RequestedMilli(request));
    tables.slot_copies[m] = 1;
    tables.value[m] = weight;
    tables.cpu_milli[m] = static_cast<std::uint32_t>((tables.cpu_milli[m] + milli - 1) / milli);
    tables.gpus[m] = 1;
  } else {
    tables.instances.push_back({m, request.profile});
  }
}

// Sizes with what a piece of each is worth, and how much CPU goes with it on average.
struct Size {
  std::int64_t price = 0;
  double count = 0;
  double cpu_milli = 0;
};
using Sizes = std::map<int, Size>;  // by percent

std::map<int, std::int64_t> PricesOf(std::span<const Demand> demands) {
  std::map<int, std::int64_t> counts;
  for (const Demand& demand : demands) {
    if (IsPart(demand.request)) {
      counts[PercentOf(demand.request)] += static_cast<std::int64_t>(demand.count);
    }
  }
  std::vector<PieceDemand> pieces;
  pieces.reserve(counts.size());
  for (const auto& [percent, count] : counts) pieces.push_back({percent, count});
  const std::vector<std::int64_t> prices = CuttingStockPrices(pieces);
  std::map<int, std::int64_t> result;
  for (std::size_t i = 0; i < pieces.size(); ++i) result[pieces[i].percent] = prices[i];
  result[100] = kGpuPrice;
  return result;
}

template <typename Serves>
Sizes SizesOn(std::span<const Demand> demands, const std::map<int, std::int64_t>& prices,
              Serves serves) {
  Sizes sizes;
  for (const Demand& demand : demands) {
    const ExpectedRequest& request = demand.request;
    if (!IsShare(request) || !serves(demand)) continue;
    const int percent = request.gpus > 1 ? 100 : PercentOf(request);
    Size& size = sizes[percent];
    size.price = prices.contains(percent) ? prices.at(percent) : 0;
    size.count += demand.count * request.gpus;
    size.cpu_milli += demand.count * static_cast<double>(request.cpu_milli);
  }
  return sizes;
}

// What is left of a piece's worth when its CPU is paid for.
std::int64_t NetOf(const Size& size, std::int64_t cpu_price) {
  const double cpu = size.cpu_milli / size.count;
  return size.price - std::llround(static_cast<double>(cpu_price) * cpu / 1000);
}

void FillMixes(const Sizes& sizes, Model& model) {
  model.best_mix.resize(PotentialTables::kPercents);
  for (std::size_t l = 0; l < PotentialTables::kCpuPrices.size(); ++l) {
    const std::int64_t cpu_price = PotentialTables::kCpuPrices[l];
    for (std::size_t room = 1; room < PotentialTables::kPercents; ++room) {
      std::int32_t best = model.best_mix[room - 1][l];
      for (const auto& [percent, size] : sizes) {
        const auto width = static_cast<std::size_t>(percent);
        const std::int64_t net = NetOf(size, cpu_price);
        if (width > room || net <= 0) continue;
        best = std::max(best, model.best_mix[room - width][l] + static_cast<std::int32_t>(net));
      }
      model.best_mix[room][l] = best;
    }
    const auto whole = sizes.find(100);
    if (whole != sizes.end()) {
      model.whole_mix[l] =
          static_cast<std::int32_t>(std::max<std::int64_t>(0, NetOf(whole->second, cpu_price)));
    }
  }
}

// How often each profile of the model is asked for, in units that keep the sum within bounds; all
// 0: none is.
ProfileWeights MigWeightsOf(std::span<const Demand> demands, const GpuModel& model) {
  std::vector<double> asked(model.profiles.size());
  double sum = 0;
  for (const Demand& demand : demands) {
    if (demand.request.kind != DemandKind::kInstance) continue;
    const auto profile = model.FindProfile(demand.request.profile);
    if (!profile) continue;
    const double count = demand.count * demand.request.gpus;
    asked[static_cast<std::size_t>(*profile)] += count;
    sum += count;
  }
  ProfileWeights weights;
  weights.reserve(asked.size());
  for (const double each : asked) {
    weights.push_back(sum == 0 ? 0 : std::llround(std::ceil(each / sum * 100'000)));
  }
  return weights;
}

void AddMigPrices(std::span<const Demand> demands, const PotentialTables* before, Model& model) {
  const GpuCapacity& capacity = model.capacity;
  if (capacity.mig_fill_permille < 0 || capacity.gpu.model == nullptr) return;
  ProfileWeights weights = MigWeightsOf(demands, *capacity.gpu.model);
  if (std::ranges::count(weights, 0) == std::ssize(weights)) return;
  if (before != nullptr) {
    const auto known = std::ranges::find_if(before->models, [&](const Model& each) {
      return each.mig != nullptr && IsOneModel(each.capacity.gpu, capacity.gpu) &&
             each.mig->weights == weights;
    });
    if (known != before->models.end()) model.mig = known->mig;
  }
  if (model.mig == nullptr) {
    model.mig =
        std::make_shared<const MigPrices>(MakeMigPrices(capacity.gpu.model, std::move(weights)));
  }
  model.mig_level = &model.mig->At(capacity.mig_fill_permille);
}

// Demand that names models, spread over what it may use, as a share of this model's capacity.
std::int64_t ScarcityOf(std::span<const Demand> demands, std::size_t index, double capacity) {
  double all = 0;
  double tied = 0;
  for (const Demand& demand : demands) {
    const double milli = demand.count * static_cast<double>(RequestedMilli(demand.request));
    all += milli;
    if (!demand.request.models.empty() && demand.accepts[index]) {
      tied += milli / std::max(demand.capacity, 1.0);
    }
  }
  if (all == 0) return 0;
  return std::min<std::int64_t>(1000, std::llround(1000 * tied / all * capacity));
}

}  // namespace

bool IsOneModel(const Gpu& a, const Gpu& b) {
  const bool is_same = a.model == b.model ||
                       (a.model != nullptr && b.model != nullptr && a.model->name == b.model->name);
  return is_same && a.product == b.product;
}

const Model& PotentialTables::Of(const Gpu& gpu) const {
  const auto found = std::find_if(models.begin(), models.end() - 1, [&](const Model& each) {
    return IsOneModel(each.capacity.gpu, gpu);
  });
  return *found;
}

PotentialTables MakePotentialTables(const TargetWorkload& workload,
                                    std::span<const GpuCapacity> capacities,
                                    const PotentialTables* before) {
  assert(workload.classes.size() <= kWorkloadClassesMax);
  PotentialTables tables;
  tables.fraction_copies.resize(PotentialTables::kPercents);
  const std::vector<Demand> demands = DemandsOf(workload, capacities);
  std::int64_t host_only = TotalCount(workload);
  for (const Demand& demand : demands) host_only -= static_cast<std::int64_t>(demand.count);
  const double capacity = TotalOf(capacities);
  const std::vector<std::int64_t> weights = WeightsOf(demands, host_only, capacity);
  for (std::size_t m = 0; m < demands.size(); ++m) AddClass(demands[m], weights[m], tables);
  const std::map<int, std::int64_t> prices = PricesOf(demands);
  for (std::size_t i = 0; i <= capacities.size(); ++i) {
    const bool is_known = i < capacities.size();
    const auto serves = [&](const Demand& demand) {
      return is_known ? demand.accepts[i] : demand.request.models.empty();
    };
    Model model;
    if (is_known) {
      model.capacity = capacities[i];
      model.scarcity_permille = ScarcityOf(demands, i, capacity);
      AddMigPrices(demands, before, model);
    }
    for (std::size_t m = 0; m < demands.size(); ++m) model.serves[m] = serves(demands[m]) ? 1 : 0;
    FillMixes(SizesOn(demands, prices, serves), model);
    tables.models.push_back(std::move(model));
  }
  return tables;
}

}  // namespace offcut::binpack
