#include "binpack/mig_layouts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <compare>
#include <cstddef>
#include <utility>

#include "binpack/indexing.h"

namespace offcut::binpack {
namespace {

// What tells one instance from another.
struct Kind {
  int start = 0;
  int size = 0;
  std::array<int, 5> engines = {};
  auto operator<=>(const Kind&) const = default;
};

Kind KindOf(const MigProfile& profile, int start) {
  const EngineCounts& e = profile.engines;
  return {start, profile.memory_slices, {e.copy, e.decoder, e.encoder, e.jpeg, e.ofa}};
}

// The model with the engines forgotten that the limits of the others and disjoint slices never let
// run out: such an engine tells nothing about what fits.
GpuModel WithoutIdleEngines(GpuModel model, const ProfileSet& profiles) {
  std::size_t states = ReachableStates(model, profiles).size();
  for (int EngineCounts::* engine :
       {&EngineCounts::copy, &EngineCounts::decoder, &EngineCounts::encoder, &EngineCounts::jpeg,
        &EngineCounts::ofa}) {
    GpuModel without = model;
    for (MigProfile& profile : without.profiles) profile.engines.*engine = 0;
    if (ReachableStates(without, profiles).size() == states) model = std::move(without);
  }
  return model;
}

ProfileSet UnitedWith(ProfileSet profiles, const ProfileSet& others) {
  profiles.insert(profiles.end(), others.begin(), others.end());
  std::ranges::sort(profiles);
  profiles.erase(std::ranges::unique(profiles).begin(), profiles.end());
  return profiles;
}

// The plain profile that covers the same slices, or the profile itself.
MigProfile PlainSibling(const GpuModel& model, const MigProfile& profile, int start) {
  for (const int index : BaseProfiles(model)) {
    const MigProfile& plain = At(model.profiles, index);
    if (plain.memory_slices == profile.memory_slices &&
        std::ranges::count(plain.starts, start) == 1) {
      return plain;
    }
  }
  return profile;
}

void NumberKinds(const GpuModel& model, MigLayouts& result) {
  std::map<Kind, int> numbers;
  const auto number = [&numbers](const Kind& kind) {
    return numbers.try_emplace(kind, static_cast<int>(numbers.size())).first->second;
  };
  for (int p = 0; const MigProfile& profile : model.profiles) {
    const bool is_known = std::ranges::binary_search(result.profiles, p++);
    std::vector<int>& kinds = result.kinds.emplace_back();
    for (const int start : profile.starts) {
      const MigProfile& plain = PlainSibling(model, profile, start);
      kinds.push_back(number(KindOf(is_known ? profile : plain, start)));
      const int plain_kind = number(KindOf(plain, start));
      result.plain_kinds.resize(numbers.size(), -1);
      At(result.plain_kinds, kinds.back()) = plain_kind;
      At(result.plain_kinds, plain_kind) = plain_kind;
    }
  }
}

int KindOf(const MigLayouts& layouts, const MigInstance& instance) {
  const std::vector<int>& starts = At(layouts.model->profiles, instance.profile).starts;
  const auto start = std::ranges::find(starts, instance.slices.start);
  assert(start != starts.end());
  return At(At(layouts.kinds, instance.profile), static_cast<int>(start - starts.begin()));
}

std::vector<int> KindsOf(const MigLayouts& layouts, const MigState& instances) {
  std::vector<int> kinds;
  for (const MigInstance& instance : instances) kinds.push_back(KindOf(layouts, instance));
  std::ranges::sort(kinds);
  return kinds;
}

// Makes the layouts of the states, and gives each the number of its first state.
std::vector<const MigState*> NumberLayouts(const std::vector<MigState>& states,
                                           MigLayouts& result) {
  std::vector<const MigState*> firsts;
  for (const MigState& state : states) {
    const auto number = static_cast<int>(result.layouts.size());
    if (!result.numbers.try_emplace(KindsOf(result, state), number).second) continue;
    firsts.push_back(&state);
    MigLayout& layout = result.layouts.emplace_back();
    for (const MigInstance& instance : state) {
      layout.used_slices =
          static_cast<std::uint16_t>(layout.used_slices | SliceMask(instance.slices));
    }
    layout.free_slices = result.model->memory_slices - std::popcount(layout.used_slices);
    layout.steps.resize(result.model->profiles.size());
  }
  return firsts;
}

void LinkLayout(MigLayouts& result, int number, const MigState& state) {
  MigLayout& layout = At(result.layouts, number);
  for (std::size_t i = 0; i < state.size(); ++i) {
    MigState rest = state;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    layout.after_exit.push_back(result.numbers.at(KindsOf(result, rest)));
  }
  for (const int p : result.profiles) {
    const MigProfile& profile = At(result.model->profiles, p);
    for (const int start : profile.starts) {
      const SliceRange slices{start, profile.memory_slices};
      if ((layout.used_slices & SliceMask(slices)) != 0) continue;
      MigState more = state;
      more.push_back({p, slices});
      const auto after = result.numbers.find(KindsOf(result, more));
      if (after != result.numbers.end()) At(layout.steps, p).push_back({start, after->second});
    }
  }
}

}  // namespace

MigLayouts BuildMigLayouts(const GpuModel& model, const ProfileSet& profiles) {
  assert(model.memory_slices > 0);
  MigLayouts result;
  result.model = &model;
  result.profiles = UnitedWith(profiles, BaseProfiles(model));
  const GpuModel reduced = WithoutIdleEngines(model, result.profiles);
  NumberKinds(reduced, result);
  const std::vector<MigState> states = ReachableStates(reduced, result.profiles);
  const std::vector<const MigState*> firsts = NumberLayouts(states, result);
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    LinkLayout(result, static_cast<int>(i), *firsts[i]);
  }
  return result;
}

int FindLayout(const MigLayouts& layouts, const MigGpu& gpu) {
  std::vector<int> kinds = KindsOf(layouts, gpu.instances);
  const auto found = layouts.numbers.find(kinds);
  if (found != layouts.numbers.end()) return found->second;
  // Engines are short only by what stands in for others: slices alone decide then.
  for (int& kind : kinds) kind = At(layouts.plain_kinds, kind);
  std::ranges::sort(kinds);
  const auto plain = layouts.numbers.find(kinds);
  assert(plain != layouts.numbers.end());
  return plain->second;
}

}  // namespace offcut::binpack
