#include "test/scheduler/plain_victim_finder.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "quota/fair_victims.h"
#include "quota/victims.h"
#include "scheduler/isolation.h"
#include "scheduler/quota_check.h"
#include "scheduler/victim_units.h"

namespace offcut::scheduler {
namespace {

using binpack::Piece;

constexpr std::size_t kFirstPlacesMax = 16;

quota::Ledger LedgerFor(const Snapshot& snapshot, const Pod& pod) {
  if (snapshot.accounts() != nullptr) return ExpectedUseFor(snapshot, pod).now;
  const std::vector<quota::TenantSpec> specs = {{.name = "all", .parent = "", .quotas = {}}};
  return quota::Ledger(std::make_shared<const quota::TenantTree>(*quota::BuildTenantTree(specs)));
}

GangSizes GangsOf(const Snapshot& snapshot) {
  GangSizes gangs;
  snapshot.ForEachPod([&](const PodEntry& entry) {
    const bool stays = entry.phase == PodPhase::kReserved || entry.phase == PodPhase::kBound;
    if (entry.pod->gang.empty() || !stays) return;
    ++gangs[{entry.pod->name_space, entry.pod->gang}];
  });
  return gangs;
}

Units Union(const Units& a, const Units& b) {
  Units result;
  std::ranges::set_union(a, b, std::back_inserter(result));
  return result;
}

class Plain {
 public:
  Plain(const Snapshot& snapshot, const Pod& pod, const Policy& policy, const Node& node,
        const binpack::RequestShape& shape, std::int64_t now_s)
      : snapshot_(snapshot),
        pod_(pod),
        evictor_{
            .pod = pod,
            .rules = policy.preemption,
            .quota_rules = QuotaRulesOf(policy),
            .tenancy = snapshot.accounts() == nullptr ? nullptr : &snapshot.accounts()->tenancy(),
            .payer = PayerIn(snapshot, pod),
            .now_s = now_s},
        ledger_(LedgerFor(snapshot, pod)),
        node_(node),
        shape_(shape),
        units_(VictimUnitsOf(node, evictor_, GangsOf(snapshot))) {
    newcomer_.priority = pod.priority;
    if (evictor_.tenancy == nullptr || evictor_.payer.tenant == kNoTenant) return;
    newcomer_.tenant = evictor_.payer.tenant;
    if (evictor_.payer.is_charged_elsewhere) return;
    newcomer_.charge =
        ToCells(*evictor_.tenancy, ExpectCharge(node_.inventory.devices, shape_).charge);
    contested_ = quota::ContestedCells(ledger_, newcomer_.tenant, newcomer_.charge);
  }

  std::optional<PreemptionCandidate> Find(const PreemptionCandidate& named) {
    if (!Read(named.victim_uids)) return std::nullopt;
    std::optional<Units> best;
    if (named_units_) best = BestWith(*named_units_);
    if (!best && !named_holders_.empty()) best = BestInPlaceOf();
    if (!best || (named.victim_uids.empty() && best->empty())) return std::nullopt;
    PreemptionCandidate answer{.node_name = node_.name(),
                               .victim_uids = NamesOf(*best),
                               .pdb_violations = named.pdb_violations};
    if (best != named_units_ && snapshot_.disruption_budgets() != nullptr) {
      answer.pdb_violations = ViolationsOf(*best);
    }
    return answer;
  }

 private:
  struct Named {
    std::string uid;
    std::int32_t priority = 0;
  };

  const Pod& PodAt(std::size_t holder) const { return *node_.holders[holder].pod; }

  bool Read(const std::vector<std::string>& named) {
    Units units;
    bool all_may_go = true;
    for (const std::string& uid : std::set(named.begin(), named.end())) {
      const auto holder = std::ranges::find_if(
          node_.holders, [&](const Holder& each) { return each.pod->uid == uid; });
      if (holder == node_.holders.end()) {
        if (!AddOther(uid)) return false;
        continue;
      }
      if (holder->pod->priority >= pod_.priority) return false;
      AddHolder(static_cast<std::size_t>(holder - node_.holders.begin()), units, all_may_go);
    }
    std::ranges::sort(units);
    units.erase(std::ranges::unique(units).begin(), units.end());
    if (all_may_go) named_units_ = units;
    return true;
  }

