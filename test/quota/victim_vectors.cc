#include "test/quota/victim_vectors.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quota/fair_order.h"
#include "quota/fair_victims.h"
#include "quota/victims.h"
#include "scheduler/node_pick.h"
#include "scheduler/victim_finder.h"
#include "test/quota/vector_checks.h"
#include "test/quota/vector_world.h"
#include "test/testing/mig_holders.h"
#include "test/testing/worlds.h"

namespace offcut::quota {
namespace {

using nlohmann::json;

Taking ReadTaking(const json& policies, const char* key) {
  const std::string policy = policies.is_object() ? policies.value(key, "Never") : "Never";
  if (policy == "Any") return Taking::kAny;
  return policy == "LowerPriority" ? Taking::kLower : Taking::kNever;
}

VictimRules ReadVictimRules(const json& queue) {
  const json policies = queue.value("preemption", json());
  VictimRules rules{.within_tenant = ReadTaking(policies, "withinQueue"),
                    .from_borrowers = ReadTaking(policies, "reclaimWithinCohort"),
                    .may_cross_guarantee = true};
  if (policies.is_object() && policies.contains("borrowWithinCohort")) {
    const json& borrow = policies.at("borrowWithinCohort");
    rules.while_borrowing = borrow.value("policy", "Never") == "LowerPriority";
    rules.priority_max = borrow.value("maxPriorityThreshold", INT64_MAX);
  }
  return rules;
}

std::string_view NameOf(VictimReason reason) {
  switch (reason) {
    case VictimReason::kWithinTenant:
      return "within-queue";
    case VictimReason::kReclaim:
      return "reclaim";
    case VictimReason::kWhileBorrowing:
      return "reclaim-while-borrowing";
    case VictimReason::kFairShare:
      return "fair-share";
  }
  return "";
}

// The vectors call a profile "3g".
std::string ProfileNamed(std::string_view model, const std::string& name) {
  for (const binpack::MigProfile& profile : testing::ModelNamed(model)->profiles) {
    if (profile.name.starts_with(name + ".") && profile.name.find('+') == std::string::npos) {
      return profile.name;
    }
  }
  throw std::runtime_error("no such profile: " + name);
}

// Siblings of one resource that run and wait in pods of one each, and how many would be evicted.
class Siblings {
 public:
  explicit Siblings(const json& vector) : ledger_(Tree(vector)) {
    cell_ = CellNamed(ledger_.tree(), "pool", "unit");
    std::vector<Waiting> waiting;
    for (const auto& [name, queue] : vector.at("queues").items()) {
      const int tenant = TenantNamed(ledger_.tree(), name);
      for (int i = 0; i < queue.at("running"); ++i) Run(tenant);
      for (int i = 0; i < queue.at("pending"); ++i) {
        waiting.push_back({.tenant = tenant, .charge = {{cell_, 1}}});
      }
    }
    for (const std::size_t i : FairOrder(ledger_, waiting)) Run(waiting[i].tenant);
  }

  // For a newcomer of each that asks for `amount`, by priority and by dominant share.
  std::size_t EvictionsFor(std::int64_t amount) {
    std::size_t evictions = 0;
    const auto count = [&](const auto& victims) { evictions += victims ? victims->size() : 0; };
    const FitsWithout fits = [](std::span<const std::size_t>) { return true; };
    for (int t = 1; t < std::ssize(ledger_.tree().tenants); ++t) {
      const Newcomer newcomer{.tenant = t, .charge = {{cell_, amount}}};
      const VictimSearch search{newcomer, pods_, {&cell_, 1}, fits};
      const VictimRules rules{.from_borrowers = Taking::kAny, .may_cross_guarantee = true};
      VictimRules while_borrowing = rules;
      while_borrowing.while_borrowing = true;
      count(FindVictims(ledger_, search, while_borrowing));
      count(FindFairVictims(ledger_, search, rules, {}));
    }
    return evictions;
  }

