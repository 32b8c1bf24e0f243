#include "bench/demo.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "bench/cluster_objects.h"
#include "bench/kube_scheduler_player.h"
#include "bench/played_node.h"
#include "bench/server_process.h"

namespace offcut::bench {
namespace {

using api::Error;
using api::ErrorKind;
using nlohmann::json;

constexpr std::size_t kLineColumns = 100;
constexpr std::size_t kPodColumns = 16;
constexpr std::size_t kAsksColumns = 28;
constexpr std::size_t kNodeColumns = 16;
constexpr std::string_view kVendor = "nvidia.com/";

// "0-3, 6"
std::string RangesText(const std::set<int>& numbers) {
  std::vector<std::string> ranges;
  for (auto first = numbers.begin(); first != numbers.end();) {
    auto last = first;
    while (std::next(last) != numbers.end() && *std::next(last) == *last + 1) ++last;
    ranges.push_back(first == last ? std::to_string(*first) : fmt::format("{}-{}", *first, *last));
    first = std::next(last);
  }
  return fmt::format("{}", fmt::join(ranges, ", "));
}

std::int64_t IntAt(const json& object, std::string_view key, std::int64_t fallback) {
  const json& member = MemberAt(object, {key});
  return member.is_number_integer() ? member.get<std::int64_t>() : fallback;
}

// One device that is a part of a GPU.
std::string PartText(const json& device) {
  const std::string kind = StringAt(device, {"kind"});
  const std::int64_t gpu = IntAt(device, "gpu", -1);
  if (kind == "mig") {
    const std::int64_t start = IntAt(device, "start", -1);
    const std::string profile = StringAt(device, {"profile"});
    return start < 0 ? profile : fmt::format("{}@{} on GPU {}", profile, start, gpu);
  }
  if (kind == "slot") return fmt::format("slot on GPU {}", gpu);
  return fmt::format("{} MiB, {} % of GPU {}", IntAt(device, "memoryMiB", 0),
                     IntAt(device, "coresPercent", 0), gpu);
}

struct PlayedPod {
  std::string name;
  std::string asks;
  Played played;
  std::string devices;
};

std::expected<std::string, Error> DevicesOf(HttpConnection& state, const json& pod) {
  const std::string name_space = StringAt(pod, {"metadata", "namespace"});
  const auto body =
      state.Get(fmt::format("/api/v1/pods/{}/{}", name_space.empty() ? "default" : name_space,
                            StringAt(pod, {"metadata", "name"})));
  if (!body) return std::unexpected(body.error());
  const json answer = json::parse(*body, nullptr, false);
  const json& record = MemberAt(answer, {"record"});
  return record.is_object() ? DevicesText(record) : "none";
}

// A cell that is too long pushes the rest of its row to the next line, under its own columns.
std::string RowText(const std::string& pod, const std::string& asks, const std::string& node,
                    const std::string& devices) {
  const std::size_t start = kPodColumns + kAsksColumns + 2;
  std::string left = fmt::format("{:<{}} {}", pod, kPodColumns, asks);
  if (left.size() >= start) left += "\n";
  const std::size_t line_start = left.ends_with('\n') ? left.size() : 0;
  left.append(start - (left.size() - line_start), ' ');
  return fmt::format("{}{:<{}} {}\n", left, node, kNodeColumns, devices);
}

void PrintRow(const PlayedPod& pod, std::ostream& out) {
  if (!pod.played.node_name.empty()) {
    out << RowText(pod.name, pod.asks, pod.played.node_name, pod.devices);
    return;
  }
  out << RowText(pod.name, pod.asks, "-", "pending");
  for (const std::string& line : Wrapped(pod.played.refusal, kLineColumns - 4)) {
    out << "    " << line << "\n";
  }
}

std::expected<PlayedPod, Error> PlayPod(KubeSchedulerPlayer& scheduler, HttpConnection& state,
                                        const json& pod) {
  PlayedPod row{.name = StringAt(pod, {"metadata", "name"}), .asks = AsksText(pod)};
  auto played = scheduler.Play(pod);
  if (!played) {
    return std::unexpected(
        Error{played.error().kind, fmt::format("pod {}: {}", row.name, played.error().message)});
  }
  row.played = *std::move(played);
  row.devices = "no GPU, so Offcut is not asked";
  if (row.played.extender_is_asked && !row.played.node_name.empty()) {
    auto devices = DevicesOf(state, pod);
    if (!devices) return std::unexpected(devices.error());
    row.devices = *std::move(devices);
  }
  return row;
}

void PrintTotals(const std::vector<PlayedPod>& pods, std::ostream& out) {
  const auto count = [&](auto is_such) { return std::ranges::count_if(pods, is_such); };
  const auto bound = count([](const PlayedPod& pod) { return !pod.played.node_name.empty(); });
  const auto refused_before = count([](const PlayedPod& pod) {
    return pod.played.node_name.empty() && !pod.played.extender_is_asked;
  });
  out << fmt::format(
      "{} pods: {} bound, {} pending ({} of them refused by kube-scheduler's own filters alone).\n",
      pods.size(), bound, static_cast<std::ptrdiff_t>(pods.size()) - bound, refused_before);
}

// As a person in the current folder would type it.
std::string NearPath(const std::string& path) {
  std::error_code ignored;
  const std::string near = std::filesystem::proximate(path, ignored).string();
  return near.empty() || near.starts_with("..") ? path : near;
}

void PrintWhatNext(const DemoSettings& settings, std::ostream& out) {
  out << fmt::format(
      "\nHow to go on:\n"
      "  {0} explain pod ml/any-gpu \\\n"
      "      --snapshot {1} --snapshot {2}\n"
      "      why a pod goes where it goes, node by node (on the files, so before these binds)\n"
      "  kubectl get nodes,pods -A -o json | {0} gpus --snapshot -\n"
      "      the same picture of your own cluster, which is not touched\n"
      "  {3}\n"
      "      a kube-scheduler configuration that asks Offcut\n",
      NearPath(settings.offcut), NearPath(settings.cluster), NearPath(settings.pods),
      NearPath(settings.scheduler_config));
}

std::expected<std::vector<PlayedPod>, Error> PlayAll(const ClusterObjects& cluster,
                                                     const ClusterObjects& waiting,
                                                     const ExtenderEntry& entry,
                                                     const ServerProcess& offcut,
                                                     std::ostream& out) {
  auto scheduler = KubeSchedulerPlayer::Create(cluster, offcut.ExtenderPort(), entry);
  if (!scheduler) return std::unexpected(scheduler.error());
  HttpConnection state(offcut.MetricsPort());
  out << RowText("POD", "ASKS FOR", "NODE", "DEVICES");
  std::vector<PlayedPod> rows;
  for (const json& pod : waiting.pods) {
    auto row = PlayPod(*scheduler, state, pod);
    if (!row) return std::unexpected(row.error());
    PrintRow(*row, out);
    rows.push_back(*std::move(row));
  }
  return rows;
}

std::expected<void, Error> PrintPicture(std::string_view heading, const ServerProcess& offcut,
                                        std::ostream& out) {
  const auto picture = HttpConnection(offcut.MetricsPort()).Get("/api/v1/gpus?output=text");
  if (!picture) return std::unexpected(picture.error());
  out << fmt::format("\n{}\n{}\n\n{}\n", heading, std::string(heading.size(), '='), *picture);
  return {};
}

// By descending priority, in the file's order among equals, as kube-scheduler's queue has it.
void SortByPriority(std::vector<json>& pods) {
  std::ranges::stable_sort(pods, std::greater<>{}, [](const json& pod) {
    return IntAt(MemberAt(pod, {"spec"}), "priority", 0);
  });
}

}  // namespace

std::string AsksText(const json& pod) {
  const auto requests = RequestsOf(pod);
  if (!requests) return "?";
  std::vector<std::string> parts;
  for (const auto& [resource, amount] : *requests) {
    if (!resource.starts_with(kVendor)) continue;
    const std::string_view name = std::string_view(resource).substr(kVendor.size());
    if (name == "gpumem") {
      parts.push_back(fmt::format("{} MiB", amount));
    } else if (name == "gpumem-percentage") {
      parts.push_back(fmt::format("{} % memory", amount));
    } else if (name == "gpucores") {
      parts.push_back(fmt::format("{} % cores", amount));
    } else {
      parts.push_back(amount == 1 ? std::string(name) : fmt::format("{} x {}", amount, name));
    }
  }
  const std::string models = StringAt(pod, {"metadata", "annotations", "offcut.dev/gpu-models"});
  if (!models.empty()) parts.push_back(fmt::format("models {}", models));
  return parts.empty() ? "no GPU" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string DevicesText(const json& record) {
  std::set<int> whole;
  std::map<std::string, int> parts;
  for (const json& device : MemberAt(record, {"devices"})) {
    if (StringAt(device, {"kind"}) == "whole") {
      whole.insert(static_cast<int>(IntAt(device, "gpu", -1)));
    } else {
      ++parts[PartText(device)];
    }
  }
  std::vector<std::string> texts;
  if (!whole.empty()) {
    texts.push_back(fmt::format("GPU{} {}", whole.size() == 1 ? "" : "s", RangesText(whole)));
  }
  for (const auto& [part, count] : parts) {
    texts.push_back(count == 1 ? part : fmt::format("{} x {}", count, part));
  }
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

std::vector<std::string> Wrapped(const std::string& text, std::size_t columns) {
  std::vector<std::string> lines;
  std::string_view rest = text;
  while (rest.size() > columns) {
    std::size_t blank = rest.rfind(' ', columns);
    if (blank == std::string_view::npos) blank = rest.find(' ');
    if (blank == std::string_view::npos) break;
    lines.emplace_back(rest.substr(0, blank));
    rest.remove_prefix(blank + 1);
  }
  lines.emplace_back(rest);
  return lines;
}

std::expected<void, Error> RunDemo(const DemoSettings& settings, std::ostream& out) {
  const auto cluster = ReadClusterObjects(settings.cluster);
  if (!cluster) return std::unexpected(cluster.error());
  auto waiting = ReadClusterObjects(settings.pods);
  if (!waiting) return std::unexpected(waiting.error());
  const auto entry = ReadExtenderEntry(settings.scheduler_config);
  if (!entry) return std::unexpected(entry.error());
  SortByPriority(waiting->pods);
  auto offcut = ServerProcess::StartOffcut(settings.offcut, {settings.cluster});
  if (!offcut) return std::unexpected(offcut.error());

  out << fmt::format(
      "Offcut on {} nodes, with {} pods waiting. Nodes and pods come from files, and a small "
      "player\n"
      "stands in for kube-scheduler; the decisions are the real program's.\n",
      cluster->nodes.size(), waiting->pods.size());
  auto printed = PrintPicture("Before", *offcut, out);
  if (!printed) return printed;
  out << "\nPods, by priority\n=================\n\n";
  const auto rows = PlayAll(*cluster, *waiting, *entry, *offcut, out);
  if (!rows) return std::unexpected(rows.error());
  printed = PrintPicture("After", *offcut, out);
  if (!printed) return printed;
  PrintTotals(*rows, out);
  const auto stopped = offcut->Stop();
  if (!stopped) return stopped;
  PrintWhatNext(settings, out);
  const bool any_bound = std::ranges::any_of(*rows, [](const PlayedPod& row) {
    return row.played.extender_is_asked && !row.played.node_name.empty();
  });
  if (any_bound) return {};
  return std::unexpected(Error{ErrorKind::kUnavailable, "Offcut bound no pod"});
}

}  // namespace offcut::bench
