// Worlds written as text, so that a test shows what it is about.
//   WholeNode("XX......")                 eight GPUs, the first two taken
//   SharedNode(Sharing::kMps, {"X...", "...."})   two GPUs of four slots, one slot taken
//   MigNode("A100-40GB", {"1g.5gb@0 3g.20gb@4", ""})   two GPUs in MIG mode, starts known
//   Profiles("2 x 1g.5gb, 3g.20gb")       a request shape
//   PodFromText("train-1 nvidia.com/gpu=2 priority=5")
// A text that makes no sense aborts the test.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "binpack/placement.h"
#include "scheduler/node.h"
#include "scheduler/pod.h"
#include "scheduler/snapshot.h"

namespace offcut::testing {

std::shared_ptr<const binpack::GpuModel> ModelNamed(std::string_view name);

// 'X': taken, '.': free, 'u': free and unhealthy, 'U': taken and unhealthy.
binpack::NodeState WholeNode(std::string_view gpus, std::string_view model = "A100-80GB");
binpack::NodeState SharedNode(binpack::Sharing sharing, const std::vector<std::string>& gpus,
                              int gpu_memory_mib = 16'000);
binpack::NodeState MigNode(std::string_view model, const std::vector<std::string>& gpus);
// One GPU of `memory_mib` for each entry {MiB used, percent of cores used, sharers}.
struct FractionUse {
  int memory_mib = 0;
  int cores_percent = 0;
  int sharers = 0;
};
binpack::NodeState FractionNode(int memory_mib, const std::vector<FractionUse>& gpus);
// Pools by count: {"1g.5gb", units, used}.
struct PoolText {
  std::string profile;
  int units = 0;
  int used = 0;
};
binpack::NodeState PoolNode(std::string_view model, const std::vector<PoolText>& pools);

binpack::RequestShape Profiles(std::string_view text);

// "0:1g.5gb@3" on GPU 0, "pool0" of pool 0, "2" for GPU 2 whole or one slot of it.
std::string ToText(const binpack::NodeState& node, const binpack::Placement& placement);
std::vector<std::string> AllPlacements(const binpack::NodeState& node,
                                       const binpack::RequestShape& shape);

// Inventories as the stock device plugin would show them; nothing is taken.
scheduler::Inventory WholeInventory(std::string name, int gpus,
                                    std::string_view model = "A100-80GB");
scheduler::Inventory SharedInventory(std::string name, binpack::Sharing sharing, int gpus,
                                     int slots);
scheduler::Inventory PoolInventory(std::string name, std::string_view model,
                                   const std::vector<PoolText>& pools);

// NAME then any of: RESOURCE=COUNT priority=N node=NAME nominated=NAME namespace=NAME created=N
// cpu=MILLI label=TENANT memory=MIB (declared) share=MILLIONTHS (likewise). The UID is "uid-NAME".
// One app container "main".
scheduler::Pod PodFromText(std::string_view text);

scheduler::Snapshot SnapshotOf(std::vector<scheduler::Inventory> nodes,
                               std::vector<scheduler::Pod> pods = {});

}  // namespace offcut::testing
