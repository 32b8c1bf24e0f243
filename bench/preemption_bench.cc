// How long the preempt verb takes for many candidate nodes, each of 8 GPUs with seven instances:
//   offcut-bench-preemption [--benchmark_filter=...]
// `count`: static instances, known by count. `place`: GPUs whose starts are known; a 3g.20gb wants
// one half of one of them. `tenants`: the same with 1,000 tenants, one of which has no more than
// its guarantee and takes from those that borrow. `SortRefusals`: what filter asks beside, where
// refusals may lead to preemption.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "binpack/gpu_model.h"
#include "scheduler/decision.h"
#include "scheduler/victim_finder.h"

namespace offcut::bench {
namespace {

using scheduler::Inventory;
using scheduler::Pod;
using scheduler::Snapshot;

constexpr int kGpusPerNode = 8;
constexpr int kInstancesPerGpu = 7;
constexpr int kTenants = 1'000;
constexpr auto kPrefilter = scheduler::Prefilter::kByKubeScheduler;
constexpr std::int64_t kNowS = 1'000'000;
constexpr const char* kResource = "nvidia.com/mig-1g.5gb";

enum class Known { kByCount, kByPlace };

std::shared_ptr<const binpack::GpuModel> Model() {
  return std::make_shared<const binpack::GpuModel>(*binpack::FindModel("A100-40GB"));
}

Inventory InventoryOf(std::string name, Known known) {
  Inventory inventory{.name = std::move(name), .serves_fractions = known == Known::kByPlace};
  if (known == Known::kByCount) {
    inventory.offers = {
        {.resource = kResource, .kind = scheduler::OfferKind::kInstances, .pool = 0}};
    inventory.devices.pool_model = Model();
    inventory.devices.pools = {
        {.profile = "1g.5gb", .memory_slices = 1, .units = kGpusPerNode * kInstancesPerGpu}};
    return inventory;
  }
  inventory.devices.picker = binpack::DevicePicker::kScheduler;
  for (int g = 0; g < kGpusPerNode; ++g) {
    inventory.devices.gpus.push_back(
        {.model = Model(), .memory_mib = 40'960, .state = binpack::MigGpu{}});
  }
  return inventory;
}

Pod PodOn(const std::string& node, int number, Known known) {
  Pod pod;
  pod.name = fmt::format("{}-pod-{}", node, number);
  pod.uid = "uid-" + pod.name;
  pod.name_space = fmt::format("team-{}", number % (kTenants - 1) + 1);
  pod.node_name = node;
  pod.priority = number % 5;
  pod.created_s = std::int64_t{7} * number;
  pod.record = scheduler::DeviceRecord{.pod_uid = pod.uid, .node = node};
  if (known == Known::kByCount) {
    pod.request.devices = {{kResource, 1}};
    pod.record->devices = {{.kind = binpack::PieceKind::kInstance, .profile = "1g.5gb"}};
    return pod;
  }
  pod.request.fractions = {{.gpus = 1, .memory_mib = 4'000}};
  pod.record->certainty = scheduler::Certainty::kExact;
  pod.record->devices = {{.gpu = number / kInstancesPerGpu,
                          .kind = binpack::PieceKind::kInstance,
                          .profile = "1g.5gb",
                          .start = number % kInstancesPerGpu,
                          .size = 1}};
  return pod;
}

std::shared_ptr<const scheduler::Tenancy> Tenants() {
  const auto gpus = [](std::int64_t count) {
    return std::vector<quota::QuotaSpec>{{.pool = std::string(scheduler::kDefaultPool),
                                          .resource = std::string(quota::kDevices),
                                          .guarantee = count * quota::kWholeDevice}};
  };
  scheduler::Tenancy tenancy;
  tenancy.specs = {{.name = "all", .parent = "", .quotas = gpus(100'000)}};
  for (int t = 0; t < kTenants; ++t) {
    tenancy.specs.push_back(
        {.name = fmt::format("team-{}", t), .parent = "all", .quotas = gpus(t == 0 ? 1'000 : 0)});
  }
  tenancy.tree = std::make_shared<const quota::TenantTree>(*quota::BuildTenantTree(tenancy.specs));
  tenancy.rules.resize(tenancy.tree->tenants.size());
  for (int t = 0; t < kTenants; ++t) {
    const std::string name = fmt::format("team-{}", t);
    tenancy.by_namespace[name] = quota::FindTenant(*tenancy.tree, name);
  }
  return std::make_shared<const scheduler::Tenancy>(std::move(tenancy));
}

struct World {
  Snapshot snapshot;
  std::vector<scheduler::PreemptionCandidate> candidates;
};

World WorldOf(int nodes, Known known, bool has_tenants) {
  World world;
  std::vector<Inventory> inventories;
  std::vector<Pod> pods;
  for (int n = 0; n < nodes; ++n) {
    const std::string name = fmt::format("node-{}", n);
    inventories.push_back(InventoryOf(name, known));
    for (int i = 0; i < kGpusPerNode * kInstancesPerGpu; ++i) {
      pods.push_back(PodOn(name, i, known));
    }
    world.candidates.push_back({.node_name = name, .victim_uids = {}});
    if (known == Known::kByCount) world.candidates.back().victim_uids = {pods.back().uid};
  }
  world.snapshot.ReplaceNodes(std::move(inventories));
  world.snapshot.ReplacePods(std::move(pods));
  if (has_tenants) world.snapshot.SetTenancy(Tenants());
  return world;
}

Pod Newcomer(Known known) {
  Pod pod;
  pod.name = "new";
  pod.uid = "uid-new";
  pod.name_space = "team-0";
  pod.priority = 100;
  pod.request.devices = {{kResource, 1}};
  if (known == Known::kByPlace) pod.request = {.fractions = {{.gpus = 1, .memory_mib = 20'000}}};
  return pod;
}

std::size_t Answer(const World& world, const Pod& pod, const scheduler::Policy& policy,
                   Known known) {
  if (known == Known::kByCount) {
    return Preempt(world.snapshot, pod, world.candidates, policy, kPrefilter, kNowS).size();
  }
  scheduler::VictimFinder finder(world.snapshot, pod, policy, kPrefilter, kNowS);
  const binpack::RequestShape shape{.profiles = {{.profile = "3g.20gb", .count = 1}}};
  std::size_t answered = 0;
  for (const auto& candidate : world.candidates) {
    const scheduler::Node* node = world.snapshot.FindNode(candidate.node_name);
    answered += finder.Find(*node, shape, {}).has_value() ? 1 : 0;
  }
  return answered;
}

double MillisSince(std::chrono::steady_clock::time_point start) {
  const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
  return passed.count();
}

void Report(std::vector<double> millis, benchmark::State& state) {
  std::ranges::sort(millis);
  state.counters["p50_ms"] = millis[millis.size() / 2];
  state.counters["p99_ms"] = millis[millis.size() * 99 / 100];
}

// Arguments: candidate nodes.
void AnswerPreempt(benchmark::State& state, Known known, bool has_tenants) {
  const World world = WorldOf(static_cast<int>(state.range(0)), known, has_tenants);
  const scheduler::Policy policy;
  const Pod pod = Newcomer(known);
  std::vector<double> millis;
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    const auto start = std::chrono::steady_clock::now();
    const std::size_t answered = Answer(world, pod, policy, known);
    millis.push_back(MillisSince(start));
    if (answered != world.candidates.size()) return state.SkipWithError("a node is left out");
  }
  Report(std::move(millis), state);
}

void Candidates(benchmark::internal::Benchmark* bench) {
  for (const int nodes : {25, 50, 100}) bench->Arg(nodes);
  bench->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(AnswerPreempt, count, Known::kByCount, false)->Apply(Candidates);
BENCHMARK_CAPTURE(AnswerPreempt, count_tenants, Known::kByCount, true)->Apply(Candidates);
BENCHMARK_CAPTURE(AnswerPreempt, place, Known::kByPlace, false)->Apply(Candidates);
BENCHMARK_CAPTURE(AnswerPreempt, place_tenants, Known::kByPlace, true)->Apply(Candidates);

// What filter asks of nodes that refuse a pod, where refusals may lead to preemption.
void SortRefusals(benchmark::State& state, bool has_tenants) {
  const World world = WorldOf(static_cast<int>(state.range(0)), Known::kByCount, has_tenants);
  scheduler::Policy policy;
  policy.refusals = scheduler::Refusals::kPreemptable;
  const Pod pod = Newcomer(Known::kByCount);
  std::vector<std::string> names;
  names.reserve(world.candidates.size());
  for (const auto& candidate : world.candidates) names.push_back(candidate.node_name);
  const auto verdicts = Filter(world.snapshot, pod, names, policy, kPrefilter);
  std::vector<double> millis;
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    const auto start = std::chrono::steady_clock::now();
    const auto preemptable =
        PreemptableRefusals(world.snapshot, pod, names, verdicts, policy, kPrefilter, kNowS);
    millis.push_back(MillisSince(start));
    if (std::ranges::count(preemptable, true) != state.range(0)) {
      return state.SkipWithError("a node is left out");
    }
  }
  Report(std::move(millis), state);
}

BENCHMARK_CAPTURE(SortRefusals, count, false)->Apply(Candidates);
BENCHMARK_CAPTURE(SortRefusals, count_tenants, true)->Apply(Candidates);

}  // namespace
}  // namespace offcut::bench

BENCHMARK_MAIN();
