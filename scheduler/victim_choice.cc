#include "scheduler/victim_choice.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace offcut::scheduler {
namespace {

// Where several places are asked for together, so many are tried as the first of them.
constexpr std::size_t kFirstPlacesMax = 16;

Units Union(const Units& a, const Units& b) {
  Units result;
  result.reserve(a.size() + b.size());
  std::ranges::set_union(a, b, std::back_inserter(result));
  return result;
}

void SortByPrice(std::vector<Units>& sets, const VictimPrices& prices) {
  std::vector<VictimPrice> priced;
  priced.reserve(sets.size());
  for (Units& units : sets) priced.push_back(prices.Of(std::move(units)));
  std::ranges::sort(priced);
  for (std::size_t i = 0; i < sets.size(); ++i) sets[i] = std::move(priced[i].units);
}

}  // namespace

std::optional<VictimPrice> VictimChoice::Best(const Units& required,
                                              const binpack::HostResources& must_free) {
  required_ = required;
  must_free_ = must_free;
  best_.reset();
  if (!std::ranges::includes(victims_.Eligible(), required)) return std::nullopt;
  Consider(victims_.FindAmong(required, required));
  if (best_) return best_;
  if (!places_) places_ = FindPlaces(victims_, lifted_);
  if (PiecesAsked(victims_.shape()) == 1) ConsiderPlaces();
  // Where one place does not suffice, isolation or quota may ask for others: at last for all.
  if (!best_ && victims_.CouldSuffice()) ConsiderSeveralPlaces();
  return best_;
}

void VictimChoice::Consider(const std::optional<Units>& units) {
  if (!units || !FreesEnough(*units)) return;
  VictimPrice price = prices_.Of(*units);
  if (!best_ || price < *best_) best_ = std::move(price);
}

// Every set that makes room has a core in it, and all that is required; so it costs at least what
// these do together (scheduler/victim_price.h). Cores are met from the cheapest on: a place comes
// up with the first that lies in it, which is its lower bound, and is not searched where the best
// set costs no more. One without any core has no set that makes room.
void VictimChoice::ConsiderPlaces() {
  std::vector<VictimPrice> cores;
  cores.reserve(places_->cores.size());
  for (const Units& core : places_->cores) cores.push_back(prices_.Of(Union(core, required_)));
  std::ranges::sort(cores);
  std::vector<Units> places;
  places.reserve(places_->places.size());
  for (const Units& place : places_->places) places.push_back(Union(place, required_));
  // Of places with the same core, the one without anybody else is searched soonest.
  std::ranges::stable_sort(places, {}, &Units::size);
  for (const VictimPrice& core : cores) {
    for (Units& place : places) {
      if (best_ && *best_ <= core) return;
      if (place.empty() || !std::ranges::includes(place, core.units)) continue;
      Consider(victims_.FindAmong(place, required_));
      place.clear();
    }
  }
}

void VictimChoice::ConsiderSeveralPlaces() {
  std::vector<Units> places = places_->places;
  SortByPrice(places, prices_);
  Units all(victims_.units().size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  places.push_back(std::move(all));
  Answers answers;
  for (std::size_t i = 0; i < std::min(places.size(), kFirstPlacesMax); ++i) {
    Consider(FindFrom(places[i], places, answers));
  }
}

// The first, and of the others the cheapest until there is room.
std::optional<Units> VictimChoice::FindFrom(const Units& first, std::span<const Units> places,
                                            Answers& answers) {
  Units together = Union(required_, first);
  if (auto found = FindAmong(together, answers)) return found;
  for (const Units& place : places) {
    Units more = Union(together, place);
    if (more == together) continue;
    together = std::move(more);
    if (!victims_.vacancy().FitsWithout(together)) continue;
    if (auto found = FindAmong(together, answers)) return found;
  }
  return std::nullopt;
}

// From whichever place the others are added, much the same sets come up.
std::optional<Units> VictimChoice::FindAmong(const Units& among, Answers& answers) {
  const auto [known, is_new] = answers.try_emplace(among);
  if (is_new && victims_.vacancy().HasRoomWithout(among)) {
    known->second = victims_.FindAmong(among, required_);
  }
  return known->second;
}

bool VictimChoice::FreesEnough(const Units& units) const {
  binpack::HostResources freed;
  for (const std::size_t i : units) {
    for (const std::size_t h : victims_.units()[i].holders) {
      freed += victims_.node().holders[h].pod->host;
    }
  }
  return freed.cpu_milli >= must_free_.cpu_milli && freed.memory_bytes >= must_free_.memory_bytes;
}

}  // namespace offcut::scheduler
