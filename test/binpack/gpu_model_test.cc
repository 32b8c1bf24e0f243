#include "binpack/gpu_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace offcut::binpack {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// The collected table that the compiled-in one must agree with.
const json& CollectedModels() {
  static const json& models = *new json(
      json::parse(std::ifstream(std::string(OFFCUT_SOURCE_DIR) + "/test/data/mig_profiles.json")));
  return models;
}

int IntOr(const json& value, int unknown) { return value.is_null() ? unknown : value.get<int>(); }

EngineCounts EnginesOf(const json& engines) {
  return {.copy = engines["ce"],
          .decoder = engines["dec"],
          .encoder = engines["enc"],
          .jpeg = engines["jpeg"],
          .ofa = engines["ofa"]};
}

std::vector<std::string> AttributesOf(const json& profile) { return profile["attributes"]; }

const GpuModel& Model(const std::string& name) {
  const GpuModel* model = FindModel(name);
  EXPECT_NE(model, nullptr) << name;
  return model != nullptr ? *model : BuiltInModels().front();
}

// The collected models one of whose patterns takes the whole `label`.
std::vector<std::string> CollectedModelsOf(const std::string& label) {
  std::vector<std::string> names;
  for (const json& model : CollectedModels()) {
    for (const json& pattern : model["product_label_patterns"]) {
      if (std::regex_match(label, std::regex(pattern.get<std::string>()))) {
        names.push_back(model["gpu"].get<std::string>());
      }
    }
  }
  return names;
}

// The built-in models one of whose globs takes the whole of `base`. Reads a glob in its own way.
std::vector<std::string> BuiltInModelsOf(const std::string& base) {
  std::vector<std::string> names;
  for (const GpuModel& model : BuiltInModels()) {
    for (const std::string& glob : model.product_globs) {
      const std::regex pattern(std::regex_replace(glob, std::regex("\\*"), ".*"));
      if (std::regex_match(base, pattern)) names.push_back(model.name);
    }
  }
  return names;
}

// At least one product of each pattern, and who it is.
const std::vector<std::pair<std::string, std::string>>& Products() {
  static const auto& products = *new std::vector<std::pair<std::string, std::string>>{
      {"A30", "A30-24GB"},
      {"A100-SXM4-40GB", "A100-40GB"},
      {"A100-PCIE-40GB", "A100-40GB"},
      {"A100-SXM4-80GB", "A100-80GB"},
      {"A100-80GB-PCIe", "A100-80GB"},
      {"A100-PCIE-80GB", "A100-80GB"},
      {"A800-40GB", "A800-40GB"},
      {"A800-PCIE-40GB", "A800-40GB"},
      {"A800-SXM4-80GB", "A800-80GB"},
      {"A800-80GB-PCIe", "A800-80GB"},
      {"H100-80GB-HBM3", "H100-80GB-SXM"},
      {"H100-PCIe", "H100-80GB-PCIe"},
      {"H800", "H800-80GB"},
      {"H800-SXM5", "H800-80GB"},
      {"H800-80GB", "H800-80GB"},
      {"H800-80GB-HBM3", "H800-80GB"},
      {"H800-PCIe", "H800-80GB"},
      {"H100-NVL", "H100-94GB"},
      {"H100-SXM5-94GB", "H100-94GB"},
      {"H800-NVL", "H800-94GB-NVL"},
      {"GH200-480GB", "H100-96GB / GH200-96GB"},
      {"H100-SXM5-96GB", "H100-96GB / GH200-96GB"},
      {"H20", "H20-96GB"},
      {"H200", "H200-141GB"},
      {"H200-NVL", "H200-141GB"},
      {"H200-141GB", "H200-141GB"},
      {"GH200-144G-HBM3e", "GH200-144GB"},
      {"B200", "B200"},
      {"GB200", "GB200"},
      {"B300", "B300"},
      {"B300-SXM6-AC", "B300"},
      {"GB300", "GB300"},
      {"RTX-PRO-6000-Blackwell", "RTX-PRO-6000-Blackwell-96GB"},
      {"RTX-PRO-6000-Blackwell-Server-Edition", "RTX-PRO-6000-Blackwell-96GB"},
      {"RTX-PRO-6000-Blackwell-Workstation-Edition", "RTX-PRO-6000-Blackwell-96GB"},
      {"RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edition", "RTX-PRO-6000-Blackwell-96GB"},
      {"RTX-PRO-5000-Blackwell", "RTX-PRO-5000-Blackwell-48GB"},
      {"RTX-PRO-4500-Blackwell", "RTX-PRO-4500-Blackwell-32GB"},
  };
  return products;
}

