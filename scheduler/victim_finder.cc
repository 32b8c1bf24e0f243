#include "scheduler/victim_finder.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "quota/fair_victims.h"
#include "quota/victims.h"
#include "scheduler/checked_shape.h"
#include "scheduler/expected_node.h"
#include "scheduler/isolation.h"
#include "scheduler/quota_check.h"

namespace offcut::scheduler {
namespace {

using binpack::Piece;

// Where several places are asked for together, so many are tried as the first of them.
constexpr std::size_t kFirstPlacesMax = 16;

// Units, by index, ascending.
using Units = std::vector<std::size_t>;

std::shared_ptr<const quota::TenantTree> TreeOfOne() {
  static const auto tree = [] {
    const std::vector<quota::TenantSpec> specs = {{.name = "all", .parent = "", .quotas = {}}};
    return std::make_shared<const quota::TenantTree>(*quota::BuildTenantTree(specs));
  }();
  return tree;
}

quota::Ledger LedgerFor(const Snapshot& snapshot, const Pod& pod) {
  if (snapshot.accounts() == nullptr) return quota::Ledger(TreeOfOne());
  return ExpectedUseFor(snapshot, pod).now;
}

// A node's devices, from which holders are lifted and put back.
class Vacancy {
 public:
  Vacancy(const Node& node, std::span<const VictimUnit> units)
      : node_(node), units_(units), state_(node.state), is_gone_(units.size()) {}

  // For as long as the object lives.
  void Lift(const Holder& holder) { binpack::Release(state_, holder.placement); }

  const binpack::NodeState& Without(std::span<const std::size_t> units) {
    std::vector<bool> wanted(is_gone_.size());
    for (const std::size_t i : units) wanted[i] = true;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (is_gone_[i] && !wanted[i]) Put(i);
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!is_gone_[i] && wanted[i]) Take(i);
    }
    return state_;
  }

 private:
  void Take(std::size_t unit) {
    for (const std::size_t h : units_[unit].holders) {
      binpack::Release(state_, node_.holders[h].placement);
    }
    is_gone_[unit] = true;
  }
  void Put(std::size_t unit) {
    for (const std::size_t h : units_[unit].holders) {
      binpack::Occupy(state_, node_.holders[h].placement);
    }
    is_gone_[unit] = false;
  }

  const Node& node_;
  std::span<const VictimUnit> units_;
  binpack::NodeState state_;
  std::vector<bool> is_gone_;
};

// Part of a node's devices that one piece of a request could have.
struct Region {
  int gpu = -1;
  int pool = -1;
  binpack::SliceRange slices;  // size 0: the whole GPU
};

bool Overlaps(const Piece& piece, const Region& region) {
  if (piece.pool != region.pool || piece.gpu != region.gpu) return false;
  if (region.slices.size == 0 || piece.kind != binpack::PieceKind::kInstance) return true;
  return piece.slices.start < region.slices.start + region.slices.size &&
         region.slices.start < piece.slices.start + piece.slices.size;
}

int PiecesAsked(const binpack::RequestShape& shape) {
  int count = shape.whole_gpus + shape.slots;
  for (const binpack::PoolCount& each : shape.pool_units) count += each.count;
  for (const binpack::ProfileCount& each : shape.profiles) count += each.count;
  for (const binpack::Fraction& each : shape.fractions) count += each.gpus;
  return count;
}

std::vector<Region> RegionsOf(const binpack::NodeState& devices,
                              const binpack::RequestShape& shape) {
  std::vector<Region> regions;
  regions.reserve(shape.pool_units.size() + devices.gpus.size());
  for (const binpack::PoolCount& wanted : shape.pool_units) {
    regions.push_back({.pool = wanted.pool});
  }
  for (std::size_t g = 0; g < devices.gpus.size(); ++g) {
    const int gpu = static_cast<int>(g);
    const binpack::GpuModel* model = devices.gpus[g].model.get();
    if (std::holds_alternative<binpack::MigGpu>(devices.gpus[g].state) && model != nullptr) {
      for (const binpack::ProfileCount& wanted : shape.profiles) {
        const auto profile = model->FindProfile(wanted.profile);
        if (!profile) continue;
        const binpack::MigProfile& spec = model->profiles[static_cast<std::size_t>(*profile)];
        for (const int start : spec.starts) {
          regions.push_back({.gpu = gpu, .slices = {start, spec.memory_slices}});
        }
      }
    }
    regions.push_back({.gpu = gpu});
  }
  return regions;
}

}  // namespace

