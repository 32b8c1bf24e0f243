// Where on a node a pod could stand, and who stands there.
//
// A *place* is a part of the devices that one piece of the request could have: a start of a MIG
// profile, a GPU, a pool. Its units are those that hold any of it.
//
// A *core* is what has to go at the least: where the request is one piece, whoever makes room for
// it takes one of the cores whole. Of a GPU, and of a start of a profile, that is everybody who
// stands there, since a device and a memory slice are given once; where somebody there may not go,
// it has no core. Of GPUs and pools that are shared any one of the units may be enough: each is a
// core. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "scheduler/node_victims.h"
#include "scheduler/victim_units.h"

namespace offcut::scheduler {

struct VictimPlaces {
  std::vector<Units> places;  // each ascending
  std::vector<Units> cores;   // likewise; one that is empty where nothing is known
};

// `lifted`: holders that go in any case.
VictimPlaces FindPlaces(NodeVictims& victims, std::span<const std::size_t> lifted);

// Pieces that a shape asks for, of whatever kind.
int PiecesAsked(const binpack::RequestShape& shape);

}  // namespace offcut::scheduler
