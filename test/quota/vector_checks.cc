#include "test/quota/vector_checks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "quota/dominant_share.h"
#include "quota/fair_division.h"
#include "quota/fair_order.h"
#include "quota/penalty_ledger.h"
#include "quota/unit_rules.h"
#include "quota/usage_decay.h"
#include "test/quota/regression_sketches.h"
#include "test/quota/vector_world.h"
#include "test/quota/victim_vectors.h"

namespace offcut::quota {
namespace {

using nlohmann::json;

bool IsNear(double value, const json& expected, const json& vector) {
  return std::abs(value - expected.get<double>()) <= vector.value("tolerance", 1e-9);
}

Ledger ReadUsage(const std::shared_ptr<const TenantTree>& tree, const json& usage) {
  Ledger ledger(tree);
  for (const auto& [queue, amounts] : usage.items()) {
    ledger.Add(TenantNamed(*tree, queue), ReadCharge(*tree, amounts));
  }
  return ledger;
}

bool CheckAvailable(const json& vector) {
  const auto tree = KueueWorld::Read(vector).Tree();
  const Ledger ledger = ReadUsage(tree, vector.value("usage", json::object()));
  const auto agree = [&](const char* key, const auto& value_of) {
    const json expected = vector.at("expect").value(key, json::object());
    for (const auto& [name, amounts] : expected.items()) {
      const int tenant = TenantNamed(*tree, name);
      for (const json& amount : amounts) {
        const int cell = CellNamed(*tree, amount.at("flavor").get<std::string>(),
                                   amount.at("resource").get<std::string>());
        const std::int64_t value = std::max<std::int64_t>(0, value_of(tenant, cell));
        if (value != amount.at("amount").get<std::int64_t>()) return false;
      }
    }
    return true;
  };
  return agree("available", [&](int t, int c) { return ledger.Available(t, c); }) &&
         agree("potentiallyAvailable", [&](int t, int c) { return ledger.Potential(t, c); });
}

bool CheckDominantShare(const json& vector) {
  const auto tree = KueueWorld::Read(vector).Tree();
  Ledger ledger = ReadUsage(tree, vector.value("usage", json::object()));
  const json pending = vector.value("pendingRequest", json::object());
  for (const auto& [queue, amounts] : pending.items()) {
    ledger.Add(TenantNamed(*tree, queue), ReadCharge(*tree, amounts));
  }
  return std::ranges::all_of(vector.at("expect"), [&](const json& expected) {
    const DominantShare share =
        ShareOf(ledger, TenantNamed(*tree, expected.at("node").get<std::string>()));
    const json& permille = expected.at("weightedSharePermilleCeil");
    const std::string resource =
        share.resource < 0 ? "" : tree->shared[static_cast<std::size_t>(share.resource)];
    return SharePermille(share) ==
               (permille.is_string() ? kUnlimited : permille.get<std::int64_t>()) &&
           resource == expected.at("dominantResource").get<std::string>() &&
           share.borrowing == expected.at("borrowing").get<bool>();
  });
}

// The places that all numbers of one resource need, as far as the integers hold them.
int PlacesOfDivision(const json& vector, const std::string& resource) {
  constexpr double largest_integer = 4e18;
  constexpr int places_max = 15;
  double largest = vector.at("total").at(resource).get<double>();
  int places = PlacesOf(vector.at("total").at(resource));
  for (const auto& [name, queue] : vector.at("queues").items()) {
    if (!queue.contains(resource)) continue;
    for (const char* key : {"deserved", "limit", "request"}) {
      const json number = queue.at(resource).value(key, json());
      if (!number.is_number()) continue;
      largest = std::max(largest, number.get<double>());
      places = std::max(places, PlacesOf(number));
    }
  }
  const int room = static_cast<int>(std::log10(largest_integer / std::max(1.0, largest)));
  return std::clamp(places, 0, std::max(0, std::min(places_max, room)));
}

Claim ReadClaim(const json& share, int places) {
  const auto amount = [&](const char* key) -> std::optional<std::int64_t> {
    const json number = share.value(key, json());
    if (number.is_null()) return std::nullopt;
    return ScaledNumber(number, places);
  };
  return {.deserved = amount("deserved"),
          .limit = amount("limit"),
          .request = amount("request").value_or(0),
          .weight = ScaledNumber(share.value("overQuotaWeight", json(1)), 6),
          .priority = share.value("priority", std::int64_t{0}),
          .age_order = share.value("createdOrder", std::int64_t{0})};
}

bool CheckDivision(const json& vector) {
  for (const auto& [resource, total] : vector.at("total").items()) {
    const int places = PlacesOfDivision(vector, resource);
    const std::int64_t unit = ScaledNumber(json(1), places);
    std::vector<std::string> names;
    std::vector<Claim> claims;
    for (const auto& [name, queue] : vector.at("queues").items()) {
      if (!queue.contains(resource)) continue;
      names.push_back(name);
      claims.push_back(ReadClaim(queue.at(resource), places));
    }
    const Division division = Divide(ScaledNumber(total, places), unit, claims);
    const auto is_near = [&](std::int64_t value, const json& expected) {
      return IsNear(static_cast<double>(value) / static_cast<double>(unit), expected, vector);
    };
    const json& expect = vector.at("expect");
    for (std::size_t i = 0; i < names.size(); ++i) {
      const json shares = expect.at("fairShare").value(names[i], json::object());
      if (shares.contains(resource) && !is_near(division.shares[i], shares.at(resource))) {
        return false;
      }
    }
    const json remaining = expect.value("remaining", json::object());
    if (remaining.contains(resource) && !is_near(division.remaining, remaining.at(resource))) {
      return false;
    }
  }
  return true;
}

bool CheckUnits(const json& vector) {
  std::vector<UnitRule> rules;
  for (const auto& [input, outputs] : vector.at("transform").items()) {
    UnitRule rule{.input = input,
                  .factors_micro = {},
                  .retain = vector.value("mode", "replace") == "retain",
                  .multiply_by = vector.value("multiplyBy", "")};
    for (const auto& [unit, factor] : outputs.items()) {
      rule.factors_micro[unit] = ScaledNumber(factor, 6);
    }
    rules.push_back(std::move(rule));
  }
  const auto request = vector.at("request").get<Quantities>();
  return Convert(request, rules) == vector.at("expect").at("charge").get<Quantities>();
}

// Fine enough for the tolerance, coarse enough for the integers.
constexpr double kUsageUnits = 1e11;

bool CheckDecayedUsage(const json& vector, std::int64_t kept) {
  const json& expect = vector.at("expect");
  const auto scaled = [](double amount) { return std::llround(amount * kUsageUnits); };
  const auto is_near = [&](std::int64_t value, const json& expected) {
    return IsNear(static_cast<double>(value) / kUsageUnits, expected, vector);
  };
  const json expected_usage = expect.value("usage", json::object());
  for (const auto& [resource, expected] : expected_usage.items()) {
    const double before = vector.at("previous").value(resource, 0.0);
    const double now = vector.at("current").value(resource, 0.0);
    if (!is_near(DecayedUsage(scaled(before), scaled(now), kept), expected)) return false;
  }
  constexpr std::string_view prefix = "entryPenaltyFor";
  for (const auto& [key, expected] : expect.items()) {
    if (!key.starts_with(prefix)) continue;
    const double charge = std::stod(key.substr(prefix.size()));  // "entryPenaltyFor8Gpu"
    if (!is_near(EntryPenalty(scaled(charge), kept), expected)) return false;
  }
  return true;
}

bool CheckDecay(const json& vector) {
  const json& expect = vector.at("expect");
  const auto one = static_cast<double>(kDecayOne);
  const bool is_sample = vector.contains("age_s");
  constexpr int places = 6;
  const std::int64_t kept =
      KeptAfter(ScaledNumber(vector.at(is_sample ? "age_s" : "sampling_s"), places),
                ScaledNumber(vector.at("halfLife_s"), places));
  if (is_sample) {
    const double weight = vector.value("amount", 1.0) * static_cast<double>(kept) / one;
    return IsNear(weight, expect.at("weightOfSample"), vector);
  }
  if (expect.contains("A") &&
      !IsNear(static_cast<double>(kDecayOne - kept) / one, expect.at("A"), vector)) {
    return false;
  }
  return CheckDecayedUsage(vector, kept);
}

bool CheckPenalties(const json& vector) {
  std::map<std::string, int> cells;
  const auto read = [&](const json& milli) {
    Charge charge;
    for (const auto& [resource, amount] : milli.items()) {
      const int cell = cells.try_emplace(resource, static_cast<int>(cells.size())).first->second;
      AddToCharge(cell, amount.get<std::int64_t>(), charge);
    }
    return charge;
  };
  PenaltyLedger penalties;
  for (const json& op : vector.at("ops")) {
    if (op.contains("push")) penalties.Push(op.at("push"), read(op.at("milli")));
    if (op.contains("drop")) penalties.Drop(op.at("drop").get<std::string>());
  }
  const json& expect = vector.at("expect");
  return penalties.empty() != expect.at("hasAny").get<bool>() &&
         penalties.sum() == read(expect.at("milli"));
}

// As many equal requests of a tenant as can matter.
void AddWaiting(int tenant, const Charge& charge, std::int64_t count,
                std::vector<Waiting>& waiting) {
  for (std::int64_t i = 0; i < count; ++i) {
    waiting.push_back({.tenant = tenant, .charge = charge});
  }
}

bool CheckDrf(const json& vector) {
  int places = 0;
  for (const auto& [resource, amount] : vector.at("capacity").items()) {
    places = std::max(places, PlacesOf(amount));
  }
  for (const auto& [user, task] : vector.at("users").items()) {
    for (const auto& [resource, amount] : task.items()) places = std::max(places, PlacesOf(amount));
  }
  KueueWorld world;
  world.AddTenant("/", "", kWeightOne, false);
  for (const auto& [resource, amount] : vector.at("capacity").items()) {
    world.AddQuota("/", {"pool", resource, ScaledNumber(amount, places), {}, {}});
  }
  for (const auto& [user, task] : vector.at("users").items()) {
    world.AddTenant(user, "/", kWeightOne, true);
  }
  const auto tree = world.Tree();
  std::vector<Waiting> waiting;
  for (const auto& [user, task] : vector.at("users").items()) {
    Charge charge;
    std::int64_t tasks = kUnlimited;
    for (const auto& [resource, amount] : task.items()) {
      const int cell = CellNamed(*tree, "pool", resource);
      AddToCharge(cell, ScaledNumber(amount, places), charge);
      const std::int64_t each = ScaledNumber(amount, places);
      if (each > 0) tasks = std::min(tasks, tree->Plan(cell, 0).subtree / each);
    }
    AddWaiting(TenantNamed(*tree, user), charge, tasks, waiting);
  }
  Ledger ledger(tree);
  std::map<std::string, std::int64_t> tasks;
  for (const std::size_t i : FairOrder(ledger, waiting)) {
    ledger.Add(waiting[i].tenant, waiting[i].charge);
    ++tasks[tree->tenants[static_cast<std::size_t>(waiting[i].tenant)].name];
  }
  const json& expect = vector.at("expect");
  const json shares = expect.value("dominantShare", json::object());
  return std::ranges::all_of(expect.at("tasks").items(),
                             [&](const auto& item) { return tasks[item.key()] == item.value(); }) &&
         std::ranges::all_of(shares.items(), [&](const auto& item) {
           const DominantShare share = ShareOf(ledger, TenantNamed(*tree, item.key()));
           return IsNear(static_cast<double>(share.borrowed) / static_cast<double>(share.lendable),
                         item.value(), vector);
         });
}

bool CheckSharedCap(const json& vector) {
  std::string resource;
  for (const auto& [key, value] : vector.at("requests").at(0).items()) {
    if (key != "flavor") resource = key;
  }
  KueueWorld world;
  world.AddTenant("tenant", "", kWeightOne, true);
  for (const auto& [flavor, cap] : vector.at("caps").items()) {
    const std::string pool = flavor == "combined" ? std::string(kAllPools) : flavor;
    world.AddQuota("tenant", {pool, resource, cap.get<std::int64_t>(), {}, {}});
  }
  const auto tree = world.Tree();
  Ledger ledger(tree);
  std::vector<bool> admitted;
  for (const json& request : vector.at("requests")) {
    const auto amount = request.at(resource).get<std::int64_t>();
    Charge charge;
    AddToCharge(*tree, request.at("flavor").get<std::string>(), {.instances = {{resource, amount}}},
                charge);
    admitted.push_back(ledger.Check(0, charge).answer == Answer::kFits);
    if (admitted.back()) ledger.Add(0, charge);
  }
  return admitted == vector.at("expect").at("admit").get<std::vector<bool>>();
}

class SteadyState {
 public:
  explicit SteadyState(const json& tree) : tree_(tree) { AddCohort("root", ""); }