// The same question to one node.
class VictimFinder::OnNode {
 public:
  OnNode(VictimFinder& finder, const Node& node, binpack::RequestShape shape)
      : finder_(finder),
        node_(node),
        shape_(std::move(shape)),
        units_(VictimUnitsOf(node, finder.evictor_, HasGangs(node) ? finder.Gangs() : NoGangs())),
        vacancy_(node, units_),
        budgets_(finder.snapshot_.disruption_budgets()),
        isolation_(finder.snapshot_, finder.pod_),
        must_rebuild_(isolation_.HasRules() || HasUnplaced(node)) {
    SetCandidates();
    SetNewcomer();
  }

  std::optional<PreemptionCandidate> Find(const PreemptionCandidate& named) {
    if (!Read(named.victim_uids)) return std::nullopt;
    std::optional<Units> best;
    if (named_units_) best = BestWith(*named_units_);
    if (!best && !named_holders_.empty()) best = BestInPlaceOf();
    if (!best || (named.victim_uids.empty() && best->empty())) return std::nullopt;
    const bool is_as_named = best == named_units_;
    PreemptionCandidate answer{.node_name = node_.name(),
                               .victim_uids = NamesOf(*best),
                               .pdb_violations = named.pdb_violations};
    // kube-scheduler knows its own victims better than we do.
    if (!is_as_named && budgets_ != nullptr) answer.pdb_violations = ViolationsOf(*best);
    return answer;
  }

 private:
  static bool HasGangs(const Node& node) {
    return std::ranges::any_of(node.holders,
                               [](const Holder& each) { return !each.pod->gang.empty(); });
  }
  static bool HasUnplaced(const Node& node) {
    return std::ranges::any_of(node.holders, &Holder::is_unplaced);
  }
  static const GangSizes& NoGangs() {
    static const GangSizes none;
    return none;
  }

  void SetCandidates() {
    const Tenancy* tenancy = finder_.evictor_.tenancy;
    candidates_.reserve(units_.size());
    for (const VictimUnit& unit : units_) {
      candidates_.push_back({.tenant = tenancy == nullptr ? 0 : unit.tenant,
                             .priority = unit.priority,
                             .since = unit.created_s,
                             .is_ending = unit.is_ending,
                             .uid = unit.uid,
                             .charge = {}});
      if (tenancy != nullptr) candidates_.back().charge = ToCells(*tenancy, unit.charge);
    }
  }

  void SetNewcomer() {
    const Evictor& evictor = finder_.evictor_;
    newcomer_.priority = finder_.pod_.priority;
    if (evictor.tenancy == nullptr || evictor.payer.tenant == kNoTenant) return;
    newcomer_.tenant = evictor.payer.tenant;
    if (evictor.payer.is_charged_elsewhere) return;
    newcomer_.charge =
        ToCells(*evictor.tenancy, ExpectCharge(node_.inventory.devices, shape_).charge);
    contested_ = quota::ContestedCells(finder_.ledger_, newcomer_.tenant, newcomer_.charge);
  }

  // Splits who was named. False: the node must not be answered.
  bool Read(std::span<const std::string> named) {
    Units units;
    bool all_may_go = true;
    for (const std::string& uid : named) {
      if (IsListed(uid)) continue;
      const auto holder = std::ranges::find_if(
          node_.holders, [&](const Holder& each) { return each.pod->uid == uid; });
      if (holder != node_.holders.end()) {
        if (holder->pod->priority >= finder_.pod_.priority) return false;
        AddNamedHolder(static_cast<std::size_t>(holder - node_.holders.begin()), units, all_may_go);
      } else if (!AddOther(uid)) {
        return false;
      }
    }
    std::ranges::sort(units);
    if (all_may_go) named_units_ = std::move(units);
    return true;
  }

