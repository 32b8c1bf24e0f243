#include "binpack/fragmentation.h"

#include <algorithm>
#include <cassert>

namespace offcut::binpack {
namespace {

std::int32_t Level(bool serves, std::int32_t level) { return serves ? level : ClassTable::kNever; }

void AddRestriction(const std::vector<std::string>& models, std::size_t index,
                    std::vector<ClassTable::Restriction>& restrictions) {
  if (models.empty()) return;
  const auto found = std::ranges::find_if(
      restrictions, [&](const auto& each) { return each.constraint.models_allowed == models; });
  if (found != restrictions.end()) {
    found->indices.push_back(index);
  } else {
    restrictions.push_back({.constraint = {.models_allowed = models}, .indices = {index}});
  }
}

// Whether the profile has a legal start on the free slices.
bool HasStart(const MigProfile& profile, std::uint16_t free_slices) {
  return std::ranges::any_of(profile.starts, [&](int start) {
    const std::uint16_t mask = SliceMask({start, profile.memory_slices});
    return (free_slices & mask) == mask;
  });
}

}  // namespace

ClassTable MakeClassTable(const TargetWorkload& workload) {
  assert(workload.classes.size() <= kWorkloadClassesMax);
  ClassTable table{.size = workload.classes.size(), .total_count = TotalCount(workload)};
  for (std::size_t m = 0; m < table.size; ++m) {
    const ExpectedRequest& request = workload.classes[m].request;
    const bool is_share = request.kind == DemandKind::kShare;
    table.fraction_level[m] = Level(is_share, request.share_units);
    table.whole_level[m] = Level(is_share && request.share_units == kGpuUnits, kGpuUnits);
    table.slot_level[m] = Level(request.kind == DemandKind::kSlot, 1);
    table.gpus[m] = Level(request.kind != DemandKind::kHostOnly, request.gpus);
    table.cpu_milli[m] = request.cpu_milli;
    table.count[m] = workload.classes[m].count;
    if (request.kind == DemandKind::kInstance) table.instances.push_back({m, request.profile});
    AddRestriction(request.models, m, table.restrictions);
  }
  return table;
}

NodeFragments::NodeFragments(const ClassTable& classes, const NodeView& node)
    : classes_(classes), node_(node) {
  for (const ClassTable::Restriction& restriction : classes.restrictions) {
    accepted_.push_back(Accept(node.state, restriction.constraint));
  }
  sums_.free_units = node.compact.free_units;
  for (std::size_t g = 0; g < node.compact.gpus.size(); ++g) {
    Add(g, node.compact.gpus[g], 1, sums_);
  }
}

std::int64_t NodeFragments::Sum() const { return Weighted(sums_, node_.compact.free_cpu_milli); }

std::int64_t NodeFragments::SumAfter(std::span<const GpuChange> changes,
                                     std::int64_t free_cpu_milli) const {
  Sums sums = sums_;
  for (const auto& [gpu, after] : changes) {
    const CompactGpu& before = node_.compact.gpus[gpu];
    Add(gpu, before, -1, sums);
    Add(gpu, after, 1, sums);
    sums.free_units += after.free_units - before.free_units;
  }
  return Weighted(sums, free_cpu_milli);
}

// Which instances of the workload's classes the GPU could take: level 0 serves, kNever does not.
ClassTable::Levels NodeFragments::InstanceLevels(std::size_t gpu, const CompactGpu& state) const {
  ClassTable::Levels levels;
  levels.fill(ClassTable::kNever);
  const GpuModel* model = node_.state.gpus[gpu].model.get();
  for (const auto& [index, name] : classes_.instances) {
    const auto profile = model->FindProfile(name);
    if (profile &&
        HasStart(model->profiles[static_cast<std::size_t>(*profile)], state.free_slices)) {
      levels[index] = 0;
    }
  }
  return levels;
}

// The loop over the classes has no branch, so that the compiler makes vectors of it.
void NodeFragments::Add(std::size_t gpu, const CompactGpu& state, std::int32_t sign,
                        Sums& sums) const {
  ClassTable::Levels own;
  const ClassTable::Levels* levels = nullptr;
  std::int32_t level = 0;
  switch (state.kind) {
    case GpuKind::kClosed:
      return;
    case GpuKind::kWhole:
      levels = &classes_.whole_level;
      level = state.free_units;
      break;
    case GpuKind::kShared:
      levels = &classes_.slot_level;
      level = state.free_slots;
      break;
    case GpuKind::kFractional:
      levels = &classes_.fraction_level;
      level = state.free_sharers > 0 ? state.free_units : 0;
      break;
    case GpuKind::kMig:
      own = InstanceLevels(gpu, state);
      levels = &own;
      break;
  }
  if (!classes_.restrictions.empty()) {
    if (levels != &own) own = *levels;
    for (std::size_t r = 0; r < accepted_.size(); ++r) {
      if (accepted_[r].Of(gpu) == Acceptance::kAccepted) continue;
      for (const std::size_t m : classes_.restrictions[r].indices) own[m] = ClassTable::kNever;
    }
    levels = &own;
  }
  const std::int32_t units = sign * state.free_units;
  for (std::size_t m = 0; m < classes_.size; ++m) {
    const bool serves = level >= (*levels)[m];
    sums.serving[m] += serves ? sign : 0;
    sums.useless[m] += serves ? 0 : units;
  }
}

std::int64_t NodeFragments::Weighted(const Sums& sums, std::int64_t free_cpu_milli) const {
  std::int64_t weighted = 0;
  for (std::size_t m = 0; m < classes_.size; ++m) {
    const bool fits =
        sums.serving[m] >= classes_.gpus[m] && free_cpu_milli >= classes_.cpu_milli[m];
    weighted += classes_.count[m] * (fits ? sums.useless[m] : sums.free_units);
  }
  return weighted;
}

std::int64_t Fragmentation(const ClassTable& classes, const NodeView& node) {
  return NodeFragments(classes, node).Sum();
}

}  // namespace offcut::binpack
