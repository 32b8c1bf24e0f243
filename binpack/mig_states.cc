#include "binpack/mig_states.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

namespace offcut::binpack {
namespace {

constexpr int kSlicesMax = 16;  // as many as a mask has bits

const MigProfile& ProfileOf(const GpuModel& model, int profile) {
  assert(profile >= 0 && static_cast<std::size_t>(profile) < model.profiles.size());
  return model.profiles[static_cast<std::size_t>(profile)];
}

bool IsBase(const MigProfile& profile) {
  return profile.name.find_first_of("+-") == std::string::npos;
}

template <typename Predicate>
ProfileSet ProfilesWhere(const GpuModel& model, Predicate predicate) {
  ProfileSet profiles;
  for (int i = 0; const MigProfile& profile : model.profiles) {
    if (predicate(profile)) profiles.push_back(i);
    ++i;
  }
  return profiles;
}

// Every place where one instance of one of `profiles` may stand, by start.
std::vector<MigInstance> AllInstances(const GpuModel& model, const ProfileSet& profiles) {
  std::vector<MigInstance> instances;
  for (const int index : profiles) {
    const MigProfile& profile = ProfileOf(model, index);
    for (const int start : profile.starts) {
      assert(start + profile.memory_slices <= model.memory_slices);
      instances.push_back({index, {start, profile.memory_slices}});
    }
  }
  std::ranges::stable_sort(instances, {}, [](const MigInstance& i) { return i.slices.start; });
  return instances;
}

EngineCounts TakenEngines(const GpuModel& model, const MigState& state) {
  EngineCounts taken;
  for (const MigInstance& instance : state) taken += ProfileOf(model, instance.profile).engines;
  return taken;
}

bool EnginesSuffice(const GpuModel& model, EngineCounts taken, const MigInstance& added,
                    EngineLimits limits) {
  if (limits == EngineLimits::kIgnored) return true;
  taken += ProfileOf(model, added.profile).engines;
  return taken.FitsIn(model.engines);
}

}  // namespace

std::uint16_t SliceMask(SliceRange slices) {
  assert(slices.start >= 0 && slices.size >= 0 && slices.start + slices.size <= kSlicesMax);
  return static_cast<std::uint16_t>(((1U << slices.size) - 1U) << slices.start);
}

ProfileSet AllProfiles(const GpuModel& model) {
  return ProfilesWhere(model, [](const MigProfile&) { return true; });
}

ProfileSet BaseProfiles(const GpuModel& model) { return ProfilesWhere(model, IsBase); }

ProfileSet ClassicProfiles(const GpuModel& model) {
  // A doubled profile has a sibling of as many compute slices and less memory.
  return ProfilesWhere(model, [&](const MigProfile& profile) {
    return IsBase(profile) && std::ranges::none_of(model.profiles, [&](const MigProfile& other) {
             return IsBase(other) && other.compute_slices == profile.compute_slices &&
                    other.memory_slices < profile.memory_slices;
           });
  });
}

std::vector<MigState> ReachableStates(const GpuModel& model, const ProfileSet& profiles,
                                      EngineLimits limits) {
  const std::vector<MigInstance> instances = AllInstances(model, profiles);
  std::vector<MigState> states = {MigState{}};
  // Each state grows only to the right of its last instance, so each is made once: from itself
  // without that instance, which is legal too because engines are only ever added.
  for (std::size_t i = 0; i < states.size(); ++i) {
    const int end =
        states[i].empty() ? 0 : states[i].back().slices.start + states[i].back().slices.size;
    const EngineCounts taken = TakenEngines(model, states[i]);
    for (const MigInstance& instance : instances) {
      if (instance.slices.start < end) continue;
      if (!EnginesSuffice(model, taken, instance, limits)) continue;
      MigState next = states[i];
      next.push_back(instance);
      states.push_back(std::move(next));
    }
  }
  return states;
}

bool IsMaximal(const GpuModel& model, const ProfileSet& profiles, const MigState& state,
               EngineLimits limits) {
  unsigned occupied = 0;
  for (const MigInstance& instance : state) occupied |= SliceMask(instance.slices);
  const EngineCounts taken = TakenEngines(model, state);
  return std::ranges::none_of(AllInstances(model, profiles), [&](const MigInstance& instance) {
    return (occupied & SliceMask(instance.slices)) == 0 &&
           EnginesSuffice(model, taken, instance, limits);
  });
}

std::vector<int> ProfileCounts(const GpuModel& model, const MigState& state) {
  std::vector<int> counts(model.profiles.size());
  for (const MigInstance& instance : state) {
    assert(instance.profile >= 0 && static_cast<std::size_t>(instance.profile) < counts.size());
    ++counts[static_cast<std::size_t>(instance.profile)];
  }
  return counts;
}

}  // namespace offcut::binpack