  bool IsListed(std::string_view uid) const {
    return std::ranges::find(others_, uid, &Named::uid) != others_.end() ||
           std::ranges::find(named_holders_, uid, [&](std::size_t h) {
             return std::string_view(node_.holders[h].pod->uid);
           }) != named_holders_.end();
  }

  void AddNamedHolder(std::size_t h, Units& units, bool& all_may_go) {
    const Holder& holder = node_.holders[h];
    // Without devices, or only expected here: kube-scheduler knows why.
    if (holder.pod->request.empty() || holder.pod->node_name.empty()) {
      vacancy_.Lift(holder);
      lifted_.push_back(h);
      others_.push_back({holder.pod->uid, holder.pod->priority});
      return;
    }
    named_holders_.push_back(h);
    const auto unit = std::ranges::find_if(units_, [&](const VictimUnit& each) {
      return std::ranges::binary_search(each.holders, h);
    });
    if (unit == units_.end()) {
      all_may_go = false;
      return;
    }
    const auto index = static_cast<std::size_t>(unit - units_.begin());
    if (std::ranges::find(units, index) == units.end()) units.push_back(index);
  }

  // Not a holder here. False: it stands elsewhere, or must not go.
  bool AddOther(const std::string& uid) {
    std::int32_t priority = std::numeric_limits<std::int32_t>::min();  // where not known
    if (const PodEntry* entry = finder_.snapshot_.FindPod(uid); entry != nullptr) {
      if (!entry->node_name.empty() && entry->node_name != node_.name()) return false;
      if (entry->pod->priority >= finder_.pod_.priority) return false;
      priority = entry->pod->priority;
    }
    others_.push_back({uid, priority});
    return true;
  }

  // Whether the pod fits with those gone.
  bool FitsWithout(std::span<const std::size_t> units) {
    if (binpack::FindObstacle(vacancy_.Without(units), shape_) != binpack::Obstacle::kNone) {
      return false;
    }
    if (!must_rebuild_) return true;
    std::vector<Holder> rest;
    for (std::size_t h = 0; h < node_.holders.size(); ++h) {
      const bool is_lifted = std::ranges::find(lifted_, h) != lifted_.end();
      const bool is_gone = std::ranges::any_of(
          units, [&](std::size_t i) { return std::ranges::binary_search(units_[i].holders, h); });
      if (!is_lifted && !is_gone) rest.push_back(node_.holders[h]);
    }
    const Node without = BuildNode(node_.inventory, std::move(rest));
    return binpack::FindObstacle(without.state, shape_) == binpack::Obstacle::kNone &&
           isolation_.Restrict(Verdict{}, without).fits();
  }

  // Of `among`, all of `required` included; nullopt: they do not suffice.
  std::optional<Units> FindAmong(const Units& among, const Units& required) {
    std::vector<quota::VictimCandidate> candidates;
    candidates.reserve(among.size());
    for (const std::size_t i : among) candidates.push_back(candidates_[i]);
    const auto to_units = [&](std::span<const std::size_t> gone) {
      Units units;
      units.reserve(gone.size());
      for (const std::size_t i : gone) units.push_back(among[i]);
      std::ranges::sort(units);
      return units;
    };
    const quota::FitsWithout fits = [&](std::span<const std::size_t> gone) {
      const Units units = to_units(gone);
      return std::ranges::includes(units, required) && FitsWithout(units);
    };
    const quota::VictimSearch search{newcomer_, candidates, contested_, fits};
    const PreemptionRules& rules = finder_.evictor_.rules;
    const quota::VictimRules by_priority{.within_tenant = rules.within_tenant,
                                         .from_borrowers = rules.from_borrowers};
    const auto victims = rules.fair_sharing
                             ? quota::FindFairVictims(finder_.ledger_, search, by_priority, {})
                             : quota::FindVictims(finder_.ledger_, search, by_priority);
    if (!victims) return std::nullopt;
    std::vector<std::size_t> gone;
    gone.reserve(victims->size());
    for (const quota::Victim& victim : *victims) gone.push_back(victim.candidate);
    return to_units(gone);
  }

