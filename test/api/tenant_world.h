// Tenants that the tests of what people see of them share.
//   all                   9 GPUs
//     team-a   4, borrows 2    holds 6 GPUs of n
//     team-b   4               half a GPU, a slot of two, on s
//     team-c   1, weight 0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "test/testing/tenancies.h"
#include "test/testing/worlds.h"

namespace offcut::api {

inline std::shared_ptr<const scheduler::Tenancy> ThreeTeams() {
  scheduler::Tenancy tenancy = testing::TenancyOf(
      {{.name = "all", .parent = {}, .quotas = {}},
       {.name = "team-a", .parent = "all", .quotas = {testing::Gpus(4, 2)}},
       {.name = "team-b", .parent = "all", .quotas = {testing::Gpus(4)}},
       {.name = "team-c", .parent = "all", .weight_micro = 0, .quotas = {testing::Gpus(1)}}});
  const auto index_of = [&](const char* name) { return quota::FindTenant(*tenancy.tree, name); };
  tenancy.by_namespace = {
      {"ml", index_of("team-a")}, {"web", index_of("team-b")}, {"c", index_of("team-c")}};
  tenancy.by_label_in["lab"] = {index_of("team-a"), index_of("team-b")};
  return std::make_shared<const scheduler::Tenancy>(std::move(tenancy));
}

inline scheduler::Snapshot TeamsAtWork() {
  std::vector<scheduler::Pod> pods = {
      testing::PodFromText("held nvidia.com/gpu=6 node=n namespace=ml"),
      testing::PodFromText("slot nvidia.com/gpu.shared=1 node=s namespace=web"),
      testing::PodFromText("old nvidia.com/gpu=1 namespace=ml created=1"),
      testing::PodFromText("gated nvidia.com/gpu=1 namespace=ml created=2"),
      testing::PodFromText("big nvidia.com/gpu=7 namespace=ml created=3"),
      testing::PodFromText("next nvidia.com/gpu=1 namespace=web created=4")};
  pods[3].has_quota_gate = true;
  scheduler::Inventory shared = testing::SharedInventory("s", binpack::Sharing::kTimeSlicing, 1, 2);
  shared.offers[0].resource = "nvidia.com/gpu.shared";
  scheduler::Snapshot snapshot =
      testing::SnapshotOf({testing::WholeInventory("n", 8), shared}, std::move(pods));
  snapshot.SetTenancy(ThreeTeams());
  return snapshot;
}

}  // namespace offcut::api