  bool AddOther(const std::string& uid) {
    std::int32_t priority = std::numeric_limits<std::int32_t>::min();
    if (const PodEntry* entry = snapshot_.FindPod(uid); entry != nullptr) {
      if (!entry->node_name.empty() && entry->node_name != node_.name()) return false;
      if (entry->pod->priority >= pod_.priority) return false;
      priority = entry->pod->priority;
    }
    others_.push_back({uid, priority});
    return true;
  }

  void AddHolder(std::size_t h, Units& units, bool& all_may_go) {
    if (PodAt(h).request.empty() || PodAt(h).node_name.empty()) {
      lifted_.push_back(h);
      others_.push_back({PodAt(h).uid, PodAt(h).priority});
      return;
    }
    named_holders_.push_back(h);
    bool may_go = false;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (std::ranges::find(units_[i].holders, h) == units_[i].holders.end()) continue;
      units.push_back(i);
      may_go = true;
    }
    all_may_go = all_may_go && may_go;
  }

  std::vector<std::size_t> HoldersOf(const Units& units) const {
    std::vector<std::size_t> holders;
    for (const std::size_t i : units) {
      holders.insert(holders.end(), units_[i].holders.begin(), units_[i].holders.end());
    }
    return holders;
  }

  bool FitsWithout(const Units& units) const {
    std::vector<std::size_t> gone = HoldersOf(units);
    gone.insert(gone.end(), lifted_.begin(), lifted_.end());
    binpack::NodeState devices = node_.state;
    for (const std::size_t h : gone) binpack::Release(devices, node_.holders[h].placement);
    if (binpack::FindObstacle(devices, shape_) != binpack::Obstacle::kNone) return false;
    IsolationCheck isolation(snapshot_, pod_);
    const bool must_rebuild =
        isolation.HasRules() || std::ranges::any_of(node_.holders, &Holder::is_unplaced);
    if (!must_rebuild) return true;
    std::vector<Holder> rest;
    for (std::size_t h = 0; h < node_.holders.size(); ++h) {
      if (std::ranges::find(gone, h) == gone.end()) rest.push_back(node_.holders[h]);
    }
    const Node without = BuildNode(node_.inventory, std::move(rest));
    return binpack::FindObstacle(without.state, shape_) == binpack::Obstacle::kNone &&
           isolation.Restrict(Verdict{}, without).fits();
  }

  std::optional<Units> FindAmong(const Units& among, const Units& required) {
    std::vector<quota::VictimCandidate> candidates;
    for (const std::size_t i : among) {
      const VictimUnit& unit = units_[i];
      candidates.push_back({.tenant = evictor_.tenancy == nullptr ? 0 : unit.tenant,
                            .priority = unit.priority,
                            .since = unit.created_s,
                            .is_ending = unit.is_ending,
                            .uid = unit.uid,
                            .charge = unit.charge});
    }
    const auto to_units = [&](std::span<const std::size_t> gone) {
      Units units;
      for (const std::size_t i : gone) units.push_back(among[i]);
      std::ranges::sort(units);
      return units;
    };
    const quota::FitsWithout fits = [&](std::span<const std::size_t> gone) {
      const Units units = to_units(gone);
      return std::ranges::includes(units, required) && FitsWithout(units);
    };
    const quota::VictimSearch search{newcomer_, candidates, contested_, fits};
    const PreemptionRules& rules = evictor_.rules;
    const quota::VictimRules& by_priority = evictor_.quota_rules;
    const auto victims = rules.fair_sharing
                             ? quota::FindFairVictims(ledger_, search, by_priority, {})
                             : quota::FindVictims(ledger_, search, by_priority);
    if (!victims) return std::nullopt;
    std::vector<std::size_t> gone;
    for (const quota::Victim& victim : *victims) gone.push_back(victim.candidate);
    return to_units(gone);
  }

