#include "binpack/mig_packing.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <string>
#include <utility>

namespace offcut::binpack {
namespace {

// How many instances of each wanted profile; element i belongs to wanted[i].
using Counts = std::vector<int>;

// One GPU's way to serve some of what is wanted.
struct Service {
  Counts counts;
  std::vector<MigInstance> instances;
};

bool Exceeds(const Counts& a, const Counts& b) {  // in every element at least as large
  return std::ranges::equal(a, b, [](int x, int y) { return x >= y; });
}

// Drops what another one exceeds.
template <typename Entry>
void KeepLargest(std::vector<Entry>& entries) {
  std::vector<Entry> kept;
  std::ranges::stable_sort(entries,
                           [](const Entry& a, const Entry& b) { return a.counts > b.counts; });
  for (Entry& entry : entries) {
    const bool is_exceeded = std::ranges::any_of(
        kept, [&](const Entry& larger) { return Exceeds(larger.counts, entry.counts); });
    if (!is_exceeded) kept.push_back(std::move(entry));
  }
  entries = std::move(kept);
}

// A node reports its GPUs' profiles, and a pod may ask for all of them: 16 of one slice each would
// be arranged in 16! ways. What fits after a start is the same for equal counts before it, so each
// such state is looked at once; a GPU with more of them than this is given up. No model that is
// built in has 300, whatever is asked for.
constexpr std::size_t kStatesMax = 16 * kServedCountsMax;

// Enumerates what one GPU can serve beside its instances. Instances are added in ascending order of
// start.
class Services {
 public:
  Services(const GpuModel& model, std::span<const ProfileCount> wanted) : model_(model) {
    for (const ProfileCount& profile : wanted) {
      profiles_.push_back(model.FindProfile(profile.profile).value_or(-1));
      limits_.push_back(profile.count);
    }
  }

  // nullopt: given up.
  std::optional<std::vector<Service>> Enumerate(const MigRoom& room) {
    counts_.assign(limits_.size(), 0);
    Descend(room, 0);
    if (IsGivenUp()) return std::nullopt;
    KeepLargest(services_);
    return std::move(services_);
  }

 private:
  bool IsGivenUp() const {
    return visited_.size() > kStatesMax || services_.size() > kServedCountsMax;
  }

  void Descend(const MigRoom& room, int first_start) {
    if (IsGivenUp() || !visited_.emplace(first_start, counts_).second) return;
    bool is_maximal = true;
    for (std::size_t i = 0; i < profiles_.size(); ++i) {
      if (profiles_[i] < 0 || counts_[i] == limits_[i]) continue;
      const MigProfile& profile = model_.profiles[static_cast<std::size_t>(profiles_[i])];
      for (const int start : profile.starts) {
        if (start < first_start || !FitsAt(profile, start, room)) continue;
        is_maximal = false;
        MigRoom rest = room;
        TakeRoom(profile, start, rest);
        ++counts_[i];
        instances_.push_back({profiles_[i], {start, profile.memory_slices}});
        Descend(rest, start + profile.memory_slices);
        instances_.pop_back();
        --counts_[i];
      }
    }
    if (is_maximal && seen_.insert(counts_).second) services_.push_back({counts_, instances_});
  }

  const GpuModel& model_;
  std::vector<int> profiles_;  // index in the model; -1: it has none of that name
  Counts limits_;
  Counts counts_;
  std::vector<MigInstance> instances_;
  std::set<std::pair<int, Counts>> visited_;  // by the first start that is left
  std::set<Counts> seen_;
  std::vector<Service> services_;
};

// What the first GPUs serve together, and how it came about.
struct Served {
  Counts counts;
  int before = -1;   // index in the previous GPU's list
  int service = -1;  // index in this GPU's services
};

struct GpuStep {
  int gpu = 0;
  std::vector<Service> services;
  std::vector<Served> served;
};

GpuStep Combine(int gpu, std::vector<Service> services, const std::vector<Served>& before,
                std::span<const ProfileCount> wanted) {
  GpuStep step{.gpu = gpu, .services = std::move(services), .served = {}};
  std::set<Counts> seen;
  for (std::size_t b = 0; b < before.size(); ++b) {
    for (std::size_t s = 0; s < step.services.size(); ++s) {
      Counts sum = before[b].counts;
      for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] = std::min(sum[i] + step.services[s].counts[i], wanted[i].count);
      }
      if (seen.insert(sum).second) {
        step.served.push_back({std::move(sum), static_cast<int>(b), static_cast<int>(s)});
      }
    }
  }
  KeepLargest(step.served);
  return step;
}

