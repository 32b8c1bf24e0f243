// How much of a node's free GPU capacity the target workload cannot use: the fragmentation measure
// of FGD, and its sum over the classes of a workload.
//
// For a node with free units R and a class m, F(m) is
//   the free units of the GPUs that cannot serve a share of m   where m fits on the node,
//   R                                                           where it does not, or asks for no
//   GPU.
// F(M) is the sum over the classes, each by its count. It is not divided by the number of requests:
// that would leave the integers.
// Source: Weng et al., "Beware of Fragmentation", USENIX ATC 2023, and its artifact. There a GPU
// has a share of cores; MIG instances and slots are ours, by the same rule: a GPU can serve a class
// iff it could serve one share of it now. Media engines of MIG are left out.
// Units: kGpuUnits a GPU. Pure; a ClassTable is immutable once made.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "binpack/compact_node.h"
#include "binpack/target_workload.h"

namespace offcut::binpack {

// A node for scoring: both halves are of the same node, and outlive the view.
struct NodeView {
  const NodeState& state;
  const CompactNode& compact;
};

// The classes of a workload, column by column, as scoring reads them. A GPU serves a share of class
// m iff the level that its kind has reaches the class's.
struct ClassTable {
  using Levels = std::array<std::int32_t, kWorkloadClassesMax>;
  static constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();

  std::size_t size = 0;
  Levels fraction_level{};  // free units of a fractional GPU; kNever: it serves no such class
  Levels whole_level{};     // free units of a whole GPU
  Levels slot_level{};      // free slots
  Levels gpus{};            // how many must serve; kNever: the class asks for none
  std::array<std::int64_t, kWorkloadClassesMax> cpu_milli{};
  std::array<std::int64_t, kWorkloadClassesMax> count{};
  std::int64_t total_count = 0;

  struct InstanceClass {
    std::size_t index = 0;
    std::string profile;
  };
  std::vector<InstanceClass> instances;

  struct Restriction {  // classes that accept some models only
    GpuConstraint constraint;
    std::vector<std::size_t> indices;
  };
  std::vector<Restriction> restrictions;
};

ClassTable MakeClassTable(const TargetWorkload& workload);

// What one GPU becomes.
struct GpuChange {
  std::size_t gpu = 0;
  CompactGpu after;
};

// The measure of one node, kept so that a changed GPU costs one pass over the classes.
class NodeFragments {
 public:
  // Both outlive the object.
  NodeFragments(const ClassTable& classes, const NodeView& node);

  // F(M), units times requests of the workload: as the node stands, and as it would be with those
  // changes, at most one a GPU, and that much free CPU.
  std::int64_t Sum() const;
  std::int64_t SumAfter(std::span<const GpuChange> changes, std::int64_t free_cpu_milli) const;

 private:
  struct Sums {
    std::int64_t free_units = 0;
    ClassTable::Levels serving{};  // GPUs that can serve a share of the class
    ClassTable::Levels useless{};  // free units of the others
  };

  void Add(std::size_t gpu, const CompactGpu& state, std::int32_t sign, Sums& sums) const;
  ClassTable::Levels InstanceLevels(std::size_t gpu, const CompactGpu& state) const;
  std::int64_t Weighted(const Sums& sums, std::int64_t free_cpu_milli) const;

  const ClassTable& classes_;
  const NodeView& node_;
  std::vector<AcceptedGpus> accepted_;  // by each of the classes' restrictions
  Sums sums_;
};

// F(M) of the node as it stands.
std::int64_t Fragmentation(const ClassTable& classes, const NodeView& node);

}  // namespace offcut::binpack