void ExpectSameProfile(const MigProfile& built_in, const json& collected) {
  SCOPED_TRACE(collected["name"].get<std::string>());
  const double memory_gib =
      collected["memory_gib"].is_null() ? 0.0 : collected["memory_gib"].get<double>();
  EXPECT_EQ(built_in.name, collected["name"].get<std::string>());
  EXPECT_EQ(built_in.id, IntOr(collected["id"], -1));
  EXPECT_EQ(built_in.compute_slices, collected["compute_slices"].get<int>());
  EXPECT_EQ(built_in.memory_slices, collected["memory_slices"].get<int>());
  EXPECT_EQ(built_in.memory_slices, collected["size"].get<int>());
  EXPECT_EQ(built_in.memory_mib, std::lround(memory_gib * 1024));
  EXPECT_EQ(built_in.multiprocessors, IntOr(collected["sms"], 0));
  EXPECT_EQ(built_in.instances_max, collected["max_instances"].get<int>());
  EXPECT_EQ(built_in.starts, collected["placements"].get<std::vector<int>>());
  EXPECT_EQ(built_in.engines, EnginesOf(collected["engines"]));
}

// The collected file has 21 models and 148 rows; a shorter one would prove less.
TEST(GpuModelTest, AgreesFieldByFieldWithTheCollectedTable) {
  const std::span<const GpuModel> models = BuiltInModels();
  ASSERT_EQ(models.size(), 21U);
  ASSERT_EQ(CollectedModels().size(), 21U);
  std::size_t rows = 0;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const GpuModel& built_in = models[i];
    const json& collected = CollectedModels()[i];
    SCOPED_TRACE(built_in.name);
    EXPECT_EQ(built_in.name, collected["gpu"].get<std::string>());
    EXPECT_EQ(built_in.memory_gib, collected["memory_gib"].get<int>());
    EXPECT_EQ(built_in.memory_gib, collected["name_total_gib"].get<int>());
    EXPECT_EQ(built_in.compute_slices, collected["compute_slices"].get<int>());
    EXPECT_EQ(built_in.memory_slices, collected["memory_slices"].get<int>());
    EXPECT_EQ(built_in.engines, EnginesOf(collected["engine_budget"]));
    EXPECT_EQ(built_in.pci_device_ids, collected["pci_device_ids"].get<std::vector<std::string>>());
    const auto aliases = collected.value("name_aliases", std::map<std::string, std::string>{});
    EXPECT_EQ((std::map<std::string, std::string>(built_in.profile_aliases.begin(),
                                                  built_in.profile_aliases.end())),
              aliases);
    EXPECT_EQ(built_in.profile_aliases.size(), aliases.size());
    ASSERT_EQ(built_in.profiles.size(), collected["profiles"].size());
    for (std::size_t p = 0; p < built_in.profiles.size(); ++p, ++rows) {
      ExpectSameProfile(built_in.profiles[p], collected["profiles"][p]);
    }
  }
  EXPECT_EQ(rows, 148U);
}

// Starts ascend and keep an instance on the GPU: everything that enumerates relies on it.
TEST(GpuModelTest, EveryProfileStaysOnItsGpu) {
  for (const GpuModel& model : BuiltInModels()) {
    for (const MigProfile& profile : model.profiles) {
      SCOPED_TRACE(model.name + " " + profile.name);
      ASSERT_FALSE(profile.starts.empty());
      EXPECT_TRUE(std::ranges::is_sorted(profile.starts));
      EXPECT_GE(profile.starts.front(), 0);
      EXPECT_LE(profile.starts.back() + profile.memory_slices, model.memory_slices);
      EXPECT_TRUE(profile.engines.FitsIn(model.engines));
    }
  }
}

TEST(GpuModelTest, OnePciDeviceIdBelongsToOneModel) {
  std::set<std::string> seen;
  for (const GpuModel& model : BuiltInModels()) {
    for (const std::string& id : model.pci_device_ids) EXPECT_TRUE(seen.insert(id).second) << id;
  }
  EXPECT_EQ(seen.size(), 26U);
}