  // What each tenant has of it once nothing more fits, requests being of one unit.
  bool Agrees(const json& expect) {
    const auto tree = world_.Tree();
    const int cell = CellNamed(*tree, "pool", "unit");
    std::vector<Waiting> waiting;
    for (const auto& [name, demand] : demands_) {
      const int tenant = TenantNamed(*tree, name);
      const std::int64_t most = std::min(demand, tree->Plan(cell, tenant).potential);
      AddWaiting(tenant, {{cell, 1}}, most, waiting);
    }
    Ledger ledger(tree);
    for (const std::size_t i : FairOrder(ledger, waiting)) {
      ledger.Add(waiting[i].tenant, waiting[i].charge);
    }
    return std::ranges::all_of(expect.items(), [&](const auto& item) {
      const int tenant = TenantNamed(*tree, item.key());
      return ledger.StandingOf(tenant, cell).used == item.value().template get<std::int64_t>();
    });
  }

 private:
  void AddCohort(const std::string& name, const std::string& parent) {
    const json node = tree_.value(name, json::object());
    world_.AddTenant(name, parent, ScaledNumber(node.value("weight", json(1)), 6), false);
    if (node.contains("nominal")) {
      world_.AddQuota(name, {"pool", "unit", node.at("nominal").get<std::int64_t>(), {}, {}});
    }
    const json queues = node.value("queues", json::object());
    for (const auto& [queue, quota] : queues.items()) {
      world_.AddTenant(queue, name, ScaledNumber(quota.value("weight", json(1)), 6), true);
      world_.AddQuota(queue, {"pool", "unit", quota.value("nominal", std::int64_t{0}), {}, {}});
      const json demand = quota.value("demand", json("inf"));
      demands_[queue] = demand.is_string() ? kUnlimited : demand.get<std::int64_t>();
    }
    for (const json& child : node.value("children", json::array())) {
      AddCohort(child.get<std::string>(), name);
    }
  }

