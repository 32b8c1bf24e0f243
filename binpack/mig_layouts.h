// The layouts of a GPU in MIG mode, numbered: which slices its instances cover and which media
// engines they hold, so that what a strategy knows about a GPU is an element of a table.
//
// What surprises: the mask of used slices is not the whole state. Two GPUs with the same four
// slices taken differ where one holds a 4g and the other four 1g (the first comes free at once), or
// where one holds the only optical flow accelerator. Instances that differ in neither slices nor
// engines that can run out are one and the same here: 3g@0 and 4g@0, a 2g and a 1g with double
// memory. Units: memory slices. Pure; immutable once built, so threads may share it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "binpack/mig_states.h"
#include "binpack/node_state.h"

namespace offcut::binpack {

// An instance of some profile more: where it would start, and the layout that it makes.
struct LayoutStep {
  int start = 0;
  int layout = 0;
  bool operator==(const LayoutStep&) const = default;
};

struct MigLayout {
  std::uint16_t used_slices = 0;  // bit i: slice i
  int free_slices = 0;
  std::vector<int> after_exit;                 // layout when one instance ends; one an instance
  std::vector<std::vector<LayoutStep>> steps;  // element i: of the model's profile i, by start
};

struct MigLayouts {
  const GpuModel* model = nullptr;  // not owned; lives as long as this
  ProfileSet profiles;              // the ones that `steps` know; of the others they are empty
  std::vector<MigLayout> layouts;   // element 0: the empty GPU

  // How FindLayout reads instances: for each profile and start a kind, and the layout that a sorted
  // list of kinds is. kinds[profile][index in starts]; profiles that are not in `profiles` have the
  // kinds of the plain profile that covers the same slices.
  std::vector<std::vector<int>> kinds;
  std::vector<int> plain_kinds;  // element k: the kind without suffix that covers k's slices
  std::map<std::vector<int>, int> numbers;
};

// Every layout that `profiles` and the model's profiles without suffix can form. Media engines that
// the slices never let run out are left out of what tells layouts apart.
// Requires: the model has MIG; `profiles` are indices in it.
MigLayouts BuildMigLayouts(const GpuModel& model, const ProfileSet& profiles);

// The number of the GPU's layout. Where an instance holds engines that `profiles` know nothing of,
// the plain profile on the same slices stands for it.
// Requires: the GPU is of the layouts' model, and its instances are legal.
int FindLayout(const MigLayouts& layouts, const MigGpu& gpu);

}  // namespace offcut::binpack
