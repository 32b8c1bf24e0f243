#include "scheduler/victim_units.h"

#include <algorithm>
#include <tuple>

#include "scheduler/accounts.h"

namespace offcut::scheduler {
namespace {

bool ShareABand(std::span<const PriorityBand> bands, std::int32_t a, std::int32_t b) {
  return std::ranges::any_of(bands, [&](const PriorityBand& band) {
    return band.from <= a && a <= band.to && band.from <= b && b <= band.to;
  });
}

// Where the kubelet picks, a device is as good as any other of its kind, and the count is right
// whichever it is.
bool IsKnown(const Node& node, const Holder& holder) {
  if (holder.is_unplaced || holder.pod->is_unreadable || holder.placement.pieces.empty()) {
    return false;
  }
  return holder.follows_record || !holder.observed_uuids.empty() ||
         node.inventory.devices.picker == binpack::DevicePicker::kKubelet;
}

bool MayGo(const Node& node, const Holder& holder, const Evictor& evictor) {
  const Pod& victim = *holder.pod;
  if (victim.node_name.empty()) return false;  // reserved, or expected: not bound yet
  if (victim.uid == evictor.pod.uid) return false;
  if (std::ranges::binary_search(evictor.rules.spared_uids, victim.uid)) return false;
  if (ShareABand(evictor.rules.protected_bands, victim.priority, evictor.pod.priority)) {
    return false;
  }
  const bool has_just_started = evictor.now_s < victim.created_s + evictor.rules.run_s_min;
  if (has_just_started && !victim.is_terminating) return false;
  if (!IsKnown(node, holder)) return false;
  const bool is_lower = victim.priority < evictor.pod.priority;
  if (evictor.tenancy == nullptr) return is_lower;
  const Payer payer = PayerOf(*evictor.tenancy, victim);
  if (payer.tenant == kNoTenant || evictor.payer.tenant == kNoTenant) return false;
  const bool takes_any = evictor.rules.from_borrowers == quota::Taking::kAny;
  if (!is_lower && (payer.tenant == evictor.payer.tenant || !takes_any)) return false;
  return payer.tenant == evictor.payer.tenant || !payer.is_charged_elsewhere;
}

VictimUnit UnitOf(const Node& node, std::vector<std::size_t> holders, const Evictor& evictor) {
  VictimUnit unit{.holders = std::move(holders), .is_ending = true, .charge = {}};
  for (const std::size_t i : unit.holders) {
    const Holder& holder = node.holders[i];
    const Pod& pod = *holder.pod;
    const bool is_first = i == unit.holders.front();
    unit.priority = is_first ? pod.priority : std::max(unit.priority, pod.priority);
    unit.created_s = std::max(unit.created_s, pod.created_s);
    unit.is_ending = unit.is_ending && pod.is_terminating;
    if (is_first || pod.uid < unit.uid) unit.uid = pod.uid;
    std::int64_t devices = 0;
    for (const KindCharge& each : holder.charge) devices += each.amount.devices;
    const std::int64_t run_s = std::max<std::int64_t>(0, evictor.now_s - pod.created_s);
    unit.devices += devices;
    unit.device_s += devices * run_s / quota::kWholeDevice;
    if (evictor.tenancy == nullptr) continue;
    unit.tenant = TenantOf(*evictor.tenancy, pod);
    for (const auto [cell, amount] : ToCells(*evictor.tenancy, holder.charge)) {
      quota::AddToCharge(cell, amount, unit.charge);
    }
  }
  return unit;
}

// `members`: the gang's holders of the node. `size`: how many it has in all that do not leave.
void AddGang(const Node& node, std::vector<std::size_t> members, int size, const Evictor& evictor,
             std::vector<VictimUnit>& units) {
  std::ranges::sort(members, [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t i) {
      const Pod& pod = *node.holders[i].pod;
      return std::tuple(pod.priority, -pod.created_s, std::string_view(pod.uid));
    };
    return key(a) < key(b);
  });
  int least = 0;
  for (const std::size_t i : members) {
    least = std::max(least, node.holders[i].pod->gang_min_count);
  }
  // Who leaves is no member any more, and goes alone.
  const auto leaves = [&](std::size_t i) { return node.holders[i].pod->is_terminating; };
  for (const std::size_t i : members) {
    if (leaves(i) && MayGo(node, node.holders[i], evictor)) {
      units.push_back(UnitOf(node, {i}, evictor));
    }
  }
  std::erase_if(members, leaves);
  if (members.empty()) return;
  // A gang that does not say how many it needs, needs all that run.
  if (least > 0 && size > least) {
    int surplus = size - least;
    for (const std::size_t i : members) {
      if (surplus == 0) break;
      if (!MayGo(node, node.holders[i], evictor)) continue;
      units.push_back(UnitOf(node, {i}, evictor));
      --surplus;
    }
    return;
  }
  const bool all_may_go = std::ranges::all_of(
      members, [&](std::size_t i) { return MayGo(node, node.holders[i], evictor); });
  const bool all_are_here = static_cast<int>(members.size()) >= size;
  if (!all_may_go || !all_are_here) return;
  std::ranges::sort(members);
  units.push_back(UnitOf(node, std::move(members), evictor));
}

}  // namespace

std::vector<VictimUnit> VictimUnitsOf(const Node& node, const Evictor& evictor,
                                      const GangSizes& gangs) {
  std::vector<VictimUnit> units;
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> by_gang;
  for (std::size_t i = 0; i < node.holders.size(); ++i) {
    const Pod& pod = *node.holders[i].pod;
    if (pod.request.empty()) continue;
    if (!pod.gang.empty()) {
      by_gang[{pod.name_space, pod.gang}].push_back(i);
    } else if (MayGo(node, node.holders[i], evictor)) {
      units.push_back(UnitOf(node, {i}, evictor));
    }
  }
  for (auto& [gang, members] : by_gang) {
    const auto known = gangs.find(gang);
    const int size = known == gangs.end() ? 0 : known->second;
    AddGang(node, std::move(members), size, evictor, units);
  }
  std::ranges::sort(units, {}, &VictimUnit::uid);
  return units;
}

}  // namespace offcut::scheduler
