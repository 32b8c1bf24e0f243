// Who evicted whom, for property tests.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

namespace offcut::quota {

// How often the pods of one owner evicted those of another, by the names of both.
using Evictions = std::map<std::pair<std::string, std::string>, int>;

// Whether one gets from a name to itself. Whoever nobody evicts is taken off until nobody is left.
inline bool HasCircle(const Evictions& evictions) {
  std::set<std::pair<std::string, std::string>> rest;
  for (const auto& [evictor_and_victim, count] : evictions) rest.insert(evictor_and_victim);
  for (std::size_t before = rest.size() + 1; before != rest.size();) {
    before = rest.size();
    std::set<std::string> evicted;
    for (const auto& [evictor, victim] : rest) evicted.insert(victim);
    std::erase_if(rest, [&](const auto& each) { return !evicted.contains(each.first); });
  }
  return !rest.empty();
}

}  // namespace offcut::quota
