#include "api/openb_trace.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

namespace offcut::api {
namespace {

constexpr std::int64_t kAmountMax = std::int64_t{1} << 40;
constexpr std::int64_t kSecondsMax =
    253'402'300'799;                   // the last one of year 9999, which RFC 3339 ends with
constexpr int kAnyMemoryMib = 10'000;  // where it is not disclosed: never scarce, see above
constexpr int kSharersMax = 1'000;     // likewise

struct ModelMemory {
  std::string_view model;
  int memory_mib;
};
constexpr std::array kModelMemory = std::to_array<ModelMemory>({
    {"P100", 16384},
    {"T4", 16384},
    {"V100M16", 16384},
    {"V100M32", 32768},
    {"A10", 24576},
});

OpenbNode NodeOf(CsvReader& row) {
  OpenbNode node{.name = std::string(row.PlainText("sn")),
                 .cpu_milli = row.Int("cpu_milli", 0, kAmountMax),
                 .memory_mib = row.Int("memory_mib", 0, kAmountMax),
                 .gpus = static_cast<int>(row.Int("gpu", 0, kTraceGpusPerNodeMax))};
  if (node.gpus > 0) node.model = row.PlainText("model");
  return node;
}

std::vector<std::string> ModelsOf(CsvReader& row) {
  std::vector<std::string> models;
  const std::string_view text = row.Text("gpu_spec", true);
  if (text.empty()) return models;
  for (const std::string_view model : Split(text, '|')) {
    if (!IsPlain(model)) row.Fail("gpu_spec: is not a list of models joined by '|'");
    models.emplace_back(model);
  }
  return models;
}

OpenbPod PodOf(CsvReader& row) {
  OpenbPod pod{.name = std::string(row.PlainText("name")),
               .cpu_milli = row.Int("cpu_milli", 0, kAmountMax),
               .memory_mib = row.Int("memory_mib", 0, kAmountMax),
               .gpus = static_cast<int>(row.Int("num_gpu", 0, kTraceGpusPerNodeMax))};
  if (pod.gpus > 0) {
    pod.gpu_milli =
        static_cast<int>(row.Int("gpu_milli", pod.gpus == 1 ? 1 : kTraceGpuMilli, kTraceGpuMilli));
    pod.models = ModelsOf(row);
  }
  pod.created_s = row.OptionalInt("creation_time", 0, kSecondsMax).value_or(0);
  pod.scheduled_s = row.OptionalInt("scheduled_time", 0, kSecondsMax);
  pod.deleted_s = row.OptionalInt("deletion_time", 0, kSecondsMax);
  return pod;
}

}  // namespace

std::expected<std::vector<OpenbNode>, Error> ReadOpenbNodes(CsvSource source) {
  std::vector<OpenbNode> nodes;
  std::unordered_set<std::string> names;
  CsvReader rows(std::move(source));
  while (rows.Next()) {
    if (nodes.size() == kTraceNodesMax) {
      rows.Fail(fmt::format("more than {} nodes", kTraceNodesMax));
    }
    nodes.push_back(NodeOf(rows));
    const std::string& name = nodes.back().name;
    if (!names.insert(name).second) rows.Fail(fmt::format("sn: node {} comes twice", name));
  }
  if (rows.error()) return std::unexpected(*rows.error());
  return nodes;
}

std::expected<std::vector<OpenbPod>, Error> ReadOpenbPods(CsvSource source, std::size_t pods_max) {
  std::vector<OpenbPod> pods;
  CsvReader rows(std::move(source));
  while (pods.size() < pods_max && rows.Next()) {
    if (pods.size() == kTracePodsMax) rows.Fail(fmt::format("more than {} pods", kTracePodsMax));
    pods.push_back(PodOf(rows));
  }
  if (rows.error()) return std::unexpected(*rows.error());
  return pods;
}

std::optional<std::int64_t> LifeOf(const OpenbPod& pod) {
  if (!pod.scheduled_s || !pod.deleted_s || *pod.deleted_s < *pod.scheduled_s) return std::nullopt;
  return *pod.deleted_s - *pod.scheduled_s;
}

int OpenbMemoryMib(const std::string& model) {
  const auto* const known = std::ranges::find(kModelMemory, model, &ModelMemory::model);
  return known == kModelMemory.end() ? 0 : known->memory_mib;
}

scheduler::Inventory ToInventory(const OpenbNode& node) {
  scheduler::Inventory inventory{
      .name = node.name, .agent = "hami", .serves_fractions = node.gpus > 0};
  binpack::NodeState& devices = inventory.devices;
  devices.allocatable = {.cpu_milli = node.cpu_milli,
                         .memory_bytes = node.memory_mib << 20U,
                         .pods = kTracePodsPerNode};
  devices.picker = binpack::DevicePicker::kScheduler;
  const int memory_mib = OpenbMemoryMib(node.model);
  devices.gpus.assign(
      static_cast<std::size_t>(node.gpus),
      {.product = node.model,
       .memory_mib = memory_mib == 0 ? kAnyMemoryMib : memory_mib,
       .state = binpack::FractionalGpu{.cores_percent = 100, .sharers_max = kSharersMax}});
  return inventory;
}

scheduler::Pod ToPod(const OpenbPod& pod, std::string uid) {
  scheduler::Pod result{
      .uid = std::move(uid), .name_space = "openb", .name = pod.name, .created_s = pod.created_s};
  scheduler::ContainerRequest container{
      .name = "main", .host = {.cpu_milli = pod.cpu_milli, .memory_bytes = pod.memory_mib << 20U}};
  if (pod.gpus > 0) {
    const int percent = (pod.gpu_milli + 9) / 10;
    container.fraction =
        binpack::Fraction{.gpus = pod.gpus, .memory_percent = percent, .cores_percent = percent};
  }
  result.containers = {std::move(container)};
  result.request = scheduler::EffectiveRequest(result.containers, {.models_allowed = pod.models});
  result.host = scheduler::EffectiveHost(result.containers, {});
  return result;
}

}  // namespace offcut::api
