// How long decisions take on a large cluster: 5,000 nodes of 8 shared GPUs, two thirds full, with a
// target workload of 100 classes.
//   offcut-bench-packing [--benchmark_filter=...]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "api/openb_trace.h"
#include "scheduler/decision.h"
#include "scheduler/demand.h"
#include "scheduler/packing.h"

namespace offcut::bench {
namespace {

using scheduler::EvaluationCache;
using scheduler::Policy;
using scheduler::Prefilter;
using scheduler::Snapshot;

constexpr int kNodes = 5'000;
constexpr int kGpusPerNode = 8;
constexpr int kRequests = 32;  // that the cache knows when it is warm
constexpr auto kPrefilter = Prefilter::kByKubeScheduler;

// Request `number` of a mix of shares and whole GPUs, each with a CPU count of its own.
scheduler::Pod PodNumber(int number, int arrival) {
  constexpr std::array milli_choices = {100, 230, 330, 460, 470, 550, 810, 1000};
  const api::OpenbPod pod{
      .name = fmt::format("pod-{}", arrival),
      .cpu_milli = std::int64_t{500} * (1 + number / static_cast<int>(milli_choices.size())),
      .gpus = 1,
      .gpu_milli = milli_choices[static_cast<std::size_t>(number) % milli_choices.size()]};
  return api::ToPod(pod, fmt::format("uid-{}", arrival));
}

binpack::TargetWorkload HundredClasses() {
  std::vector<binpack::ExpectedRequest> requests;
  std::mt19937 random(1);
  for (int i = 0; i < 100; ++i) {
    const binpack::ExpectedRequest request{
        .cpu_milli = std::int64_t{500} * (1 + i),
        .kind = binpack::DemandKind::kShare,
        .gpus = 1,
        .share_units = 14 * (5 + static_cast<int>(random() % 96))};
    requests.insert(requests.end(), 100, request);
  }
  return binpack::DeriveTargetWorkload(requests);
}

struct World {
  Policy policy;
  Snapshot snapshot;
  std::vector<std::string> names;
  int arrivals = 0;
};

// One world, copied by who changes it.
const World& FullWorld(std::string_view strategy) {
  static std::map<std::string, World, std::less<>> worlds;
  if (const auto found = worlds.find(strategy); found != worlds.end()) return found->second;
  World& world = worlds[std::string(strategy)];
  std::vector<scheduler::Inventory> inventories;
  for (int n = 0; n < kNodes; ++n) {
    inventories.push_back(api::ToInventory({.name = fmt::format("gpu-node-{:04}.example", n),
                                            .cpu_milli = 96'000,
                                            .memory_mib = 786'432,
                                            .gpus = kGpusPerNode,
                                            .model = "A10"}));
    world.names.push_back(inventories.back().name);
  }
  world.snapshot.ReplaceNodes(std::move(inventories));
  const binpack::TargetWorkload workload = HundredClasses();
  world.policy.packing =
      binpack::PreparePacking(strategy, {}, workload, 0,
                              {.workload = workload,
                               .capacities = scheduler::CapacitiesOf(world.snapshot),
                               .node_sizes = scheduler::NodeSizesOf(world.snapshot)});
  std::mt19937 random(2);
  std::vector<scheduler::Pod> pods;
  for (int n = 0; n < kNodes; ++n) {
    for (int p = 0; p < kGpusPerNode; ++p) {
      scheduler::Pod pod = PodNumber(static_cast<int>(random() % kRequests), world.arrivals++);
      pod.node_name = world.names[static_cast<std::size_t>(n)];
      pods.push_back(std::move(pod));
    }
  }
  world.snapshot.ReplacePods(std::move(pods));
  std::ranges::shuffle(world.names, random);  // kube-scheduler does not sort them
  return world;
}

// What filter and prioritize do for one pod, all names given, after a binding has changed one node.
void DecideWarm(benchmark::State& state, const char* strategy) {
  World world = FullWorld(strategy);
  EvaluationCache cache(world.policy, kPrefilter);
  for (int r = 0; r < kRequests; ++r) cache.EvaluateAll(world.snapshot, PodNumber(r, -1));
  std::vector<double> micros;
  int number = 0;
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    const scheduler::Pod pod = PodNumber(number++ % kRequests, world.arrivals++);
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(Filter(world.snapshot, pod, world.names, cache));
    const auto scores = Score(world.snapshot, pod, world.names, cache);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(passed.count());
    micros.push_back(passed.count() * 1e6);
    const auto best = std::ranges::max_element(scores) - scores.begin();
    Reserve(world.snapshot, pod, world.names[static_cast<std::size_t>(best)], world.policy,
            kPrefilter);
  }
  std::ranges::sort(micros);
  state.counters["p50_us"] = micros[micros.size() / 2];
  state.counters["p99_us"] = micros[micros.size() * 99 / 100];
}

// A request that the cache has never seen.
void DecideCold(benchmark::State& state, const char* strategy) {
  const World& world = FullWorld(strategy);
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    EvaluationCache cache(world.policy, kPrefilter);
    benchmark::DoNotOptimize(cache.EvaluateAll(world.snapshot, PodNumber(3, 0)));
  }
}

