// What the tests of MIG tables share: models by name, and the layouts of a part of seven slices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "binpack/mig_layouts.h"
#include "binpack/mig_potential.h"

namespace offcut::binpack {

inline const GpuModel& Model(const std::string& name) {
  const GpuModel* model = FindModel(name);
  EXPECT_NE(model, nullptr) << name;
  return model != nullptr ? *model : BuiltInModels().front();
}

inline const MigLayouts& SevenSlices() {
  static const MigLayouts layouts = BuildMigLayouts(Model("A100-40GB"), {});
  return layouts;
}

// An instance of the profile on that part.
inline MigInstance At(const std::string& name, int start) {
  const GpuModel& model = *SevenSlices().model;
  const int profile = model.FindProfile(name).value_or(-1);
  return {profile, {start, model.profiles[static_cast<std::size_t>(profile)].memory_slices}};
}

inline int Layout(const MigState& state) { return FindLayout(SevenSlices(), {state}); }

inline std::int64_t Of(const LayoutPotential& potential, const MigState& state) {
  return potential[static_cast<std::size_t>(Layout(state))];
}

inline ProfileWeights EqualWeights(const MigLayouts& layouts) {
  ProfileWeights weights(layouts.model->profiles.size());
  for (const int p : layouts.profiles) weights[static_cast<std::size_t>(p)] = 1;
  return weights;
}

}  // namespace offcut::binpack
