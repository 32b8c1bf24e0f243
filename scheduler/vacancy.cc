#include "scheduler/vacancy.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "binpack/placement.h"

namespace offcut::scheduler {
namespace {

// Those whose place is on record keep it whoever goes.
bool MayMove(const Holder& holder) {
  if (holder.is_unplaced) return true;
  return !holder.placement.pieces.empty() && !holder.follows_record;
}

}  // namespace

Vacancy::Vacancy(const Node& node, const binpack::RequestShape& shape,
                 std::span<const VictimUnit> units, IsolationCheck& isolation)
    : node_(node),
      shape_(shape),
      units_(units),
      isolation_(isolation),
      pieces_(binpack::EqualPiecesOf(shape)),
      state_(node.state),
      asked_in_(units.size()) {
  must_place_anew_ = std::ranges::any_of(node.holders, &Holder::is_unplaced) ||
                     (isolation.HasRules() && std::ranges::any_of(node.holders, MayMove));
  if (!pieces_) return;
  room_.resize(state_.gpus.size());
  touched_.resize(state_.gpus.size());
  std::iota(touched_.begin(), touched_.end(), std::size_t{0});
}

void Vacancy::Lift(std::size_t holder) {
  const binpack::Placement& placement = node_.holders[holder].placement;
  binpack::Release(state_, placement);
  MarkTouched(placement);
  lifted_.push_back(holder);
}

bool Vacancy::HasRoomWithout(std::span<const std::size_t> units) {
  SetGone(units);
  return HasRoom();
}

bool Vacancy::MayFitWithout(std::span<const std::size_t> units) {
  if (!HasRoomWithout(units)) return false;
  if (!isolation_.HasRules()) return true;
  return isolation_.Restrict(Verdict{}, node_, OccupantsWithout(units)).fits();
}

bool Vacancy::FitsWithout(std::span<const std::size_t> units) {
  if (!must_place_anew_) return MayFitWithout(units);
  if (!HasRoomWithout(units)) return false;
  const Node without = BuildNode(node_.inventory, RestWithout(units));
  return binpack::Fits(without.state, shape_) && isolation_.Restrict(Verdict{}, without).fits();
}

// Each question differs from the last one in a unit or two.
void Vacancy::SetGone(std::span<const std::size_t> units) {
  ++question_;
  for (const std::size_t i : units) asked_in_[i] = question_;
  std::erase_if(gone_, [&](std::size_t i) {
    const bool comes_back = asked_in_[i] != question_;
    if (comes_back) Occupy(i);
    asked_in_[i] = 0;
    return comes_back;
  });
  for (const std::size_t i : units) {
    if (asked_in_[i] == 0) continue;  // gone already
    Release(i);
    gone_.push_back(i);
    asked_in_[i] = 0;
  }
}

void Vacancy::Release(std::size_t unit) {
  for (const std::size_t h : units_[unit].holders) {
    binpack::Release(state_, node_.holders[h].placement);
    MarkTouched(node_.holders[h].placement);
  }
}

void Vacancy::Occupy(std::size_t unit) {
  for (const std::size_t h : units_[unit].holders) {
    binpack::Occupy(state_, node_.holders[h].placement);
    MarkTouched(node_.holders[h].placement);
  }
}

void Vacancy::MarkTouched(const binpack::Placement& placement) {
  if (!pieces_) return;
  for (const binpack::Piece& piece : placement.pieces) {
    if (piece.gpu < 0) continue;
    const auto gpu = static_cast<std::size_t>(piece.gpu);
    if (std::ranges::find(touched_, gpu) == touched_.end()) touched_.push_back(gpu);
  }
}

bool Vacancy::HasRoom() {
  if (!pieces_) return binpack::Fits(state_, shape_);
  for (const std::size_t gpu : touched_) {
    room_sum_ -= room_[gpu];
    room_[gpu] = binpack::RoomForPieces(state_, gpu, shape_);
    room_sum_ += room_[gpu];
  }
  touched_.clear();
  return room_sum_ >= *pieces_;
}

std::vector<bool> Vacancy::StaysWithout(std::span<const std::size_t> units) const {
  std::vector<bool> stays(node_.holders.size(), true);
  for (const std::size_t h : lifted_) stays[h] = false;
  for (const std::size_t i : units) {
    for (const std::size_t h : units_[i].holders) stays[h] = false;
  }
  return stays;
}

std::vector<Holder> Vacancy::RestWithout(std::span<const std::size_t> units) const {
  const std::vector<bool> stays = StaysWithout(units);
  std::vector<Holder> rest;
  rest.reserve(stays.size());
  for (std::size_t h = 0; h < stays.size(); ++h) {
    if (stays[h]) rest.push_back(node_.holders[h]);
  }
  return rest;
}

Occupants Vacancy::OccupantsWithout(std::span<const std::size_t> units) const {
  const std::vector<bool> stays = StaysWithout(units);
  Occupants occupants;
  for (std::size_t h = 0; h < stays.size(); ++h) {
    const Holder& holder = node_.holders[h];
    if (!stays[h] || holder.placement.pieces.empty()) continue;
    AddOccupant(*holder.pod, CommonsOf(node_.inventory.devices, holder.placement), occupants);
  }
  return occupants;
}

}  // namespace offcut::scheduler
