// A node without some of those who hold its devices: whether a pod would fit there.
//
// Room is looked for on those GPUs alone that somebody has left since the last question, where the
// shape asks for equal pieces. Not synchronised.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "binpack/request_shape.h"
#include "scheduler/isolation.h"
#include "scheduler/node.h"
#include "scheduler/victim_units.h"

namespace offcut::scheduler {

class Vacancy {
 public:
  // All arguments outlive the object. `isolation`: of the pod.
  Vacancy(const Node& node, const binpack::RequestShape& shape, std::span<const VictimUnit> units,
          IsolationCheck& isolation);

  // The holder is gone for as long as the object lives. Requires: it is of no unit.
  void Lift(std::size_t holder);

  // Whether the devices have room with the units gone, in any order. Fewer gone never make room.
  bool HasRoomWithout(std::span<const std::size_t> units);

  // The same, and the pod may meet those who stay. Fewer gone never help.
  bool MayFitWithout(std::span<const std::size_t> units);

  // Whether the pod fits then: beside those, too, who have no place yet and get what is freed, or
  // may get another one. Never so where MayFitWithout() is not.
  bool FitsWithout(std::span<const std::size_t> units);

 private:
  void SetGone(std::span<const std::size_t> units);
  void Release(std::size_t unit);
  void Occupy(std::size_t unit);
  void MarkTouched(const binpack::Placement& placement);
  bool HasRoom();
  std::vector<bool> StaysWithout(std::span<const std::size_t> units) const;  // by holder
  std::vector<Holder> RestWithout(std::span<const std::size_t> units) const;
  Occupants OccupantsWithout(std::span<const std::size_t> units) const;

  const Node& node_;
  const binpack::RequestShape& shape_;
  std::span<const VictimUnit> units_;
  IsolationCheck& isolation_;
  const std::optional<int> pieces_;  // nullopt: the shape is looked at as a whole
  bool must_place_anew_ = false;     // who stays may get another place once others are gone
  binpack::NodeState state_;         // without those that are gone
  Units gone_;
  std::vector<unsigned> asked_in_;  // by unit: the last question that had it
  unsigned question_ = 0;
  std::vector<std::size_t> lifted_;   // holders
  std::vector<int> room_;             // by GPU, in pieces
  std::vector<std::size_t> touched_;  // GPUs whose room is not what it says
  int room_sum_ = 0;
};

}  // namespace offcut::scheduler