  bool IsWithinGuarantee(const VictimUnit& unit) const {
    if (unit.tenant == kNoTenant) return false;
    return std::ranges::none_of(contested_, [&](int cell) {
      return finder_.ledger_.Used(unit.tenant, cell) >
             finder_.ledger_.tree().Plan(cell, unit.tenant).subtree;
    });
  }

  std::int64_t ViolationsOf(const Units& units) const {
    if (budgets_ == nullptr || budgets_->empty()) return 0;
    std::vector<const Pod*> victims;
    victims.reserve(lifted_.size() + units.size());
    for (const std::size_t h : lifted_) victims.push_back(node_.holders[h].pod.get());
    for (const std::size_t i : units) {
      for (const std::size_t h : units_[i].holders) victims.push_back(node_.holders[h].pod.get());
    }
    return CountViolations(*budgets_, victims);
  }

  auto CostOf(const Units& units) const {
    bool some_run_on = false;  // whoever leaves already costs nothing
    std::int32_t priority = std::numeric_limits<std::int32_t>::min();
    std::int64_t within_guarantee = 0;
    std::int64_t pods = 0;
    std::int64_t device_s = 0;
    std::int64_t devices = 0;
    std::vector<std::string_view> uids;
    for (const std::size_t i : units) {
      const VictimUnit& unit = units_[i];
      some_run_on = some_run_on || !unit.is_ending;
      priority = std::max(priority, unit.priority);
      within_guarantee += IsWithinGuarantee(unit) ? 1 : 0;
      pods += static_cast<std::int64_t>(unit.holders.size());
      device_s += unit.device_s;
      devices += unit.devices;
      uids.push_back(unit.uid);
    }
    return std::tuple(some_run_on, ViolationsOf(units), priority, within_guarantee, pods, device_s,
                      devices, std::move(uids));
  }

  void Consider(std::optional<Units> units, std::optional<Units>& best) const {
    if (!units || !FreesEnough(*units)) return;
    if (!best || CostOf(*units) < CostOf(*best)) best = std::move(units);
  }