  bool IsWithinGuarantee(const VictimUnit& unit) const {
    if (unit.tenant == kNoTenant) return false;
    return std::ranges::none_of(contested_, [&](int cell) {
      return ledger_.Used(unit.tenant, cell) > ledger_.tree().Plan(cell, unit.tenant).subtree;
    });
  }

  std::int64_t ViolationsOf(const Units& units) const {
    if (snapshot_.disruption_budgets() == nullptr) return 0;
    std::vector<DisruptionBudget> budgets = *snapshot_.disruption_budgets();
    std::vector<std::size_t> victims = lifted_;
    for (const std::size_t h : HoldersOf(units)) victims.push_back(h);
    std::int64_t violations = 0;
    for (const std::size_t h : victims) {
      bool violates = false;
      for (DisruptionBudget& budget : budgets) {
        if (!Selects(budget, PodAt(h))) continue;
        violates = --budget.disruptions_allowed < 0 || violates;
      }
      violations += violates ? 1 : 0;
    }
    return violations;
  }

  auto CostOf(const Units& units) const {
    bool some_run_on = false;
    std::int32_t priority = std::numeric_limits<std::int32_t>::min();
    std::int64_t within_guarantee = 0;
    std::int64_t device_s = 0;
    std::int64_t devices = 0;
    std::vector<std::string_view> uids;
    for (const std::size_t i : units) {
      const VictimUnit& unit = units_[i];
      some_run_on = some_run_on || !unit.is_ending;
      priority = std::max(priority, unit.priority);
      within_guarantee += IsWithinGuarantee(unit) ? 1 : 0;
      device_s += unit.device_s;
      devices += unit.devices;
      uids.push_back(unit.uid);
    }
    return std::tuple(some_run_on, ViolationsOf(units), priority, within_guarantee,
                      HoldersOf(units).size(), device_s, devices, std::move(uids));
  }

  void Consider(std::optional<Units> units, std::optional<Units>& best) const {
    if (!units || !FreesEnough(*units)) return;
    if (!best || CostOf(*units) < CostOf(*best)) best = std::move(units);
  }

  template <typename IsIn>
  Units UnitsWhere(IsIn is_in) const {
    Units units;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const bool has_piece_in = std::ranges::any_of(units_[i].holders, [&](std::size_t h) {
        return std::ranges::any_of(node_.holders[h].placement.pieces, is_in);
      });
      if (has_piece_in) units.push_back(i);
    }
    return units;
  }

  void AddStarts(int gpu, const binpack::GpuModel& model, std::vector<Units>& places) const {
    for (const binpack::ProfileCount& wanted : shape_.profiles) {
      const auto index = model.FindProfile(wanted.profile);
      if (!index) continue;
      const binpack::MigProfile& profile = model.profiles[static_cast<std::size_t>(*index)];
      for (const int start : profile.starts) {
        places.push_back(UnitsWhere([&](const Piece& piece) {
          return piece.gpu == gpu && piece.pool < 0 &&
                 (piece.kind != binpack::PieceKind::kInstance ||
                  (piece.slices.start < start + profile.memory_slices &&
                   start < piece.slices.start + piece.slices.size));
        }));
      }
    }
  }

  // Who stands in each place that could serve a piece of the request, the cheapest first.
  std::vector<Units> Places() const {
    std::vector<Units> places;
    for (const binpack::PoolCount& wanted : shape_.pool_units) {
      places.push_back(UnitsWhere([&](const Piece& piece) { return piece.pool == wanted.pool; }));
    }
    const binpack::NodeState& devices = node_.inventory.devices;
    for (std::size_t g = 0; g < devices.gpus.size(); ++g) {
      const int gpu = static_cast<int>(g);
      const binpack::GpuModel* model = devices.gpus[g].model.get();
      if (std::holds_alternative<binpack::MigGpu>(devices.gpus[g].state) && model != nullptr) {
        AddStarts(gpu, *model, places);
      }
      places.push_back(UnitsWhere([&](const Piece& piece) { return piece.gpu == gpu; }));
    }
    std::ranges::sort(places,
                      [&](const Units& a, const Units& b) { return CostOf(a) < CostOf(b); });
    places.erase(std::ranges::unique(places).begin(), places.end());
    return places;
  }

