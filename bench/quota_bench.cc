// How long quota takes to answer: 1,000 tenants, five levels deep, in four pools with devices,
// memory, cores and seven MIG profiles each.
//   offcut-bench-quota [--benchmark_filter=...]
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "quota/dominant_share.h"
#include "quota/fair_order.h"
#include "quota/ledger.h"

namespace offcut::bench {
namespace {

using quota::Charge;
using quota::Ledger;
using quota::TenantTree;

constexpr int kTenants = 1'000;
constexpr int kPools = 4;
constexpr int kBranches = 6;  // of a tenant: 1 + 6 + 36 + 216 + 741 is five levels deep

std::string PoolNumber(int pool) { return fmt::format("pool-{}", pool); }
std::string ProfileNumber(int profile) { return fmt::format("{}g", profile + 1); }

std::shared_ptr<const TenantTree> Tree() {
  std::vector<quota::TenantSpec> specs;
  for (int t = 0; t < kTenants; ++t) {
    quota::TenantSpec spec{.name = fmt::format("tenant-{}", t), .parent = "", .quotas = {}};
    if (t > 0) spec.parent = fmt::format("tenant-{}", (t - 1) / kBranches);
    const bool is_leaf = t * kBranches + 1 >= kTenants;
    for (int pool = 0; is_leaf && pool < kPools; ++pool) {
      const auto name = [&](std::string resource, std::int64_t guarantee) {
        spec.quotas.push_back(
            {PoolNumber(pool), std::move(resource), guarantee, 10 * guarantee, guarantee / 2});
      };
      name(std::string(quota::kDevices), 14'000);
      name(std::string(quota::kMemoryMib), 800'000);
      name(std::string(quota::kCores), 10'000);
      for (int profile = 0; profile < 7; ++profile) name(ProfileNumber(profile), 8);
    }
    specs.push_back(std::move(spec));
  }
  return std::make_shared<const TenantTree>(*quota::BuildTenantTree(specs));
}

// A MIG pod's: four cells.
Charge PodCharge(const TenantTree& tree, int pool) {
  Charge charge;
  AddToCharge(tree, PoolNumber(pool), quota::ChargeInstance("2g", 2, 8, 2, 7, 9'856), charge);
  return charge;
}

// Every tenant has some pods; the deepest, which have the longest way to the root, come last.
const Ledger& FullLedger() {
  static const Ledger ledger = [] {
    const auto tree = Tree();
    std::mt19937 random(1);
    std::vector<quota::Holding> holdings;
    holdings.reserve(std::size_t{10} * kTenants);
    for (int i = 0; i < 10 * kTenants; ++i) {
      holdings.push_back({static_cast<int>(random() % kTenants),
                          PodCharge(*tree, static_cast<int>(random() % kPools))});
    }
    return Ledger(tree, holdings);
  }();
  return ledger;
}

// What filter asks for one node: the pod's charge there, as an amount and then by cell, and whether
// it fits. Tenants change from one question to the next.
void CheckOnePod(benchmark::State& state) {
  const Ledger& ledger = FullLedger();
  const quota::Amount amount = quota::ChargeInstance("2g", 2, 8, 2, 7, 9'856);
  const std::string pool = PoolNumber(2);
  Charge charge;
  int tenant = 0;
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    charge.clear();
    AddToCharge(ledger.tree(), pool, amount, charge);
    benchmark::DoNotOptimize(ledger.Check(kTenants - 1 - tenant, charge));
    tenant = (tenant + 37) % 700;
  }
}

// The same where the charge is at hand.
void CheckOneCharge(benchmark::State& state) {
  const Ledger& ledger = FullLedger();
  const Charge charge = PodCharge(ledger.tree(), 2);
  int tenant = 0;
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    benchmark::DoNotOptimize(ledger.Check(kTenants - 1 - tenant, charge));
    tenant = (tenant + 37) % 700;
  }
}

// Bind's part, on a copy that shares with a published one.
void ChargeAndRelease(benchmark::State& state) {
  const Charge charge = PodCharge(FullLedger().tree(), 2);
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    Ledger next = FullLedger();
    next.Add(kTenants - 1, charge);
    next.Remove(kTenants - 1, charge);
    benchmark::DoNotOptimize(next);
  }
}

void ShareOfATenant(benchmark::State& state) {
  const Ledger& ledger = FullLedger();
  const Charge charge = PodCharge(ledger.tree(), 2);
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    benchmark::DoNotOptimize(ShareAfter(ledger, kTenants - 1, kTenants - 1, charge));
  }
}

// A backlog of 5,000 pods of all tenants; as many as can get quota do.
void OrderABacklog(benchmark::State& state) {
  const Ledger& ledger = FullLedger();
  std::mt19937 random(2);
  constexpr int pods = 5'000;
  std::vector<quota::Waiting> waiting;
  waiting.reserve(pods);
  for (int i = 0; i < pods; ++i) {
    waiting.push_back({.tenant = static_cast<int>(random() % kTenants),
                       .charge = PodCharge(ledger.tree(), static_cast<int>(random() % kPools)),
                       .priority = static_cast<std::int64_t>(random() % 3),
                       .since = i});
  }
  std::size_t admitted = 0;
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    admitted = FairOrder(ledger, waiting).size();
  }
  state.counters["admitted"] = static_cast<double>(admitted);
}

// A hot reload: the tree, and what 10,000 pods hold of it.
void BuildTreeAndLedger(benchmark::State& state) {
  const Charge charge = PodCharge(FullLedger().tree(), 2);
  const std::vector<quota::Holding> holdings(10'000, {kTenants - 1, charge});
  for ([[maybe_unused]] auto _ : state) {  // NOLINT(clang-analyzer-deadcode.DeadStores)
    benchmark::DoNotOptimize(Ledger(Tree(), holdings));
  }
}

BENCHMARK(CheckOnePod);
BENCHMARK(CheckOneCharge);
BENCHMARK(ChargeAndRelease);
BENCHMARK(ShareOfATenant);
BENCHMARK(OrderABacklog)->Unit(benchmark::kMillisecond);
BENCHMARK(BuildTreeAndLedger)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace offcut::bench

BENCHMARK_MAIN();
