#include "test/testing/random_nodes.h"

#include <algorithm>
#include <string>
#include <vector>

#include "binpack/mig_packing.h"
#include "test/testing/worlds.h"

namespace offcut::testing {
namespace {

using binpack::Gpu;
using binpack::NodeState;
using binpack::RequestShape;

// Distributions of the standard library differ between implementations; this one does not.
int Below(std::mt19937& random, int limit) {
  return static_cast<int>(random() % static_cast<unsigned>(limit));
}

bool OneIn(std::mt19937& random, int n) { return Below(random, n) == 0; }

binpack::MigGpu RandomMig(std::mt19937& random, const binpack::GpuModel& model) {
  binpack::MigGpu mig;
  for (int tries = Below(random, 5); tries > 0; --tries) {
    const int profile = Below(random, static_cast<int>(model.profiles.size()));
    const auto& geometry = model.profiles[static_cast<std::size_t>(profile)];
    const int start = geometry.starts[static_cast<std::size_t>(
        Below(random, static_cast<int>(geometry.starts.size())))];
    if (!binpack::FitsAt(geometry, start, binpack::RoomOf(model, mig))) continue;
    mig.instances.push_back({profile, {start, geometry.memory_slices}});
    std::ranges::sort(mig.instances, {}, [](const auto& each) { return each.slices.start; });
  }
  return mig;
}

Gpu RandomGpu(std::mt19937& random, int kind) {
  const auto model = ModelNamed(OneIn(random, 4) ? "A30-24GB" : "A100-40GB");
  Gpu gpu{.model = model, .product = model->name, .memory_mib = model->memory_gib * 1024};
  if (OneIn(random, 8)) gpu.health = binpack::GpuHealth::kUnhealthy;
  if (kind == 0) gpu.state = binpack::WholeGpu{.taken = OneIn(random, 2)};
  if (kind == 1) gpu.state = RandomMig(random, *model);
  if (kind == 2) gpu.state = binpack::SharedGpu{.slots = 4, .slots_used = Below(random, 5)};
  if (kind == 3) {
    const int tenths = Below(random, 11);
    gpu.state = binpack::FractionalGpu{.memory_mib_used = gpu.memory_mib * tenths / 10,
                                       .cores_percent_used = 10 * Below(random, 11),
                                       .sharers_max = 3,
                                       .sharers = Below(random, 4)};
  }
  return gpu;
}

}  // namespace

NodeState RandomNode(std::mt19937& random) {
  NodeState node{.allocatable = {.cpu_milli = 64'000, .memory_bytes = 1 << 30, .pods = 100}};
  node.used.cpu_milli = 1'000 * Below(random, 65);
  const int kind = Below(random, 4);
  if (kind == 1 || kind == 3 || OneIn(random, 2)) {
    node.picker = binpack::DevicePicker::kScheduler;
  }
  const bool is_mixed = OneIn(random, 8);
  for (int gpus = 1 + Below(random, 8); gpus > 0; --gpus) {
    node.gpus.push_back(RandomGpu(random, is_mixed ? Below(random, 4) : kind));
    node.gpus.back().uuid = "GPU-" + std::to_string(node.gpus.size());
  }
  return node;
}

RequestShape RandomShape(std::mt19937& random, const NodeState& node) {
  RequestShape shape;
  shape.host.cpu_milli = 1'000 * Below(random, 33);
  const int kinds = OneIn(random, 10) ? 2 : 1;
  for (int i = 0; i < kinds; ++i) {
    const int kind = Below(random, 5);
    if (kind == 0) shape.whole_gpus = 1 + Below(random, 4);
    if (kind == 1) shape.slots = 1 + Below(random, 4);
    if (kind == 2) {
      const std::vector<std::string> names = {"1g.5gb",  "1g.10gb", "2g.10gb", "3g.20gb",
                                              "4g.20gb", "1g.6gb",  "2g.12gb", "1g.5gb+me"};
      shape.profiles.push_back(
          {names[static_cast<std::size_t>(Below(random, 8))], OneIn(random, 4) ? 2 : 1});
    }
    if (kind == 3) {
      shape.fractions.push_back(
          {.gpus = OneIn(random, 4) ? 2 : 1,
           .memory_mib = OneIn(random, 2) ? 2'000 * (1 + Below(random, 12)) : 0,
           .memory_percent = 10 * Below(random, 11),
           .cores_percent = 10 * Below(random, 11)});
    }
  }
  binpack::GpuConstraint constraint;
  if (OneIn(random, 6)) constraint.models_allowed = {OneIn(random, 2) ? "A30*" : "A100*"};
  if (OneIn(random, 10)) constraint.uuids_denied = {"GPU-1"};
  shape.accepted = binpack::Accept(node, constraint);
  return shape;
}

}  // namespace offcut::testing