  std::optional<Units> FindFrom(const Units& first, const std::vector<Units>& places,
                                const Units& required) {
    Units together = Union(required, first);
    if (auto found = FindAmong(together, required)) return found;
    for (const Units& place : places) {
      Units more = Union(together, place);
      if (more == together) continue;
      together = std::move(more);
      if (!FitsWithout(together)) continue;
      if (auto found = FindAmong(together, required)) return found;
    }
    return std::nullopt;
  }

  std::optional<Units> BestWith(const Units& required) {
    if (auto alone = FindAmong(required, required); alone && FreesEnough(*alone)) return alone;
    std::vector<Units> places = Places();
    std::optional<Units> best;
    if (PiecesAsked() == 1) {
      for (const Units& place : places) {
        Consider(FindAmong(Union(place, required), required), best);
      }
    }
    if (!best) {
      Units all(units_.size());
      std::iota(all.begin(), all.end(), std::size_t{0});
      places.push_back(std::move(all));
      for (std::size_t i = 0; i < std::min(places.size(), kFirstPlacesMax); ++i) {
        Consider(FindFrom(places[i], places, required), best);
      }
    }
    return best;
  }

  int PiecesAsked() const {
    int count = shape_.whole_gpus + shape_.slots;
    for (const binpack::PoolCount& each : shape_.pool_units) count += each.count;
    for (const binpack::ProfileCount& each : shape_.profiles) count += each.count;
    for (const binpack::Fraction& each : shape_.fractions) count += each.gpus;
    return count;
  }

  std::optional<Units> BestInPlaceOf() {
    const bool minds =
        pod_.minds_neighbours || std::ranges::any_of(named_holders_, [&](std::size_t h) {
          return PodAt(h).minds_neighbours;
        });
    if (minds) return std::nullopt;
    for (const std::size_t h : named_holders_) must_free_ += PodAt(h).host;
    return BestWith({});
  }

  bool FreesEnough(const Units& units) const {
    binpack::HostResources freed;
    for (const std::size_t h : HoldersOf(units)) freed += PodAt(h).host;
    return freed.cpu_milli >= must_free_.cpu_milli && freed.memory_bytes >= must_free_.memory_bytes;
  }

  std::vector<std::string> NamesOf(const Units& units) const {
    std::vector<Named> victims = others_;
    for (const std::size_t h : HoldersOf(units)) {
      victims.push_back({PodAt(h).uid, PodAt(h).priority});
    }
    std::ranges::sort(victims, [](const Named& a, const Named& b) {
      return std::tuple(b.priority, std::string_view(a.uid)) <
             std::tuple(a.priority, std::string_view(b.uid));
    });
    std::vector<std::string> uids;
    for (const Named& victim : victims) uids.push_back(victim.uid);
    return uids;
  }

  const Snapshot& snapshot_;
  const Pod& pod_;
  const Evictor evictor_;
  quota::Ledger ledger_;
  const Node& node_;
  const binpack::RequestShape& shape_;
  const std::vector<VictimUnit> units_;
  quota::Newcomer newcomer_;
  std::vector<int> contested_;
  std::vector<Named> others_;               // named, and no choice of ours
  std::vector<std::size_t> lifted_;         // those of them that are holders
  std::vector<std::size_t> named_holders_;  // named, with devices
  std::optional<Units> named_units_;        // nullopt: one of them may not go
  binpack::HostResources must_free_;
};

}  // namespace

std::optional<PreemptionCandidate> FindVictimsPlainly(const Snapshot& snapshot, const Pod& pod,
                                                      const Policy& policy, const Node& node,
                                                      const binpack::RequestShape& shape,
                                                      const PreemptionCandidate& named,
                                                      std::int64_t now_s) {
  return Plain(snapshot, pod, policy, node, shape, now_s).Find(named);
}

}  // namespace offcut::scheduler
