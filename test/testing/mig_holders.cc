#include "test/testing/mig_holders.h"

#include <utility>

#include "test/testing/worlds.h"

namespace offcut::testing {
namespace {

using scheduler::Inventory;
using scheduler::Pod;

Pod PodOf(const MigHolder& holder, const Inventory& inventory) {
  Pod pod = PodFromText(holder.name + " node=n priority=" + std::to_string(holder.priority));
  pod.request.fractions = {{.gpus = 1, .memory_mib = 1}};  // the instance covers it
  const binpack::GpuModel& model = *inventory.devices.gpus[0].model;
  const auto profile = static_cast<std::size_t>(model.FindProfile(holder.profile).value());
  pod.record = scheduler::DeviceRecord{
      .pod_uid = pod.uid, .node = "n", .certainty = scheduler::Certainty::kExact};
  pod.record->devices = {{.gpu = holder.gpu,
                          .kind = binpack::PieceKind::kInstance,
                          .profile = holder.profile,
                          .start = holder.start,
                          .size = model.profiles[profile].memory_slices}};
  return pod;
}

}  // namespace

scheduler::Snapshot MigHoldersOn(std::string_view model, int gpus,
                                 const std::vector<MigHolder>& holders) {
  Inventory inventory{.name = "n", .serves_fractions = true};
  inventory.devices = MigNode(model, std::vector<std::string>(static_cast<std::size_t>(gpus)));
  inventory.devices.picker = binpack::DevicePicker::kScheduler;
  std::vector<Pod> pods;
  pods.reserve(holders.size());
  for (const MigHolder& holder : holders) pods.push_back(PodOf(holder, inventory));
  return SnapshotOf({std::move(inventory)}, std::move(pods));
}

}  // namespace offcut::testing
