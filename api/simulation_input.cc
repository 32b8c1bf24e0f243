#include "api/simulation_input.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iomanip>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "api/number_text.h"
#include "api/object_files.h"
#include "api/openb_trace.h"

namespace offcut::api {
namespace {

// More than any number of a pod has digits: a longer word is read in parts, the first too large.
constexpr int kOrderWordBytesMax = 32;

bool IsCsv(std::string_view path) { return path.ends_with(".csv"); }

Error CannotRead(const std::string& path) {
  return {ErrorKind::kNotFound, fmt::format("{}: cannot be read", path)};
}

std::expected<SimulationInput, Error> ReadTrace(const SimulationFiles& files) {
  std::ifstream node_lines(files.nodes);
  if (!node_lines) return std::unexpected(CannotRead(files.nodes));
  std::ifstream pod_lines(files.pods);
  if (!pod_lines) return std::unexpected(CannotRead(files.pods));
  const auto nodes = ReadOpenbNodes({node_lines, files.nodes});
  if (!nodes) return std::unexpected(nodes.error());
  const auto pods = ReadOpenbPods({pod_lines, files.pods});
  if (!pods) return std::unexpected(pods.error());
  SimulationInput input;
  std::vector<scheduler::Inventory> inventories(nodes->size());
  std::ranges::transform(*nodes, inventories.begin(), ToInventory);
  input.start.ReplaceNodes(std::move(inventories));
  for (const OpenbPod& pod : *pods) {
    input.pods.push_back({.pod = ToPod(pod, pod.name), .demand = {}, .lives_s = LifeOf(pod)});
  }
  return input;
}

std::expected<SimulationInput, Error> ReadDump(const SimulationFiles& files, const LogLine& log) {
  std::vector<std::string> paths = {files.nodes};
  if (files.pods != files.nodes) paths.push_back(files.pods);
  auto snapshot = LoadSnapshot(paths, scheduler::Policy{}, log);
  if (!snapshot) return std::unexpected(snapshot.error());
  SimulationInput input;
  snapshot->ForEachPod([&](const scheduler::PodEntry& entry) {
    if (entry.phase != scheduler::PodPhase::kPending) return;
    input.pods.push_back({.pod = *entry.pod, .demand = {}, .lives_s = {}});
  });
  for (const SimulatedPod& each : input.pods) snapshot->RemovePod(each.pod.uid);
  input.start = *std::move(snapshot);
  return input;
}

// By name, as order files number them.
void SortPods(std::vector<SimulatedPod>& pods) {
  std::ranges::stable_sort(pods, {}, [](const SimulatedPod& each) {
    return std::tie(each.pod.name, each.pod.name_space, each.pod.uid);
  });
}

std::vector<binpack::ExpectedRequest> RequestsOf(const SimulationInput& input) {
  std::vector<binpack::ExpectedRequest> requests;
  requests.reserve(input.pods.size());
  for (const SimulatedPod& each : input.pods) requests.push_back(each.demand.request);
  input.start.ForEachPod([&](const scheduler::PodEntry& entry) {
    requests.push_back(scheduler::DemandOf(input.start, *entry.pod).request);
  });
  return requests;
}

}  // namespace

std::expected<SimulationInput, Error> ReadSimulationInput(const SimulationFiles& files,
                                                          const LogLine& log) {
  if (IsCsv(files.nodes) != IsCsv(files.pods)) {
    return std::unexpected(Error{ErrorKind::kBadRequest,
                                 "nodes and pods come both from CSV files, or both from dumps"});
  }
  auto input = IsCsv(files.nodes) ? ReadTrace(files) : ReadDump(files, log);
  if (!input) return input;
  SortPods(input->pods);
  for (SimulatedPod& each : input->pods) each.demand = DemandOf(input->start, each.pod);
  const auto requests = RequestsOf(*input);
  input->workload = binpack::DeriveTargetWorkload(requests);
  input->outlook = {.workload = binpack::DeriveBroadWorkload(requests),
                    .capacities = scheduler::CapacitiesOf(input->start),
                    .node_sizes = scheduler::NodeSizesOf(input->start)};
  if (files.order.empty()) {
    input->order.resize(input->pods.size());
    std::iota(input->order.begin(), input->order.end(), std::size_t{0});
    std::ranges::stable_sort(input->order, {},
                             [&](std::size_t i) { return input->pods[i].pod.created_s; });
    return input;
  }
  auto order = ReadOrder(files.order, input->pods.size());
  if (!order) return std::unexpected(order.error());
  input->order = *std::move(order);
  input->has_order = true;
  return input;
}

std::expected<std::vector<std::size_t>, Error> ReadOrder(const std::string& path,
                                                         std::size_t pod_count) {
  std::ifstream in(path);
  if (!in) return std::unexpected(CannotRead(path));
  std::vector<std::size_t> order;
  for (std::string word; in >> std::setw(kOrderWordBytesMax) >> word;) {
    std::size_t index = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), index);
    if (code != std::errc() || end != word.data() + word.size() || index >= pod_count) {
      return std::unexpected(
          Error{ErrorKind::kBadRequest, fmt::format("{}:{}: is not a number of one of the {}", path,
                                                    order.size() + 1, NumberOf(pod_count, "pod"))});
    }
    if (order.size() == kArrivalsMax) {
      return std::unexpected(
          Error{ErrorKind::kTooLarge, fmt::format("{}: more than {} pods", path, kArrivalsMax)});
    }
    order.push_back(index);
  }
  if (in.bad()) return std::unexpected(CannotRead(path));
  if (order.empty()) {
    return std::unexpected(Error{ErrorKind::kBadRequest, fmt::format("{}: names no pod", path)});
  }
  return order;
}

}  // namespace offcut::api
