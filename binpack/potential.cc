#include "binpack/potential.h"

#include <algorithm>
#include <cassert>

namespace offcut::binpack {
namespace {

using Model = PotentialTables::Model;

constexpr std::int64_t kCopiesWeight = 2;  // kMixWeight is the other one

std::size_t PercentOf(const CompactGpu& gpu) {
  return static_cast<std::size_t>(std::max(0, gpu.free_units) / PotentialTables::kPercentUnits);
}

int GreedyCopies(const MigProfile& profile, std::uint16_t free_slices) {
  int copies = 0;
  for (const int start : profile.starts) {
    const std::uint16_t mask = SliceMask({start, profile.memory_slices});
    if ((free_slices & mask) != mask) continue;
    free_slices = static_cast<std::uint16_t>(free_slices & ~mask);
    ++copies;
  }
  return copies;
}

}  // namespace

NodePotential::NodePotential(const PotentialTables& tables, const NodeView& node)
    : tables_(tables), node_(node) {
  models_.reserve(node.compact.gpus.size());
  for (std::size_t g = 0; g < node.compact.gpus.size(); ++g) {
    const auto alike = static_cast<std::size_t>(node.compact.gpus[g].model);
    models_.push_back(alike < g ? models_[alike] : &tables.Of(node.state.gpus[g]));
    Add(g, node.compact.gpus[g], 1, sums_);
  }
  for (std::size_t p = 0; p < node.state.pools.size(); ++p) {
    const InstancePool& pool = node.state.pools[p];
    AddPool(p, std::max(0, pool.units - pool.units_used), sums_);
  }
}

// `units` more are free.
void NodePotential::AddPool(std::size_t pool, std::int32_t units, Sums& sums) const {
  InstancePool one = node_.state.pools[pool];
  one.units_used = 1;
  const GpuModel* model = node_.state.pool_model.get();
  sums.free_milli += units * MilliOf(UsedUnits(one, model));
  const PotentialTables::Model& served =
      tables_.Of({.model = node_.state.pool_model, .product = node_.state.pool_product});
  for (const auto& [m, name] : tables_.instances) {
    const bool is_same =
        name == one.profile || (model != nullptr && model->FindProfile(name) &&
                                model->FindProfile(name) == model->FindProfile(one.profile));
    if (is_same && served.serves[m] != 0) sums.copies[m] += units;
  }
}

void NodePotential::AddInstances(std::size_t gpu, const CompactGpu& state, std::int32_t sign,
                                 Sums& sums) const {
  const GpuModel* model = node_.state.gpus[gpu].model.get();
  for (const auto& [m, name] : tables_.instances) {
    const auto profile = model->FindProfile(name);
    if (!profile || models_[gpu]->serves[m] == 0) continue;
    sums.copies[m] +=
        sign * GreedyCopies(model->profiles[static_cast<std::size_t>(*profile)], state.free_slices);
  }
}

// The loops over the classes have no branch, so that the compiler makes vectors of them.
void NodePotential::Add(std::size_t gpu, const CompactGpu& state, std::int32_t sign,
                        Sums& sums) const {
  if (state.kind == GpuKind::kClosed) return;
  if (state.free_units <= 0 && state.kind != GpuKind::kMig) return;
  const Model* const of_gpu = models_[gpu];
  assert(of_gpu != nullptr);
  const Model& model = *of_gpu;
  if (state.kind == GpuKind::kMig && model.mig_level != nullptr) {
    sums.missed += sign * UnusableOf(*model.mig_level, state);
    return;
  }
  const std::int64_t milli = MilliOf(state.free_units);
  sums.free_milli += sign * milli;
  const PotentialTables::ByClass* copies = &tables_.whole_copies;
  const PotentialTables::ByCpuPrice* mix = nullptr;
  std::int32_t times = sign;
  switch (state.kind) {
    case GpuKind::kClosed:
      return;
    case GpuKind::kMig:
      AddInstances(gpu, state, sign, sums);
      return;
    case GpuKind::kShared:
      copies = &tables_.slot_copies;
      times = sign * static_cast<std::int32_t>(milli);
      break;
    case GpuKind::kWhole:
      mix = &model.whole_mix;
      break;
    case GpuKind::kFractional: {
      const std::size_t percent = state.free_sharers > 0 ? PercentOf(state) : 0;
      assert(percent < tables_.fraction_copies.size() && percent < model.best_mix.size());
      copies = &tables_.fraction_copies[percent];
      mix = &model.best_mix[percent];
      break;
    }
  }
  if (mix != nullptr) {
    sums.mixed_milli += sign * milli;
    const PotentialTables::ByCpuPrice& worth = *mix;
    for (std::size_t l = 0; l < worth.size(); ++l) {
      sums.mix[l] += std::int64_t{sign} * worth[l];
    }
  }
  const PotentialTables::ByClass& each = *copies;
  for (std::size_t m = 0; m < tables_.size; ++m) {
    sums.copies[m] += times * (each[m] * model.serves[m]);
  }
}

std::int64_t NodePotential::Weighted(const Sums& sums, std::int64_t free_cpu_milli) const {
  const auto cpu = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(free_cpu_milli, 0, PotentialTables::kCpuMilliMax));
  std::int64_t usable = 0;  // by copies, weighted
  for (std::size_t m = 0; m < tables_.size; ++m) {
    const auto by_gpus = static_cast<std::uint32_t>(sums.copies[m] / tables_.gpus[m]);
    const std::uint32_t asked = tables_.cpu_milli[m];
    const std::uint32_t by_cpu = asked == 0 ? by_gpus : cpu / asked;
    usable += tables_.value[m] * std::min(by_gpus, by_cpu);
  }
  const std::int64_t unusable = tables_.weight * sums.free_milli - usable;
  std::int64_t best_mix = sums.mixed_milli + PotentialTables::kCpuMilliMax;
  for (std::size_t l = 0; l < PotentialTables::kCpuPrices.size(); ++l) {
    best_mix = std::min(best_mix, PotentialTables::kCpuPrices[l] * cpu / 1000 + sums.mix[l]);
  }
  const std::int64_t unmixed = sums.mixed_milli - best_mix;
  return kCopiesWeight * unusable + kUnit * unmixed + kUnit * sums.missed / 1000;
}

std::int64_t NodePotential::Value() const { return Weighted(sums_, node_.compact.free_cpu_milli); }

std::int64_t NodePotential::ValueAfter(const Candidate& candidate,
                                       std::int64_t free_cpu_milli) const {
  Sums sums = sums_;
  for (const auto& [gpu, after] : candidate.changes) {
    Add(gpu, node_.compact.gpus[gpu], -1, sums);
    Add(gpu, after, 1, sums);
  }
  for (const Piece& piece : candidate.placement.pieces) {
    if (piece.pool >= 0) AddPool(static_cast<std::size_t>(piece.pool), -1, sums);
  }
  return Weighted(sums, free_cpu_milli);
}

std::int64_t NodePotential::ScarcityOf(std::span<const GpuChange> changes) const {
  std::int64_t scarcity = 0;
  for (const auto& [gpu, after] : changes) {
    const std::int64_t taken =
        MilliOf(node_.compact.gpus[gpu].free_units) - MilliOf(after.free_units);
    scarcity += models_[gpu]->scarcity_permille * taken;
  }
  return scarcity / 1000 * PotentialTables::kWeightsSum;
}

}  // namespace offcut::binpack