// One request on one node that has changed.
void EvaluateOneNode(benchmark::State& state, const char* strategy) {
  const World& world = FullWorld(strategy);
  const scheduler::Pod pod = PodNumber(3, 0);
  std::size_t n = 0;
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    benchmark::DoNotOptimize(Evaluate(*world.snapshot.nodes()[n++ % kNodes], pod, world.policy,
                                      *world.policy.packing, kPrefilter));
  }
}

// Bind's part: the reservation under the newest state.
void ReserveAndRelease(benchmark::State& state, const char* strategy) {
  World world = FullWorld(strategy);
  const scheduler::Pod pod = PodNumber(0, world.arrivals++);
  std::size_t n = 0;
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    benchmark::DoNotOptimize(
        Reserve(world.snapshot, pod, world.names[n++ % kNodes], world.policy, kPrefilter));
    world.snapshot.RemovePod(pod.uid);
  }
}

// What a change of the state costs beside the verbs: what 40,000 pods on 5,000 nodes ask for.
void DeriveTheWorkload(benchmark::State& state) {
  const World& world = FullWorld("offcut");
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    benchmark::DoNotOptimize(scheduler::DeriveOutlook(world.snapshot));
  }
}

// And, where that has become another workload, the tables for it.
void PrepareTheModel(benchmark::State& state, const char* strategy) {
  const World& world = FullWorld("offcut");
  const binpack::TargetWorkload workload = HundredClasses();
  const binpack::Outlook outlook{.workload = workload,
                                 .capacities = scheduler::CapacitiesOf(world.snapshot),
                                 .node_sizes = scheduler::NodeSizesOf(world.snapshot)};
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    benchmark::DoNotOptimize(binpack::PreparePacking(strategy, {}, workload, 0, outlook));
  }
}

BENCHMARK_CAPTURE(DecideWarm, best_fit, "best-fit")->UseManualTime()->Iterations(2'000);
BENCHMARK_CAPTURE(DecideWarm, fgd, "fgd")->UseManualTime()->Iterations(2'000);
BENCHMARK_CAPTURE(DecideWarm, offcut, "offcut")->UseManualTime()->Iterations(2'000);
BENCHMARK_CAPTURE(DecideCold, best_fit, "best-fit")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(DecideCold, fgd, "fgd")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(DecideCold, offcut, "offcut")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(EvaluateOneNode, best_fit, "best-fit");
BENCHMARK_CAPTURE(EvaluateOneNode, fgd, "fgd");
BENCHMARK_CAPTURE(EvaluateOneNode, offcut, "offcut");
BENCHMARK_CAPTURE(ReserveAndRelease, fgd, "fgd");
BENCHMARK_CAPTURE(ReserveAndRelease, offcut, "offcut");

BENCHMARK(DeriveTheWorkload)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(PrepareTheModel, fgd, "fgd")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(PrepareTheModel, offcut, "offcut")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace offcut::bench

BENCHMARK_MAIN();