 private:
  static std::shared_ptr<const TenantTree> Tree(const json& vector) {
    KueueWorld world;
    world.AddTenant("parent", "", kWeightOne, false);
    world.AddQuota("parent", {"pool", "unit", vector.at("parent").at("guaranteed"), {}, {}});
    for (const auto& [name, queue] : vector.at("queues").items()) {
      world.AddTenant(name, "parent", kWeightOne, true);
    }
    return world.Tree();
  }

  void Run(int tenant) {
    uids_.push_back(std::to_string(uids_.size()));
    pods_.push_back({.tenant = tenant, .uid = uids_.back(), .charge = {{cell_, 1}}});
    ledger_.Add(tenant, pods_.back().charge);
  }

  Ledger ledger_;
  int cell_ = 0;
  std::deque<std::string> uids_;
  std::vector<VictimCandidate> pods_;
};

}  // namespace

bool CheckPreemption(const json& vector) {
  const auto tree = KueueWorld::Read(vector).Tree();
  Ledger ledger(tree);
  std::vector<std::string> names;
  for (const json& admitted : vector.at("admitted")) names.push_back(admitted.at("name"));
  std::vector<VictimCandidate> candidates;
  for (const json& admitted : vector.at("admitted")) {
    VictimCandidate candidate{.tenant = TenantNamed(*tree, admitted.at("queue").get<std::string>()),
                              .priority = admitted.at("priority").get<std::int64_t>(),
                              .since = admitted.at("admittedAt_s").get<std::int64_t>(),
                              .uid = names[candidates.size()],
                              .charge = ReadCharge(*tree, admitted.at("usage"))};
    ledger.Add(candidate.tenant, candidate.charge);
    candidates.push_back(std::move(candidate));
  }
  const json& incoming = vector.at("incoming");
  const auto queue_name = incoming.at("queue").get<std::string>();
  Newcomer newcomer{.tenant = TenantNamed(*tree, queue_name),
                    .priority = incoming.at("priority").get<std::int64_t>(),
                    .charge = {}};
  std::vector<int> contested;
  for (const auto& [resource, flavor] : incoming.at("flavors").items()) {
    const int cell = CellNamed(*tree, flavor.at("flavor").get<std::string>(), resource);
    AddToCharge(cell, incoming.at("request").at(resource).get<std::int64_t>(), newcomer.charge);
    if (flavor.at("mode") == "Preempt") contested.push_back(cell);
  }
  std::ranges::sort(contested);
  const auto queue = std::ranges::find_if(
      vector.at("queues"), [&](const json& each) { return each.at("name") == queue_name; });
  const VictimRules rules = ReadVictimRules(*queue);
  const FitsWithout fits = [](std::span<const std::size_t>) { return true; };
  const VictimSearch search{newcomer, candidates, contested, fits};
  const json strategies = vector.value("strategies", json::array());
  const auto has = [&](const char* name) {
    return std::ranges::find(strategies, json(name)) != strategies.end();
  };
  const auto victims =
      vector.at("algorithm") == "kueue-fair"
          ? FindFairVictims(ledger, search, rules,
                            {.at_most_final_share = has("LessThanOrEqualToFinalShare"),
                             .below_initial_share = has("LessThanInitialShare")})
          : FindVictims(ledger, search, rules);
  std::set<std::pair<std::string, std::string>> found;
  for (const Victim& victim : victims.value_or(std::vector<Victim>())) {
    found.emplace(names[victim.candidate], NameOf(victim.reason));
  }
  std::set<std::pair<std::string, std::string>> expected;
  for (const json& victim : vector.at("expect").at("victims")) {
    expected.emplace(victim.at("workload"), victim.at("reason"));
  }
  return found == expected;
}

bool ContradictsItself(const json& vector) {
  if (TextOf(vector, "kind") != "candidate-order") return false;
  std::map<std::string, json> keys;
  for (const json& each : vector.at("candidates")) {
    json key = each;
    key.erase("name");
    keys[each.at("name")] = std::move(key);
  }
  std::vector<json> order;
  for (const json& name : vector.at("expect").at("order")) {
    const json& key = keys.at(name.get<std::string>());
    if (!order.empty() && order.back() == key) continue;
    if (std::ranges::find(order, key) != order.end()) return true;
    order.push_back(key);
  }
  return false;
}

bool CheckCandidateOrder(const json& vector) {
  const std::string own_queue = vector.at("preemptorQueue");
  std::vector<std::string> names;
  for (const json& each : vector.at("candidates")) names.push_back(each.at("name"));
  std::vector<VictimCandidate> candidates;
  for (const json& each : vector.at("candidates")) {
    candidates.push_back({.tenant = each.value("queue", "") == own_queue ? 0 : 1,
                          .priority = each.at("priority").get<std::int64_t>(),
                          .since = each.value("admittedAt_s", std::int64_t{0}),
                          .is_ending = each.value("evictingAlready", false),
                          .uid = names[candidates.size()],
                          .charge = {}});
  }
  std::ranges::sort(candidates, [](const VictimCandidate& a, const VictimCandidate& b) {
    return IsTakenBefore(a, b, 0);
  });
  const auto order = vector.at("expect").at("order").get<std::vector<std::string>>();
  return std::ranges::equal(candidates, order, {}, &VictimCandidate::uid);
}

bool CheckMigVictims(const json& vector) {
  const std::string model = vector.at("gpuModel");
  std::vector<testing::MigHolder> holders;
  int gpus = 0;
  for (const auto& [gpu, pods] : vector.at("gpus").items()) {
    for (const json& pod : pods) {
      const std::string name = pod.at("pod");
      holders.push_back({.name = name,
                         .gpu = gpus,
                         .profile = ProfileNamed(model, pod.at("profile")),
                         .start = pod.at("start"),
                         .priority = vector.at("priorities").at(name)});
    }
    ++gpus;
  }
  const scheduler::Snapshot snapshot = testing::MigHoldersOn(model, gpus, holders);
  const json& incoming = vector.at("incoming");
  const scheduler::Pod pod = testing::PodFromText(
      "new nvidia.com/gpumem=1 priority=" + std::to_string(incoming.at("priority").get<int>()));
  const binpack::RequestShape shape =
      testing::Profiles(ProfileNamed(model, incoming.at("profile")));
  const scheduler::Node& node = *snapshot.FindNode("n");
  const bool fits = binpack::FindObstacle(node.state, shape) == binpack::Obstacle::kNone;
  const scheduler::Policy policy;
  scheduler::VictimFinder finder(snapshot, pod, policy, scheduler::Prefilter::kByKubeScheduler, 0);
  const auto found = finder.Find(node, shape, {});
  std::set<std::string> victims;
  if (found) victims.insert(found->victim_uids.begin(), found->victim_uids.end());
  const json& best = vector.at("expect").at("best");
  if (best.empty()) return !fits && !found;
  return std::ranges::any_of(best, [&](const json& each) {
    std::set<std::string> expected;
    for (const json& name : each.at("victims")) expected.insert("uid-" + name.get<std::string>());
    return victims == expected && fits == expected.empty();
  });
}

bool CheckNodePick(const json& vector) {
  std::deque<std::string> names;
  std::deque<std::vector<scheduler::VictimFact>> victims;
  std::vector<scheduler::NodeVictims> nodes;
  for (const auto& [name, candidate] : vector.at("candidates").items()) {
    names.push_back(name);
    victims.emplace_back();
    for (const json& victim : candidate.at("victims")) {
      victims.back().push_back({.priority = victim.at("priority"), .start_s = victim.at("start")});
    }
    nodes.push_back({names.back(), candidate.at("pdbViolations"), victims.back()});
  }
  const auto picks = vector.at("expect").at("pick").get<std::set<std::string>>();
  const auto picked = scheduler::PickNode(nodes);
  return picked && picks.contains(std::string(nodes[*picked].node));
}

bool CheckCycleGuard(const json& vector) {
  Siblings siblings(vector);
  std::int64_t most = 0;
  for (const auto& [name, queue] : vector.at("queues").items()) {
    most = std::max(most, queue.at("pending").get<std::int64_t>());
  }
  std::size_t evictions = 0;
  for (std::int64_t amount = 1; amount <= most; ++amount) {
    evictions += siblings.EvictionsFor(amount);
  }
  return evictions == vector.at("expect").at("preemptions");
}

}  // namespace offcut::quota