TEST(FindModelTest, KnowsModelsByTheirExactName) {
  ASSERT_NE(FindModel("A100-40GB"), nullptr);
  EXPECT_EQ(FindModel("A100-40GB")->memory_gib, 40);
  EXPECT_EQ(FindModel("A100"), nullptr);
  EXPECT_EQ(FindModel("a100-40gb"), nullptr);
  EXPECT_EQ(FindModel(""), nullptr);
}

// One name, three geometries: 1 of 8 slices, 2 of 8, and on a B200 there is none.
TEST(FindProfileTest, TheSameNameIsAnotherProfileOnAnotherModel) {
  const GpuModel& a100_80 = Model("A100-80GB");
  const GpuModel& a100_40 = Model("A100-40GB");
  ASSERT_EQ(a100_80.FindProfile("1g.10gb"), std::optional(0));
  ASSERT_EQ(a100_40.FindProfile("1g.10gb"), std::optional(2));
  EXPECT_EQ(a100_80.profiles[0].memory_slices, 1);
  EXPECT_EQ(a100_40.profiles[2].memory_slices, 2);
  EXPECT_EQ(Model("B200").FindProfile("1g.10gb"), std::nullopt);
}

TEST(FindProfileTest, KeepsSuffixesApart) {
  const GpuModel& model = Model("RTX-PRO-6000-Blackwell-96GB");
  EXPECT_EQ(model.FindProfile("1g.24gb"), std::optional(0));
  EXPECT_EQ(model.FindProfile("1g.24gb+me"), std::optional(1));
  EXPECT_EQ(model.FindProfile("1g.24gb+me.all"), std::optional(3));
  EXPECT_EQ(model.FindProfile("1g.24gb-me"), std::optional(4));
  EXPECT_EQ(model.FindProfile("1g.24gb+"), std::nullopt);
  EXPECT_EQ(model.FindProfile("1g.24"), std::nullopt);
}

// GB300 under driver branch 610 reports 251 GiB: 251/8 = 31.4, 251/4 = 62.75, 251/2 = 125.5.
TEST(FindProfileTest, TakesTheNamesOfAnotherDriverBranch) {
  const GpuModel& model = Model("GB300");
  EXPECT_EQ(model.FindProfile("1g.31gb"), model.FindProfile("1g.35gb"));
  EXPECT_EQ(model.FindProfile("1g.63gb"), model.FindProfile("1g.70gb"));
  EXPECT_EQ(model.FindProfile("3g.126gb"), model.FindProfile("3g.139gb"));
  EXPECT_EQ(model.FindProfile("7g.251gb"), std::optional(6));
}

TEST(FindProfileTest, NoAliasHidesAProfileOfItsModel) {
  for (const GpuModel& model : BuiltInModels()) {
    for (const auto& [alias, name] : model.profile_aliases) {
      EXPECT_EQ(std::ranges::count(model.profiles, alias, &MigProfile::name), 0) << alias;
      EXPECT_EQ(std::ranges::count(model.profiles, name, &MigProfile::name), 1) << name;
    }
  }
}

// 189 GiB, the first GB200 boards: 2g stays 47 (47.25), so only five names differ.
TEST(FindProfileTest, AliasesAreOnlyTheNamesThatDiffer) {
  EXPECT_THAT(Model("GB200").profile_aliases,
              ElementsAre(Pair("1g.24gb", "1g.23gb"), Pair("1g.24gb+me", "1g.23gb+me"),
                          Pair("3g.95gb", "3g.93gb"), Pair("4g.95gb", "4g.93gb"),
                          Pair("7g.189gb", "7g.186gb")));
  EXPECT_THAT(Model("A100-80GB").profile_aliases, IsEmpty());
}

TEST(BaseProductTest, DropsVendorSharingAndMig) {
  EXPECT_EQ(BaseProduct("NVIDIA-A100-SXM4-40GB"), "A100-SXM4-40GB");
  EXPECT_EQ(BaseProduct("A100-SXM4-40GB"), "A100-SXM4-40GB");
  EXPECT_EQ(BaseProduct("NVIDIA-A100-SXM4-40GB-SHARED"), "A100-SXM4-40GB");
  EXPECT_EQ(BaseProduct("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"), "A100-SXM4-40GB");
  EXPECT_EQ(BaseProduct("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"), "A100-SXM4-40GB");
  EXPECT_EQ(BaseProduct("NVIDIA-A100-SXM4-40GB-MIG-INVALID"), "A100-SXM4-40GB");
  EXPECT_EQ(BaseProduct("Tesla-T4-SHARED"), "Tesla-T4");
}

