// What one pod asks of a node's devices and of the node itself, after resource names have been read
// as that node means them. And a placement: which devices serve it.
// Pure; not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "binpack/node_state.h"

namespace offcut::binpack {

// Whether a glob names the GPU: by its model's name or by its product, with or without "NVIDIA-".
bool NamesModel(const std::vector<std::string>& globs, const GpuModel* model,
                std::string_view product);

// Which GPUs a pod accepts. An empty allow list accepts all; a deny list wins over an allow list.
struct GpuConstraint {
  std::vector<std::string> models_allowed;  // globs over the model's name or the product
  std::vector<std::string> models_denied;
  std::vector<std::string> uuids_allowed;
  std::vector<std::string> uuids_denied;

  bool operator==(const GpuConstraint&) const = default;
  bool NamesUuids() const { return !uuids_allowed.empty() || !uuids_denied.empty(); }
};

enum class Acceptance : std::uint8_t { kAccepted, kModelRefused, kUuidRefused };

// What a constraint says of a node's devices. Decided once, when a shape is made: a search asks
// about each GPU many times, and a pod's owner writes the globs.
struct AcceptedGpus {
  std::vector<Acceptance> by_gpu;  // by index in NodeState::gpus; empty: all are accepted
  Acceptance pools = Acceptance::kAccepted;

  Acceptance Of(std::size_t gpu) const {
    return by_gpu.empty() ? Acceptance::kAccepted : by_gpu[gpu];
  }
  bool operator==(const AcceptedGpus&) const = default;
};

// Reads each glob once for each distinct product of the node. A GPU whose UUID is not known is
// refused where the constraint names any, since nobody could keep the promise.
AcceptedGpus Accept(const NodeState& node, const GpuConstraint& constraint);

struct ProfileCount {
  std::string profile;
  int count = 0;
  bool operator==(const ProfileCount&) const = default;
};

struct PoolCount {
  int pool = 0;  // index in NodeState::pools
  int count = 0;
  bool operator==(const PoolCount&) const = default;
};

// A share of each of `gpus` distinct GPUs.
struct Fraction {
  int gpus = 0;
  int memory_mib = 0;      // 0: `memory_percent` says
  int memory_percent = 0;  // of the GPU's memory; 0 with memory_mib 0: all of it
  int cores_percent = 0;
  bool operator==(const Fraction&) const = default;
};

// MiB that one share of the fraction takes of this GPU.
int MemoryMibOn(const Gpu& gpu, const Fraction& fraction);

struct RequestShape {
  HostResources host;
  int whole_gpus = 0;
  int slots = 0;
  std::vector<PoolCount> pool_units;   // one entry a pool
  std::vector<ProfileCount> profiles;  // on MIG GPUs whose starts are known; one entry a profile
  std::vector<Fraction> fractions;     // one entry a container
  AcceptedGpus accepted;               // of the node that the shape was made for

  bool AsksForDevices() const;
};

enum class PieceKind { kWhole, kSlot, kInstance, kFraction };

// One device, or one part of one, that a pod holds.
struct Piece {
  PieceKind kind = PieceKind::kWhole;
  int gpu = -1;           // index in NodeState::gpus; -1: in a pool
  int pool = -1;          // index in NodeState::pools; -1: on a GPU
  int profile = -1;       // kInstance on a GPU: index in the model's profiles
  SliceRange slices;      // kInstance on a GPU
  int memory_mib = 0;     // kFraction
  int cores_percent = 0;  // kFraction
  bool operator==(const Piece&) const = default;
};

// All that serves one shape. Pieces stand in the order whole, slots, pools, instances, fractions.
struct Placement {
  std::vector<Piece> pieces;
  bool operator==(const Placement&) const = default;
};

}  // namespace offcut::binpack