  json tree_;
  KueueWorld world_;
  std::map<std::string, std::int64_t> demands_;
};

bool CheckSteadyState(const json& vector) {
  return SteadyState(vector.at("tree")).Agrees(vector.at("expect"));
}

// One tenant that has what is named, and asks for more of it.
bool CheckOverLimit(const json& vector) {
  const bool is_min = vector.at("check") == "min";
  const json bounds = vector.value(vector.at("check").get<std::string>(), json::object());
  KueueWorld world;
  world.AddTenant("tenant", "", kWeightOne, false);
  std::set<std::string> resources;
  for (const auto& [resource, bound] : bounds.items()) resources.insert(resource);
  for (const auto& [resource, amount] : vector.at("request").items()) {
    if (is_min) resources.insert(resource);
  }
  for (const std::string& resource : resources) {
    const auto bound = bounds.value(resource, std::int64_t{0});
    world.AddQuota("tenant", {"pool", resource, bound, {}, {}});
  }
  const auto tree = world.Tree();
  const auto read = [&](const json& amounts) {
    Charge charge;
    for (const auto& [resource, amount] : amounts.items()) {
      const int cell = FindCell(*tree, "pool", resource);
      if (cell >= 0) AddToCharge(cell, amount.get<std::int64_t>(), charge);
    }
    return charge;
  };
  Ledger ledger(tree);
  ledger.Add(0, read(vector.at("used")));
  const bool is_over = ledger.Check(0, read(vector.at("request"))).answer != Answer::kFits;
  return is_over == vector.at("expect").at("over").get<bool>();
}

struct Rule {
  std::string_view kind;
  bool required;
  bool (*check)(const json& vector);  // nullptr: not applicable
  std::string_view name;
  std::string_view reason;  // why it may differ, or does not apply
};

constexpr std::string_view kOtherQuotaRules =
    "quota follows Kueue; this is another system's rule, and they contradict each other";
constexpr std::string_view kAboutVictims = "says who is evicted; quota alone does not";
constexpr std::string_view kAboutMoney = "says what usage costs; no money is counted here";

constexpr Rule kRules[] = {
    {"available", true, CheckAvailable, "available", ""},
    {"dominant-share", true, CheckDominantShare, "dominant-share", ""},
    {"fair-share-division", true, CheckDivision, "fair-division", ""},
    {"quota-units", true, CheckUnits, "unit-rules", ""},
    {"usage-decay", true, CheckDecay, "usage-decay", ""},
    {"penalty-ledger", true, CheckPenalties, "penalty-ledger", ""},
    {"drf", true, CheckDrf, "fair-order", ""},
    {"shared-cap", true, CheckSharedCap, "pool-of-all", ""},
    {"fair-steady-state", true, CheckSteadyState, "fair-order", ""},
    {"over-limit", false, CheckOverLimit, "asks-about-more",
     "we ask whether a request may be added, not whether usage is over already"},
    {"preemption", true, CheckPreemption, "victims", ""},
    {"candidate-order", true, CheckCandidateOrder, "victims", ""},
    {"mig-victims", true, CheckMigVictims, "victims-by-place", ""},
    {"kube-node-pick", true, CheckNodePick, "node-pick", ""},
    {"cycle-guard", true, CheckCycleGuard, "victims", ""},
    {"cluster-outcome", false, nullptr, "about-victims", kAboutVictims},
    {"cost-share", false, nullptr, "about-money", kAboutMoney},
    {"cost-normalise", false, nullptr, "about-money", kAboutMoney},
    {"idle-distribution", false, nullptr, "about-money", kAboutMoney},
};

const Rule& RuleFor(std::string_view kind) {
  static constexpr Rule other{"", false, nullptr, "other-quota-rules", kOtherQuotaRules};
  const auto* found = std::ranges::find(kRules, kind, &Rule::kind);
  return found == std::end(kRules) ? other : *found;
}

// A sketch, no example: a test of our own says it, or it says nothing of us.
VectorResult SketchOf(std::string_view id) {
  VectorResult result{.verdict = Verdict::kNotApplicable, .rule = "sketch", .reason = ""};
  const auto* sketch = std::ranges::find(kSketches, id, &Sketch::id);
  if (sketch == std::end(kSketches)) {
    result.reason = "no test names it";
  } else if (sketch->test.empty()) {
    result.reason = sketch->reason;
  } else {
    result.reason = "tested by ";
    result.reason += sketch->test;
  }
  return result;
}

}  // namespace

std::string TextOf(const json& vector, std::string_view key) {
  if (!vector.is_object()) return "-";
  const auto found = vector.find(key);
  return found != vector.end() && found->is_string() ? found->get<std::string>() : "-";
}

VectorResult CheckVector(const json& vector) {
  if (TextOf(vector, "kind") == "regression") return SketchOf(TextOf(vector, "id"));
  const Rule& rule = RuleFor(TextOf(vector, "kind"));
  VectorResult result{.verdict = Verdict::kNotApplicable,
                      .required = rule.required,
                      .rule = std::string(rule.name),
                      .reason = std::string(rule.reason)};
  if (rule.check == nullptr) return result;
  try {
    if (ContradictsItself(vector)) {
      result.rule = "contradicts-itself";
      result.reason = "equal candidates stand apart in the order that it expects";
      return result;
    }
    result.verdict = rule.check(vector) ? Verdict::kAgrees : Verdict::kDiffers;
    if (result.verdict == Verdict::kAgrees) result.reason.clear();
  } catch (const std::exception& error) {
    result.verdict = Verdict::kDiffers;
    result.reason = std::string("cannot be read: ") + error.what();
  }
  return result;
}

}  // namespace offcut::quota