TEST(BaseProductTest, DropsMarksOnlyWhereTheyStand) {
  EXPECT_EQ(BaseProduct("X-SHARED-Y"), "X-SHARED-Y");
  EXPECT_EQ(BaseProduct("X-NVIDIA-Y"), "X-NVIDIA-Y");
  EXPECT_EQ(BaseProduct("X-MIGHTY"), "X-MIGHTY");
  EXPECT_EQ(BaseProduct("NVIDIA-"), "");
  EXPECT_EQ(BaseProduct(""), "");
}

// Every sample, bare and with all that GFD adds: the patterns and we name the same single model.
TEST(FindModelByProductTest, MatchesExactlyTheModelOfTheCollectedPatterns) {
  for (const auto& [product, name] : Products()) {
    EXPECT_THAT(BuiltInModelsOf(product), ElementsAre(name)) << product;
    for (const std::string vendor : {"", "NVIDIA-"}) {
      for (const std::string suffix : {"", "-SHARED", "-MIG-1g.5gb", "-MIG-1g.24gb.me.all",
                                       "-MIG-1g.24gb-me-SHARED", "-MIG-INVALID"}) {
        std::string label = vendor;
        label.append(product).append(suffix);
        EXPECT_THAT(CollectedModelsOf(label), ElementsAre(name)) << label;
        const GpuModel* model = FindModelByProduct(label);
        ASSERT_NE(model, nullptr) << label;
        EXPECT_EQ(model->name, name) << label;
      }
    }
  }
}

// No pattern without a sample above, or the test above would not see it go wrong.
TEST(FindModelByProductTest, EveryCollectedPatternHasASample) {
  for (const json& model : CollectedModels()) {
    for (const json& pattern : model["product_label_patterns"]) {
      const std::regex regex(pattern.get<std::string>());
      EXPECT_TRUE(std::ranges::any_of(Products(), [&](const auto& sample) {
        return std::regex_match(sample.first, regex);
      })) << pattern;
    }
  }
}

// Our globs take nothing that the patterns refuse: a star stands for nothing, or for anything.
TEST(FindModelByProductTest, EveryGlobStaysWithinTheCollectedPatterns) {
  for (const GpuModel& model : BuiltInModels()) {
    for (const std::string& glob : model.product_globs) {
      for (const std::string star : {"", "-X9-"}) {
        const std::string product = std::regex_replace(glob, std::regex("\\*"), star);
        EXPECT_THAT(CollectedModelsOf(product), ElementsAre(model.name)) << product;
      }
    }
  }
}

TEST(FindModelByProductTest, AnH20IsNoH200) {
  ASSERT_NE(FindModelByProduct("NVIDIA-H20"), nullptr);
  ASSERT_NE(FindModelByProduct("NVIDIA-H200"), nullptr);
  EXPECT_EQ(FindModelByProduct("NVIDIA-H20")->name, "H20-96GB");
  EXPECT_EQ(FindModelByProduct("NVIDIA-H200")->name, "H200-141GB");
}

TEST(FindModelByProductTest, RefusesWhatOnlyResemblesAProduct) {
  for (const std::string product :
       {"", "NVIDIA-", "Tesla-T4", "NVIDIA-A100", "NVIDIA-A30X", "XA30", "NVIDIA-B2000",
        "NVIDIA-H100-80GB-HBM3-X", "NVIDIA-H100-94GB-X", "NVIDIA-H20-141GB", "nvidia-a30",
        "NVIDIA-NVIDIA-A30", "*", "A800-*"}) {
    EXPECT_EQ(FindModelByProduct(product), nullptr) << product;
  }
}

// The star must give back what it took first: "94GB" stands twice.
TEST(FindModelByProductTest, AStarTakesAsMuchAsTheRestNeeds) {
  ASSERT_NE(FindModelByProduct("H100-94GB-94GB"), nullptr);
  EXPECT_EQ(FindModelByProduct("H100-94GB-94GB")->name, "H100-94GB");
  EXPECT_EQ(FindModelByProduct("H100-94G-94G"), nullptr);
}

