#include "scheduler/named_victims.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace offcut::scheduler {
namespace {

// Not a holder there. nullopt: it stands elsewhere, or must not go.
std::optional<NamedVictim> ReadOther(const Preemptor& preemptor, const Node& node,
                                     const std::string& uid) {
  if (uid == preemptor.pod().uid) return std::nullopt;  // nobody makes room for itself
  NamedVictim other{uid, std::numeric_limits<std::int32_t>::min()};
  if (const PodEntry* entry = preemptor.snapshot().FindPod(uid); entry != nullptr) {
    if (!entry->node_name.empty() && entry->node_name != node.name()) return std::nullopt;
    if (entry->pod->priority >= preemptor.pod().priority) return std::nullopt;
    other.priority = entry->pod->priority;
  }
  return other;
}

// False: it is of none.
bool AddUnitOf(std::size_t holder, std::span<const VictimUnit> units, Units& named) {
  const auto unit = std::ranges::find_if(units, [&](const VictimUnit& each) {
    return std::ranges::binary_search(each.holders, holder);
  });
  if (unit == units.end()) return false;
  const auto index = static_cast<std::size_t>(unit - units.begin());
  if (std::ranges::find(named, index) == named.end()) named.push_back(index);
  return true;
}

}  // namespace

std::optional<NamedVictims> ReadNamed(const Preemptor& preemptor, const Node& node,
                                      std::span<const VictimUnit> units,
                                      std::span<const std::string> uids) {
  NamedVictims named;
  Units named_units;
  bool all_may_go = true;
  std::unordered_map<std::string_view, std::size_t> holders;
  for (std::size_t i = 0; i < node.holders.size(); ++i) {
    holders.emplace(node.holders[i].pod->uid, i);
  }
  std::unordered_set<std::string_view> listed;
  for (const std::string& uid : uids) {
    if (!listed.insert(uid).second) continue;
    const auto holder = holders.find(uid);
    if (holder == holders.end()) {
      auto other = ReadOther(preemptor, node, uid);
      if (!other) return std::nullopt;
      named.others.push_back(*std::move(other));
      continue;
    }
    const std::size_t index = holder->second;
    const Pod& pod = *node.holders[index].pod;
    if (pod.priority >= preemptor.pod().priority) return std::nullopt;
    // Without devices, or only expected here: kube-scheduler knows why.
    if (pod.request.empty() || pod.node_name.empty()) {
      named.lifted.push_back(index);
      named.others.push_back({uid, pod.priority});
      continue;
    }
    named.holders.push_back(index);
    all_may_go = AddUnitOf(index, units, named_units) && all_may_go;
  }
  std::ranges::sort(named_units);
  if (all_may_go) named.units = std::move(named_units);
  return named;
}

}  // namespace offcut::scheduler
