// ForEachPlacement: depth-first over the devices of a shape, one at a time, on a working copy of
// the node.
//
// Each placement is met once. Equal devices of one request are placed in ascending order of
// (GPU, start). Of interchangeable GPUs on which the search has put the same pieces so far, only
// the lowest is tried: exchanging them would give a placement that is the same but for their
// indices. (Take the lowest sequence of each class of equal placements: a step to a higher GPU than
// needed would contradict that it is the lowest.)
#include <algorithm>
#include <array>
#include <string_view>

#include "binpack/mig_packing.h"
#include "binpack/placement.h"

namespace offcut::binpack {
namespace {

// More equal slots than this are not enumerated; they go where the kubelet would put them.
constexpr int kSlotsEnumeratedMax = 64;

struct Item {
  PieceKind kind = PieceKind::kWhole;
  std::string_view profile;            // kInstance
  const Fraction* fraction = nullptr;  // kFraction
  bool repeats = false;                // equal to the item before: only later positions
};

std::vector<Item> ItemsOf(const RequestShape& shape) {
  std::vector<Item> items;
  const auto add = [&items](Item item, int count) {
    for (int i = 0; i < count; ++i) {
      item.repeats = i > 0;
      items.push_back(item);
    }
  };
  add({.kind = PieceKind::kWhole}, shape.whole_gpus);
  add({.kind = PieceKind::kSlot}, shape.slots);
  for (const ProfileCount& wanted : shape.profiles) {
    add({.kind = PieceKind::kInstance, .profile = wanted.profile}, wanted.count);
  }
  for (const Fraction& fraction : shape.fractions) {
    add({.kind = PieceKind::kFraction, .fraction = &fraction}, fraction.gpus);
  }
  return items;
}

// Every piece that serves the item on this GPU as it stands, ascending by start.
std::vector<Piece> PiecesOn(const Gpu& gpu, int index, const Item& item) {
  std::vector<Piece> pieces;
  switch (item.kind) {
    case PieceKind::kWhole:
      if (const auto* whole = std::get_if<WholeGpu>(&gpu.state);
          whole != nullptr && !whole->taken) {
        pieces.push_back({.kind = item.kind, .gpu = index});
      }
      break;
    case PieceKind::kSlot:
      if (const auto* shared = std::get_if<SharedGpu>(&gpu.state);
          shared != nullptr && shared->slots_used < shared->slots) {
        pieces.push_back({.kind = item.kind, .gpu = index});
      }
      break;
    case PieceKind::kInstance: {
      const auto* mig = std::get_if<MigGpu>(&gpu.state);
      if (mig == nullptr || gpu.model == nullptr) break;
      const std::optional<int> profile = gpu.model->FindProfile(item.profile);
      if (!profile) break;
      const MigProfile& geometry = gpu.model->profiles[static_cast<std::size_t>(*profile)];
      const MigRoom room = RoomOf(*gpu.model, *mig);
      for (const int start : geometry.starts) {
        if (!FitsAt(geometry, start, room)) continue;
        pieces.push_back({.kind = item.kind,
                          .gpu = index,
                          .profile = *profile,
                          .slices = {start, geometry.memory_slices}});
      }
      break;
    }
    case PieceKind::kFraction: {
      const Piece piece{.kind = item.kind,
                        .gpu = index,
                        .memory_mib = MemoryMibOn(gpu, *item.fraction),
                        .cores_percent = item.fraction->cores_percent};
      const auto* fractional = std::get_if<FractionalGpu>(&gpu.state);
      if (fractional != nullptr && fractional->sharers < fractional->sharers_max &&
          fractional->memory_mib_used + piece.memory_mib <= gpu.memory_mib &&
          fractional->cores_percent_used + piece.cores_percent <= fractional->cores_percent) {
        pieces.push_back(piece);
      }
      break;
    }
  }
  return pieces;
}

// Whether `piece` may follow `before`, which serves an equal item. Two slots of one pod may be on
// one GPU; whole GPUs, and the GPUs of one fraction, are distinct.
bool ComesAfter(const Piece& piece, const Piece& before) {
  if (piece.kind == PieceKind::kSlot) return piece.gpu >= before.gpu;
  if (piece.kind != PieceKind::kInstance) return piece.gpu > before.gpu;
  return std::pair(piece.gpu, piece.slices.start) > std::pair(before.gpu, before.slices.start);
}

class Search {
 public:
  Search(const NodeState& node, const RequestShape& shape, std::vector<Item> items,
         std::vector<Piece> fixed, const std::function<bool(const Placement&)>& visit)
      : start_(node), working_(node), items_(std::move(items)), visit_(visit) {
    for (std::size_t g = 0; g < node.gpus.size(); ++g) {
      is_open_.push_back(node.gpus[g].health == GpuHealth::kHealthy &&
                         shape.accepted.Of(g) == Acceptance::kAccepted);
    }
    placement_.pieces = std::move(fixed);
    fixed_count_ = placement_.pieces.size();
  }

  void Run() { Descend(0); }

 private:
  // Returns false once the search is over.
  bool Descend(std::size_t depth) {
    if (depth == items_.size()) return ++visited_ <= kPlacementsMax && visit_(placement_);
    const Item& item = items_[depth];
    for (std::size_t g = 0; g < working_.gpus.size(); ++g) {
      if (!is_open_[g] || HasLowerTwin(g)) continue;
      for (const Piece& piece : PiecesOn(working_.gpus[g], static_cast<int>(g), item)) {
        if (item.repeats && !ComesAfter(piece, placement_.pieces.back())) continue;
        if (++steps_ > kSearchStepsMax) return false;
        const Placement one{{piece}};
        Occupy(working_, one);
        placement_.pieces.push_back(piece);
        const bool goes_on = Descend(depth + 1);
        placement_.pieces.pop_back();
        Release(working_, one);
        if (!goes_on) return false;
      }
    }
    return true;
  }

  bool HasLowerTwin(std::size_t g) const {
    for (std::size_t lower = 0; lower < g; ++lower) {
      if (is_open_[lower] && Interchangeable(start_.gpus[lower], start_.gpus[g]) &&
          Interchangeable(working_.gpus[lower], working_.gpus[g])) {
        return true;
      }
    }
    return false;
  }

  const NodeState& start_;
  NodeState working_;
  std::vector<Item> items_;
  const std::function<bool(const Placement&)>& visit_;
  std::vector<bool> is_open_;
  Placement placement_;
  std::size_t fixed_count_ = 0;
  int steps_ = 0;
  int visited_ = 0;
};

}  // namespace

void ForEachPlacement(const NodeState& node, const RequestShape& shape,
                      const std::function<bool(const Placement&)>& visit) {
  // What is known by count has one placement: it is found, or there is none.
  RequestShape counted = shape;
  counted.profiles.clear();
  counted.fractions.clear();
  const std::optional<Placement> by_count = KubeletPlacement(node, counted);
  if (!by_count) return;
  std::vector<Piece> fixed;
  RequestShape searched = shape;
  searched.pool_units.clear();
  if (searched.slots > kSlotsEnumeratedMax) searched.slots = 0;
  for (const Piece& piece : by_count->pieces) {
    const bool is_searched =
        piece.kind == PieceKind::kWhole || (piece.kind == PieceKind::kSlot && searched.slots > 0);
    if (!is_searched) fixed.push_back(piece);
  }
  NodeState start = node;
  Occupy(start, {fixed});
  Search(start, searched, ItemsOf(searched), std::move(fixed), visit).Run();
}

}  // namespace offcut::binpack