// Among them: 1 of 8 slices of 94 GB is 11.75, "12gb"; 6 of 12 of 96 GB is 4 eighths, "48gb".
TEST(DeriveProfileNameTest, NamesAllRowsOfTheCollectedTable) {
  int rows = 0;
  for (const json& model : CollectedModels()) {
    for (const json& profile : model["profiles"]) {
      EXPECT_EQ(
          DeriveProfileName(profile["compute_slices"], profile["memory_slices"],
                            model["memory_slices"], model["name_total_gib"], AttributesOf(profile)),
          profile["name"].get<std::string>())
          << model["gpu"].get<std::string>();
      ++rows;
    }
  }
  EXPECT_EQ(rows, 148);
}

std::vector<std::string> SevenSliceNames(int total_gib) {
  const std::vector<std::string> none;
  const std::vector<std::string> me = {"me"};
  return {DeriveProfileName(1, 1, 8, total_gib, none), DeriveProfileName(1, 1, 8, total_gib, me),
          DeriveProfileName(1, 2, 8, total_gib, none), DeriveProfileName(2, 2, 8, total_gib, none),
          DeriveProfileName(3, 4, 8, total_gib, none), DeriveProfileName(4, 4, 8, total_gib, none),
          DeriveProfileName(7, 8, 8, total_gib, none)};
}

// 189/8 = 23.6, 189/4 = 47.25, 189/2 = 94.5: a half goes up.
TEST(DeriveProfileNameTest, NamesWhatTheFirstGb200BoardsPrint) {
  EXPECT_THAT(SevenSliceNames(189), ElementsAre("1g.24gb", "1g.24gb+me", "1g.47gb", "2g.47gb",
                                                "3g.95gb", "4g.95gb", "7g.189gb"));
}

// 251/8 = 31.4, 251/4 = 62.75, 251/2 = 125.5.
TEST(DeriveProfileNameTest, NamesWhatAGb300PrintsOnDriverBranch610) {
  EXPECT_THAT(SevenSliceNames(251), ElementsAre("1g.31gb", "1g.31gb+me", "1g.63gb", "2g.63gb",
                                                "3g.126gb", "4g.126gb", "7g.251gb"));
}

// 1 of 12 slices is 0.67 eighths: it counts as one, 96/8 = 12. 1 of 3 is 2.67: three, 36.
TEST(DeriveProfileNameTest, RoundsTheShareUpToEighths) {
  EXPECT_EQ(DeriveProfileName(1, 1, 12, 96, {}), "1g.12gb");
  EXPECT_EQ(DeriveProfileName(1, 1, 3, 96, {}), "1g.36gb");
}

TEST(DeriveProfileNameTest, WritesTheSignOfEachAttributeOnce) {
  const std::vector<std::string> without_media = {"-me"};
  const std::vector<std::string> two = {"gfx", "me"};
  EXPECT_EQ(DeriveProfileName(1, 3, 12, 96, without_media), "1g.24gb-me");
  EXPECT_EQ(DeriveProfileName(1, 3, 12, 96, two), "1g.24gb+gfx,me");
}

TEST(EngineCountsTest, FitsOnlyIfEveryKindFits) {
  const EngineCounts budget = {.copy = 1, .decoder = 2, .encoder = 3, .jpeg = 4, .ofa = 5};
  EXPECT_TRUE(budget.FitsIn(budget));
  EXPECT_TRUE(EngineCounts{}.FitsIn(budget));
  EXPECT_FALSE((EngineCounts{.copy = 2}).FitsIn(budget));
  EXPECT_FALSE((EngineCounts{.decoder = 3}).FitsIn(budget));
  EXPECT_FALSE((EngineCounts{.encoder = 4}).FitsIn(budget));
  EXPECT_FALSE((EngineCounts{.jpeg = 5}).FitsIn(budget));
  EXPECT_FALSE((EngineCounts{.ofa = 6}).FitsIn(budget));
}

TEST(EngineCountsTest, AddsAndTakesEveryKind) {
  EngineCounts counts = {.copy = 1, .decoder = 2, .encoder = 3, .jpeg = 4, .ofa = 5};
  counts += {.copy = 10, .decoder = 20, .encoder = 30, .jpeg = 40, .ofa = 50};
  EXPECT_EQ(counts,
            (EngineCounts{.copy = 11, .decoder = 22, .encoder = 33, .jpeg = 44, .ofa = 55}));
  counts -= {.copy = 1, .decoder = 2, .encoder = 3, .jpeg = 4, .ofa = 5};
  EXPECT_EQ(counts,
            (EngineCounts{.copy = 10, .decoder = 20, .encoder = 30, .jpeg = 40, .ofa = 50}));
}

}  // namespace
}  // namespace offcut::binpack
