#include "binpack/mig_prices.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "binpack/indexing.h"
#include "binpack/mig_mean_field.h"

namespace offcut::binpack {
namespace {

std::uint32_t LayoutKey(std::uint16_t used_slices, std::uint16_t starts) {
  return static_cast<std::uint32_t>(used_slices) << 16U | starts;
}

std::uint32_t LayoutKey(const MigState& state) {
  std::uint16_t used = 0;
  std::uint16_t starts = 0;
  for (const MigInstance& instance : state) {
    used = static_cast<std::uint16_t>(used | SliceMask(instance.slices));
    starts = static_cast<std::uint16_t>(starts | SliceMask({instance.slices.start, 1}));
  }
  return LayoutKey(used, starts);
}

ProfileSet WithWeight(const ProfileWeights& weights) {
  ProfileSet profiles;
  for (int p = 0; const std::int64_t weight : weights) {
    if (weight > 0) profiles.push_back(p);
    ++p;
  }
  return profiles;
}

// Of a pod that is lost, on average.
std::int64_t MilliOfAPod(const GpuModel& model, const ProfileWeights& weights) {
  std::int64_t milli = 0;
  std::int64_t pods = 0;
  for (int p = 0; const std::int64_t weight : weights) {
    milli += weight * At(model.profiles, p).memory_slices * 1000 / model.memory_slices;
    pods += weight;
    ++p;
  }
  return milli / std::max<std::int64_t>(1, pods);
}

}  // namespace

const MigPrices::Level& MigPrices::At(int fill_permille) const {
  assert(!levels.empty());
  const auto distance = [&](const Level& level) {
    return std::max(level.fill_permille - fill_permille, fill_permille - level.fill_permille);
  };
  return *std::ranges::min_element(levels, {}, distance);
}

std::int64_t UnusableOf(const MigPrices::Level& level, const CompactGpu& gpu) {
  const auto all = static_cast<std::uint16_t>((1U << gpu.slices) - 1U);
  const auto used = static_cast<std::uint16_t>(all & ~gpu.free_slices);
  const auto found = level.unusable.find(LayoutKey(used, gpu.starts));
  return found == level.unusable.end() ? 0 : found->second;
}

MigPrices MakeMigPrices(std::shared_ptr<const GpuModel> model, ProfileWeights weights) {
  const MigLayouts layouts = BuildMigLayouts(*model, WithWeight(weights));
  const std::vector<MigState> states = ReachableStates(*model, BaseProfiles(*model));
  const std::int64_t milli = MilliOfAPod(*model, weights);
  MigPrices prices;
  for (const MeanFieldLevel& solved : SolveMeanField(layouts, weights)) {
    MigPrices::Level& level = prices.levels.emplace_back();
    level.fill_permille = solved.fill_permille;
    for (const MigState& state : states) {
      const std::int64_t pods = At(solved.potential, FindLayout(layouts, {state}));
      level.unusable.emplace(LayoutKey(state), pods * milli / 1000);
    }
  }
  prices.model = std::move(model);
  prices.weights = std::move(weights);
  return prices;
}

}  // namespace offcut::binpack