  Units UnitsIn(const Region& region) const {
    Units units;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const bool is_in = std::ranges::any_of(units_[i].holders, [&](std::size_t h) {
        return std::ranges::any_of(node_.holders[h].placement.pieces,
                                   [&](const Piece& piece) { return Overlaps(piece, region); });
      });
      if (is_in) units.push_back(i);
    }
    return units;
  }

  static Units Union(const Units& a, const Units& b) {
    Units result;
    std::ranges::set_union(a, b, std::back_inserter(result));
    return result;
  }

  // Several places: the first, and of the others the cheapest until there is room.
  std::optional<Units> FindFrom(const Units& first, std::span<const Units> places,
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

  // Who stands in each place that could serve a piece of the request, the cheapest first.
  std::vector<Units> Places() const {
    std::vector<std::pair<decltype(CostOf({})), Units>> priced;
    for (const Region& region : RegionsOf(node_.inventory.devices, shape_)) {
      Units units = UnitsIn(region);
      auto cost = CostOf(units);
      priced.emplace_back(std::move(cost), std::move(units));
    }
    std::ranges::sort(priced);
    std::vector<Units> places;
    places.reserve(priced.size() + 1);
    for (auto& [cost, units] : priced) {
      if (places.empty() || places.back() != units) places.push_back(std::move(units));
    }
    return places;
  }

  // The best set that has all of `required`.
  std::optional<Units> BestWith(const Units& required) {
    if (auto alone = FindAmong(required, required); alone && FreesEnough(*alone)) return alone;
    std::vector<Units> places = Places();
    std::optional<Units> best;
    if (PiecesAsked(shape_) == 1) {
      for (const Units& place : places) {
        Consider(FindAmong(Union(place, required), required), best);
      }
    }
    // Where one place does not suffice, isolation or quota may ask for others: at last for all.
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

  // A set that frees at least what those would that were named for the sake of devices.
  std::optional<Units> BestInPlaceOf() {
    if (!named_holders_.empty() && DependsOnNeighbours()) return std::nullopt;
    binpack::HostResources named;
    for (const std::size_t h : named_holders_) named += node_.holders[h].pod->host;
    must_free_ = named;
    return BestWith({});
  }

  bool FreesEnough(const Units& units) const {
    binpack::HostResources freed;
    for (const std::size_t i : units) {
      for (const std::size_t h : units_[i].holders) freed += node_.holders[h].pod->host;
    }
    return freed.cpu_milli >= must_free_.cpu_milli && freed.memory_bytes >= must_free_.memory_bytes;
  }

  bool DependsOnNeighbours() const {
    return finder_.pod_.minds_neighbours || std::ranges::any_of(named_holders_, [&](std::size_t h) {
             return node_.holders[h].pod->minds_neighbours;
           });
  }

  std::vector<std::string> NamesOf(const Units& units) const {
    std::vector<Named> victims = others_;
    for (const std::size_t i : units) {
      for (const std::size_t h : units_[i].holders) {
        const Pod& pod = *node_.holders[h].pod;
        victims.push_back({pod.uid, pod.priority});
      }
    }
    std::ranges::sort(victims, [](const Named& a, const Named& b) {
      return std::tuple(b.priority, std::string_view(a.uid)) <
             std::tuple(a.priority, std::string_view(b.uid));
    });
    std::vector<std::string> uids;
    uids.reserve(victims.size());
    for (Named& victim : victims) uids.push_back(std::move(victim.uid));
    return uids;
  }

  struct Named {
    std::string uid;
    std::int32_t priority = 0;
  };

  VictimFinder& finder_;
  const Node& node_;
  const binpack::RequestShape shape_;
  const std::vector<VictimUnit> units_;
  Vacancy vacancy_;
  const std::vector<DisruptionBudget>* budgets_;  // nullptr: not known
  IsolationCheck isolation_;
  const bool must_rebuild_;  // who stays meets rules, or has no place yet and gets what is freed
  std::vector<quota::VictimCandidate> candidates_;  // as units_
  quota::Newcomer newcomer_;
  std::vector<int> contested_;
  std::vector<Named> others_;               // named, and no choice of ours
  std::vector<std::size_t> lifted_;         // those of them that are holders
  std::vector<std::size_t> named_holders_;  // named, with devices
  std::optional<Units> named_units_;        // the same; nullopt: one of them may not go
  binpack::HostResources must_free_;        // CPU and memory, where others go in their place
};

VictimFinder::VictimFinder(const Snapshot& snapshot, const Pod& pod, const Policy& policy,
                           Prefilter prefilter, std::int64_t now_s)
    : snapshot_(snapshot),
      pod_(pod),
      policy_(policy),
      prefilter_(prefilter),
      evictor_{
          .pod = pod,
          .rules = policy.preemption,
          .tenancy = snapshot.accounts() == nullptr ? nullptr : &snapshot.accounts()->tenancy(),
          .payer = PayerIn(snapshot, pod),
          .now_s = now_s},
      ledger_(LedgerFor(snapshot, pod)) {}

const GangSizes& VictimFinder::Gangs() {
  if (gangs_) return *gangs_;
  gangs_.emplace();
  snapshot_.ForEachPod([&](const PodEntry& entry) {
    if (entry.pod->gang.empty() || entry.phase == PodPhase::kPending) return;
    ++(*gangs_)[{entry.pod->name_space, entry.pod->gang}];
  });
  return *gangs_;
}

std::optional<PreemptionCandidate> VictimFinder::Find(const PreemptionCandidate& named) {
  const Node* node = snapshot_.FindNode(named.node_name);
  if (node == nullptr) return std::nullopt;
  const std::optional<Node> expected = WithExpected(snapshot_, *node, pod_);
  const Node& judged = expected ? *expected : *node;
  auto shape = CheckedShape(judged, pod_, policy_, prefilter_);
  if (!shape) return std::nullopt;
  return Find(judged, *std::move(shape), named);
}

std::optional<PreemptionCandidate> VictimFinder::Find(const Node& node, binpack::RequestShape shape,
                                                      const PreemptionCandidate& named) {
  return OnNode(*this, node, std::move(shape)).Find(named);
}

}  // namespace offcut::scheduler
