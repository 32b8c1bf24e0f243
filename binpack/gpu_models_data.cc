// The geometry that is compiled in: 21 GPU models. A row says only what differs; names come from
// DeriveProfileName, and what a GPU has of engines is what its largest profile takes.
//
// Sources: printed `nvidia-smi mig -lgip` and `-lgipp` listings where there are any (A30, A100,
// H100, RTX PRO 6000), else NVIDIA's MIG User Guide and sibling parts. 0 and {} mean: not known.
// Memory is in GiB with two decimals because listings print it so; drivers differ by some
// hundredths.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "binpack/gpu_model.h"

namespace offcut::binpack {
namespace {

struct ProfileRow {
  int id;  // -1: not known
  int compute_slices;
  int memory_slices;
  std::vector<int> starts;
  int instances_max;
  std::string attribute;  // as DeriveProfileName takes it; empty: none
  double memory_gib;      // 0: not known
  int multiprocessors;    // 0: not known
  EngineCounts engines;   // copy, decoder, encoder, JPEG, OFA
};

// A GPU without its profiles.
struct ModelRow {
  std::string name;
  int memory_gib = 0;
  std::vector<std::string> product_globs;
  std::vector<std::string> pci_device_ids;
  // Another total that some driver branch reports, and derives other names from; 0: there is none.
  int alias_memory_gib = 0;
};

// What the 7-slice parts differ in.
struct SevenSliceRow {
  ModelRow model;
  std::array<double, 4> memory_gib;            // of an instance of 1, 2, 4 and 8 memory slices
  std::array<int, 6> multiprocessors;          // of 1g, 1g with double memory, 2g, 3g, 4g, 7g
  const std::array<EngineCounts, 7>& engines;  // in the order of SevenSliceProfiles
};

// clang-format off

// Engines of the 7-slice parts: copy, decoder, encoder, JPEG, OFA. Blackwell's 3g and 4g are
// inferred from their neighbours; the User Guide prints 1 decoder in every row, listings do not.
constexpr std::array<EngineCounts, 7> kAmpereEngines = {{
    {1, 0, 0, 0, 0},   // 1g
    {1, 1, 0, 1, 1},   // 1g+me
    {1, 1, 0, 0, 0},   // 1g with double memory
    {2, 1, 0, 0, 0},   // 2g
    {3, 2, 0, 0, 0},   // 3g
    {4, 2, 0, 0, 0},   // 4g
    {7, 5, 0, 1, 1}}}; // 7g
constexpr std::array<EngineCounts, 7> kHopperEngines = {{
    {1, 1, 0, 1, 0},
    {1, 1, 0, 1, 1},
    {1, 1, 0, 1, 0},
    {2, 2, 0, 2, 0},
    {3, 3, 0, 3, 0},
    {4, 4, 0, 4, 0},
    {8, 7, 0, 7, 1}}};
constexpr std::array<EngineCounts, 7> kBlackwellEngines = {{
    {2, 1, 0, 1, 0},
    {2, 1, 0, 1, 1},
    {2, 1, 0, 1, 0},
    {4, 2, 0, 2, 0},
    {6, 3, 0, 3, 0},
    {8, 4, 0, 4, 0},
    {16, 7, 0, 7, 1}}};

// Multiprocessors are not proportional to the "g": a 1g with double memory gets more on an H100.
// An A100 has 108, of which MIG can use 98.
constexpr std::array<int, 6> kA100Multiprocessors     = {14, 14, 28, 42, 56,  98};
constexpr std::array<int, 6> kH100SxmMultiprocessors  = {16, 26, 32, 60, 64, 132};
constexpr std::array<int, 6> kH100PcieMultiprocessors = {14, 14, 30, 46, 62, 114};
constexpr std::array<int, 6> kB200Multiprocessors     = {18, 30, 36,  0,  0, 148};
constexpr std::array<int, 6> kGb200Multiprocessors    = {18, 32, 38,  0,  0, 152};
constexpr std::array<int, 6> kUnknownMultiprocessors  = {};

// One layout for every 7-slice part. Slices 0 to 3 lie beside four compute slices, 4 to 7 beside
// three: slice 7 has none of its own, so a 1g or a 2g cannot take it.
std::vector<ProfileRow> SevenSliceProfiles(const SevenSliceRow& row) {
  const auto& gib = row.memory_gib;
  const auto& multiprocessors = row.multiprocessors;
  const auto& engines = row.engines;
  return {
      // id compute memory starts           max attr  GiB     multiprocessors     engines
      {19, 1, 1, {0, 1, 2, 3, 4, 5, 6}, 7, "",   gib[0], multiprocessors[0], engines[0]},
      {20, 1, 1, {0, 1, 2, 3, 4, 5, 6}, 1, "me", gib[0], multiprocessors[0], engines[1]},
      {15, 1, 2, {0, 2, 4, 6},          4, "",   gib[1], multiprocessors[1], engines[2]},
      {14, 2, 2, {0, 2, 4},             3, "",   gib[1], multiprocessors[2], engines[3]},
      { 9, 3, 4, {0, 4},                2, "",   gib[2], multiprocessors[3], engines[4]},
      { 5, 4, 4, {0},                   1, "",   gib[2], multiprocessors[4], engines[5]},
      { 0, 7, 8, {0},                   1, "",   gib[3], multiprocessors[5], engines[6]},
  };
}

// What an instance of 1, 2, 4 and 8 slices shows a program; A800 and H800 copy A100 and H100.
constexpr std::array<double, 4> kA100x40Gib = {4.75, 9.62, 19.5, 39.25};
constexpr std::array<double, 4> kA100x80Gib = {9.62, 19.5, 39.25, 78.5};
constexpr std::array<double, 4> kH100x80Gib = {9.75, 19.62, 39.5, 79.25};
constexpr std::array<double, 4> kH100x94Gib = {10.75, 21.62, 46.38, 93.12};

std::vector<SevenSliceRow> SevenSliceRows() {
  return {
      {{"A100-40GB", 40, {"A100-SXM4-40GB", "A100-PCIE-40GB"}, {"0x20B0", "0x20B1", "0x20F1"}},
       kA100x40Gib, kA100Multiprocessors, kAmpereEngines},
      {{"A100-80GB", 80, {"A100-SXM4-80GB", "A100-80GB-PCIe", "A100-PCIE-80GB"},
        {"0x20B2", "0x20B5"}},
       kA100x80Gib, kA100Multiprocessors, kAmpereEngines},
      {{"A800-40GB", 40, {"A800-*40GB"}, {"0x20F6"}},
       kA100x40Gib, kA100Multiprocessors, kAmpereEngines},
      {{"A800-80GB", 80, {"A800-SXM4-80GB", "A800-80GB-PCIe"}, {"0x20F3", "0x20F5"}},
       kA100x80Gib, kA100Multiprocessors, kAmpereEngines},

      {{"H100-80GB-SXM", 80, {"H100-80GB-HBM3"}, {"0x2330"}},
       kH100x80Gib, kH100SxmMultiprocessors, kHopperEngines},
      {{"H100-80GB-PCIe", 80, {"H100-PCIe"}, {"0x2331"}},
       kH100x80Gib, kH100PcieMultiprocessors, kHopperEngines},
      // The multiprocessors are the SXM part's; no listing of an H800 PCIe was found.
      {{"H800-80GB", 80, {"H800", "H800-SXM5", "H800-80GB*", "H800-PCIe"}, {"0x2324", "0x2322"}},
       kH100x80Gib, kH100SxmMultiprocessors, kHopperEngines},
      {{"H100-94GB", 94, {"H100-NVL", "H100-*94GB"}, {"0x2321"}},
       kH100x94Gib, kH100SxmMultiprocessors, kHopperEngines},
      {{"H800-94GB-NVL", 94, {"H800-NVL"}, {"0x233A"}},
       kH100x94Gib, kH100SxmMultiprocessors, kHopperEngines},
      // The product name of a GH200 counts the memory of its CPU: 480 GB.
      {{"H100-96GB / GH200-96GB", 96, {"GH200-480GB", "H100-*96GB"}, {"0x2342", "0x233D"}},
       {11, 23, 46.5, 93}, kH100SxmMultiprocessors, kHopperEngines},
      {{"H20-96GB", 96, {"H20"}, {"0x2329"}},
       {}, kUnknownMultiprocessors, kHopperEngines},
      {{"H200-141GB", 141, {"H200", "H200-NVL", "H200-141GB"}, {"0x2335", "0x233B"}},
       {16, 32.25, 69.5, 0}, kH100SxmMultiprocessors, kHopperEngines},
      {{"GH200-144GB", 144, {"GH200-144G-HBM3e"}, {"0x2348"}},
       {17.5, 35.25, 0, 0}, kH100SxmMultiprocessors, kHopperEngines},

      {{"B200", 180, {"B200"}, {"0x2901"}},
       {22, 44.25, 0, 0}, kB200Multiprocessors, kBlackwellEngines},
      // The first boards reported 189 GiB.
      {{"GB200", 186, {"GB200"}, {"0x2941"}, 189},
       {22, 45.5, 0, 0}, kGb200Multiprocessors, kBlackwellEngines},
      {{"B300", 269, {"B300", "B300-SXM6-AC"}, {"0x3182"}},
       {33.75, 0, 0, 0}, kUnknownMultiprocessors, kBlackwellEngines},
      // Driver branch 595 reports 278 GiB, branch 610 251 GiB.
      {{"GB300", 278, {"GB300"}, {"0x31C2"}, 251},
       {}, kUnknownMultiprocessors, kBlackwellEngines},
  };
}

std::vector<ProfileRow> A30Profiles() {
  return {
      // id compute memory starts   max attr   GiB  multiprocessors, engines
      {14, 1, 1, {0, 1, 2, 3}, 4, "",    5.81, 14, {1, 1, 0, 0, 0}},
      {21, 1, 1, {0, 1, 2, 3}, 1, "me",  5.81, 14, {1, 1, 0, 1, 1}},
      { 5, 2, 2, {0, 2},       2, "",   11.69, 28, {2, 2, 0, 0, 0}},
      { 6, 2, 2, {0, 2},       1, "me", 11.69, 28, {2, 2, 0, 1, 1}},
      { 0, 4, 4, {0},          1, "",   23.44, 56, {4, 4, 0, 1, 1}},
  };
}

// "+gfx" allows graphics, "-me" has no media engine, "+me.all" takes all of them: only "-me"
// instances can stand beside it.
std::vector<ProfileRow> RtxPro6000Profiles() {
  return {
      // id compute memory starts   max attr        GiB  multiprocessors, engines
      {14, 1,  3, {0, 3, 6, 9}, 4, "",       23.62,  46, {1, 1, 1, 1, 0}},
      {21, 1,  3, {0, 3, 6, 9}, 1, "me",     23.62,  46, {1, 1, 1, 1, 1}},
      {47, 1,  3, {0, 3, 6, 9}, 4, "gfx",    23.62,  46, {1, 1, 1, 1, 0}},
      {65, 1,  3, {0, 3, 6, 9}, 1, "me.all", 23.62,  46, {1, 4, 4, 4, 1}},
      {67, 1,  3, {0, 3, 6, 9}, 4, "-me",    23.62,  46, {1, 0, 0, 0, 0}},
      { 5, 2,  6, {0, 6},       2, "",       47.38,  94, {2, 2, 2, 2, 0}},
      {35, 2,  6, {0, 6},       2, "gfx",    47.38,  94, {2, 2, 2, 2, 0}},
      {64, 2,  6, {0, 6},       1, "me.all", 47.38,  94, {2, 4, 4, 4, 1}},
      {66, 2,  6, {0, 6},       2, "-me",    47.38,  94, {2, 0, 0, 0, 0}},
      { 0, 4, 12, {0},          1, "",       95,    188, {4, 4, 4, 4, 1}},
      {32, 4, 12, {0},          1, "gfx",    95,    188, {4, 4, 4, 4, 1}},
  };
}

// No listing was found of the two smaller boards: their memory slices are abstract halves. Editions
// of the User Guide disagree on the 5000; this is the R610 one, of two instances at most.
std::vector<ProfileRow> RtxPro5000Profiles() {
  return {
      {-1, 1, 1, {0, 1}, 2, "",       0, 0, {1, 1, 1, 0, 0}},
      {-1, 1, 1, {0, 1}, 1, "me",     0, 0, {1, 1, 1, 1, 1}},
      {-1, 1, 1, {0, 1}, 2, "gfx",    0, 0, {1, 1, 1, 0, 0}},
      {-1, 1, 1, {0, 1}, 1, "me.all", 0, 0, {1, 3, 3, 1, 1}},
      {-1, 1, 1, {0, 1}, 2, "-me",    0, 0, {1, 0, 0, 0, 0}},
      {-1, 2, 2, {0},    1, "",       0, 0, {4, 3, 3, 1, 1}},
      {-1, 2, 2, {0},    1, "gfx",    0, 0, {4, 3, 3, 1, 1}},
  };
}

std::vector<ProfileRow> RtxPro4500Profiles() {
  return {
      {-1, 1, 1, {0, 1}, 2, "",       0, 0, {1, 1, 1, 1, 0}},
      {-1, 1, 1, {0, 1}, 2, "gfx",    0, 0, {1, 1, 1, 1, 0}},
      {-1, 1, 1, {0, 1}, 1, "me.all", 0, 0, {1, 3, 3, 2, 1}},
      {-1, 1, 1, {0, 1}, 2, "-me",    0, 0, {1, 0, 0, 0, 0}},
      {-1, 2, 2, {0},    1, "",       0, 0, {2, 3, 3, 2, 1}},
      {-1, 2, 2, {0},    1, "gfx",    0, 0, {2, 3, 3, 2, 1}},
  };
}

// clang-format on

std::string NameOf(const ProfileRow& row, int gpu_memory_slices, int total_gib) {
  std::vector<std::string> attributes;
  if (!row.attribute.empty()) attributes.push_back(row.attribute);
  return DeriveProfileName(row.compute_slices, row.memory_slices, gpu_memory_slices, total_gib,
                           attributes);
}

MigProfile MakeProfile(const ProfileRow& row, int gpu_memory_slices, int total_gib) {
  return {.name = NameOf(row, gpu_memory_slices, total_gib),
          .id = row.id,
          .compute_slices = row.compute_slices,
          .memory_slices = row.memory_slices,
          .memory_mib = static_cast<int>(std::lround(row.memory_gib * 1024)),
          .multiprocessors = row.multiprocessors,
          .instances_max = row.instances_max,
          .starts = row.starts,
          .engines = row.engines};
}

GpuModel MakeModel(const ModelRow& row, const std::vector<ProfileRow>& profiles) {
  // The largest profile is the whole GPU: it has every engine and every usable compute slice.
  const ProfileRow& whole = *std::ranges::max_element(profiles, {}, &ProfileRow::memory_slices);
  GpuModel model = {.name = row.name,
                    .product_globs = row.product_globs,
                    .pci_device_ids = row.pci_device_ids,
                    .memory_gib = row.memory_gib,
                    .compute_slices = whole.compute_slices,
                    .memory_slices = whole.memory_slices,
                    .engines = whole.engines,
                    .profiles = {},
                    .profile_aliases = {}};
  for (const ProfileRow& profile : profiles) {
    model.profiles.push_back(MakeProfile(profile, whole.memory_slices, row.memory_gib));
    if (row.alias_memory_gib == 0) continue;
    std::string alias = NameOf(profile, whole.memory_slices, row.alias_memory_gib);
    const std::string& name = model.profiles.back().name;
    if (alias != name) model.profile_aliases.emplace_back(std::move(alias), name);
  }
  return model;
}

std::vector<GpuModel> MakeModels() {
  std::vector<GpuModel> models;
  models.push_back(MakeModel({"A30-24GB", 24, {"A30"}, {"0x20B7"}}, A30Profiles()));
  for (const SevenSliceRow& row : SevenSliceRows()) {
    models.push_back(MakeModel(row.model, SevenSliceProfiles(row)));
  }
  models.push_back(MakeModel({"RTX-PRO-6000-Blackwell-96GB",
                              96,
                              {"RTX-PRO-6000-Blackwell", "RTX-PRO-6000-Blackwell-Server-Edition",
                               "RTX-PRO-6000-Blackwell-Workstation-Edition",
                               "RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edition"},
                              {"0x2BB5"}},
                             RtxPro6000Profiles()));
  models.push_back(MakeModel({"RTX-PRO-5000-Blackwell-48GB", 48, {"RTX-PRO-5000-Blackwell"}, {}},
                             RtxPro5000Profiles()));
  models.push_back(MakeModel({"RTX-PRO-4500-Blackwell-32GB", 32, {"RTX-PRO-4500-Blackwell"}, {}},
                             RtxPro4500Profiles()));
  return models;
}

}  // namespace

std::span<const GpuModel> BuiltInModels() {
  // Never destroyed: other threads may still read it while the program exits.
  static const std::vector<GpuModel>& models = *new std::vector<GpuModel>(MakeModels());
  return models;
}

}  // namespace offcut::binpack
