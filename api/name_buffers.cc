#include "api/name_buffers.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <utility>

namespace offcut::api {
namespace {

constexpr std::uint64_t kFree = UINT64_MAX;  // of a place in the table
constexpr std::uint64_t kIndexMask = 0xFFFF'FFFF;

// Eight bytes at a time. Salted, so that nobody can send names that all collide.
std::uint64_t HashOf(std::string_view name) {
  constexpr std::uint64_t odd = 0x9E37'79B9'7F4A'7C15;
  static const std::uint64_t salt = std::random_device{}() * odd;
  std::uint64_t hash = salt ^ name.size();
  const auto mix = [&](const char* from, std::size_t bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, bytes);
    hash = std::rotl((hash ^ word) * odd, 29);
  };
  std::size_t i = 0;
  for (; i + sizeof(std::uint64_t) <= name.size(); i += sizeof(std::uint64_t)) {
    mix(name.data() + i, sizeof(std::uint64_t));
  }
  if (i < name.size()) mix(name.data() + i, name.size() - i);
  return hash * odd;
}

}  // namespace

std::vector<std::string> NameBuffers::TakeList() {
  std::vector<std::string> list;
  list.reserve(last_.size());
  return list;
}

std::string NameBuffers::Take(std::string_view name) {
  if (free_.empty()) return std::string(name);
  std::string taken = std::move(free_.back());
  free_.pop_back();
  taken.assign(name);
  return taken;
}

void NameBuffers::GiveBack(std::vector<std::string>&& names) {
  for (std::string& name : last_) {
    if (free_.size() == kKeptNamesMax) break;
    free_.push_back(std::move(name));
  }
  last_ = std::move(names);
  if (last_.size() > kKeptNamesMax) last_.clear();
}

// Whether the names are some of the last list in its order, which may begin anywhere in it: so
// kube-scheduler asks about the same nodes for the next pod, and in prioritize about those that
// filter left. None comes twice then. Takes at most twice the list's length.
bool NameBuffers::IsPartOfLast(const std::vector<std::string>& names) const {
  if (names.empty() || names.size() > last_.size()) return false;
  const auto first = std::ranges::find(last_, names.front());
  if (first == last_.end()) return false;
  auto at = static_cast<std::size_t>(first - last_.begin());
  std::size_t passed = 0;
  const auto step = [&] {
    ++passed;
    at = at + 1 == last_.size() ? 0 : at + 1;
  };
  for (const std::string& name : names) {
    while (passed < last_.size() && last_[at] != name) step();
    if (passed == last_.size()) return false;
    step();
  }
  return true;
}

// A place holds the upper half of a name's hash and the name's index: names are compared only where
// these halves are equal.
std::vector<bool> NameBuffers::FirstComers(const std::vector<std::string>& names) {
  if (IsPartOfLast(names)) return {};
  table_.assign(std::bit_ceil(2 * names.size() + 1), kFree);
  std::vector<bool> is_first(names.size(), true);
  bool has_repeats = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::uint64_t hash = HashOf(names[i]);
    const std::uint64_t upper = hash & ~kIndexMask;
    const auto is_other = [&](std::uint64_t held) {
      return held != kFree &&
             ((held & ~kIndexMask) != upper || names[held & kIndexMask] != names[i]);
    };
    std::size_t place = hash & (table_.size() - 1);
    while (is_other(table_[place])) place = (place + 1) & (table_.size() - 1);
    is_first[i] = table_[place] == kFree;
    if (is_first[i]) table_[place] = upper | i;
    has_repeats |= !is_first[i];
  }
  if (!has_repeats) is_first.clear();
  return is_first;
}

}  // namespace offcut::api
