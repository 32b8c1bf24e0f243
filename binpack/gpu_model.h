// What NVIDIA's hardware allows: GPU models, their MIG profiles, and where an instance may stand.
//
// A GPU in MIG mode is cut along memory slices. How many it has differs by model (8 on most, 4 on
// an A30, 12 on an RTX PRO 6000), and one profile name means different sizes on different models,
// so a profile is only ever looked up on a model.
// A set of instances is legal iff their slices are disjoint and the media engines that they need
// exist. Limits of compute slices and of instances follow from these two rules.
//
// Units: memory slices, unless a name says otherwise.
// Source: printed `nvidia-smi mig -lgip` and `-lgipp` listings, NVIDIA's MIG User Guide.
// Pure; everything here is immutable and may be shared between threads.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace offcut::binpack {

// Copy engines, decoders, encoders, JPEG decoders and optical flow accelerators.
struct EngineCounts {
  int copy = 0;
  int decoder = 0;
  int encoder = 0;
  int jpeg = 0;
  int ofa = 0;

  EngineCounts& operator+=(const EngineCounts& other);
  EngineCounts& operator-=(const EngineCounts& other);
  bool operator==(const EngineCounts&) const = default;

  // True iff every count is at most the one of `budget`.
  bool FitsIn(const EngineCounts& budget) const;
};

struct MigProfile {
  std::string name;         // as nvidia-smi prints it: "1g.10gb+me"
  int id = -1;              // of `nvidia-smi mig -lgip`; -1: not known
  int compute_slices = 0;   // the "1g"
  int memory_slices = 0;    // what an instance covers
  int memory_mib = 0;       // what a program sees; 0: not known
  int multiprocessors = 0;  // 0: not known
  int instances_max = 0;    // on one GPU
  std::vector<int> starts;  // first memory slices that the hardware accepts, ascending
  EngineCounts engines;     // what one instance takes
};

struct GpuModel {
  std::string name;                        // ours: "A100-40GB"
  std::vector<std::string> product_globs;  // GFD's product without "NVIDIA-" and suffixes; '*' only
  std::vector<std::string> pci_device_ids;  // "0x20B0"
  int memory_gib = 0;
  int compute_slices = 0;            // 0: the model has no MIG
  int memory_slices = 0;             // 0: the model has no MIG
  EngineCounts engines;              // what the GPU has
  std::vector<MigProfile> profiles;  // empty: the model has no MIG
  // Names that other driver branches print, and the name in `profiles` that each stands for.
  std::vector<std::pair<std::string, std::string>> profile_aliases;

  // The index in `profiles` of the profile called `profile_name` (or of the one it is an alias
  // for), or nullopt if this model has none of that name.
  std::optional<int> FindProfile(std::string_view profile_name) const;
};

// Matches text against a pattern in which '*' stands for any run of characters, the empty one too;
// ASCII case is ignored. Takes at most text.size() times pattern.size() steps.
bool MatchesGlob(std::string_view text, std::string_view pattern);

// The models whose geometry is compiled in, in the order of the source table.
std::span<const GpuModel> BuiltInModels();

// The built-in model of that name, or nullptr.
const GpuModel* FindModel(std::string_view model_name);

// The built-in model that a GFD product label stands for, or nullptr. Takes the label as it is:
// "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED" is an A100-40GB.
const GpuModel* FindModelByProduct(std::string_view product);

// The product label without the vendor and without what sharing and MIG append to it:
// "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED" gives "A100-SXM4-40GB"; "Tesla-T4-SHARED", "Tesla-T4".
// "-MIG-INVALID" goes too: such a node still has that product. The result is a part of `product`.
std::string_view BaseProduct(std::string_view product);

// The name that drivers give a profile: its share of the GPU's memory slices, rounded up to
// eighths, times the GPU's total memory, rounded half up to whole GB. `total_gib` is the ceiling of
// what the node's driver reports as total, in GiB. Attributes come as the name has them, but
// without a "+": {"me"} gives "+me", {"-me"} gives "-me", {"gfx", "me"} gives "+gfx,me".
// Example: (1, 1, 8, 80, {}) is "1g.10gb". Requires: slices and total above 0.
std::string DeriveProfileName(int compute_slices, int profile_memory_slices, int gpu_memory_slices,
                              int total_gib, std::span<const std::string> attributes);

}  // namespace offcut::binpack