// Follows the way back from what was reached, and drops instances beyond what is wanted.
std::vector<Piece> Trace(const NodeState& node, const std::vector<GpuStep>& steps,
                         std::span<const ProfileCount> wanted, int reached) {
  Counts missing;
  for (const ProfileCount& profile : wanted) missing.push_back(profile.count);
  std::vector<Piece> pieces;
  for (std::size_t s = steps.size(); s-- > 0;) {
    const GpuStep& step = steps[s];
    const Served& served = step.served[static_cast<std::size_t>(reached)];
    const GpuModel& model = *node.gpus[static_cast<std::size_t>(step.gpu)].model;
    for (const MigInstance& instance :
         step.services[static_cast<std::size_t>(served.service)].instances) {
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (model.FindProfile(wanted[i].profile) != instance.profile || missing[i] == 0) continue;
        --missing[i];
        pieces.push_back({.kind = PieceKind::kInstance,
                          .gpu = step.gpu,
                          .profile = instance.profile,
                          .slices = instance.slices});
        break;
      }
    }
    reached = served.before;
  }
  std::ranges::sort(pieces, {},
                    [](const Piece& piece) { return std::pair(piece.gpu, piece.slices.start); });
  return pieces;
}

}  // namespace

MigRoom RoomOf(const GpuModel& model, const MigGpu& gpu) {
  MigRoom room{.free_slices = SliceMask({0, model.memory_slices}), .engines = model.engines};
  for (const MigInstance& instance : gpu.instances) {
    room.free_slices = static_cast<std::uint16_t>(room.free_slices & ~SliceMask(instance.slices));
    room.engines -= model.profiles[static_cast<std::size_t>(instance.profile)].engines;
  }
  return room;
}

bool FitsAt(const MigProfile& profile, int start, const MigRoom& room) {
  const std::uint16_t mask = SliceMask({start, profile.memory_slices});
  return (room.free_slices & mask) == mask && profile.engines.FitsIn(room.engines);
}

void TakeRoom(const MigProfile& profile, int start, MigRoom& room) {
  assert(FitsAt(profile, start, room));
  const std::uint16_t mask = SliceMask({start, profile.memory_slices});
  room.free_slices = static_cast<std::uint16_t>(room.free_slices & ~mask);
  room.engines -= profile.engines;
}

std::optional<std::vector<Piece>> PlaceJointly(const NodeState& node, std::span<const int> gpus,
                                               std::span<const ProfileCount> wanted) {
  Counts goal;
  for (const ProfileCount& profile : wanted) goal.push_back(profile.count);
  std::vector<GpuStep> steps;
  std::vector<Served> before = {{Counts(wanted.size(), 0), -1, -1}};
  for (const int index : gpus) {
    const Gpu& gpu = node.gpus[static_cast<std::size_t>(index)];
    const auto* mig = std::get_if<MigGpu>(&gpu.state);
    if (mig == nullptr || gpu.model == nullptr) continue;
    auto services = Services(*gpu.model, wanted).Enumerate(RoomOf(*gpu.model, *mig));
    if (!services) return std::nullopt;
    steps.push_back(Combine(index, *std::move(services), before, wanted));
    before = steps.back().served;
    if (before.size() > kServedCountsMax) return std::nullopt;
    const auto reached = std::ranges::find(before, goal, &Served::counts);
    if (reached != before.end()) {
      return Trace(node, steps, wanted, static_cast<int>(reached - before.begin()));
    }
  }
  return std::nullopt;
}

}  // namespace offcut::binpack
