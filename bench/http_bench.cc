#include "bench/http_bench.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "bench/kube_scheduler_player.h"
#include "bench/server_process.h"

namespace offcut::bench {
namespace {

using api::Error;
using api::ErrorKind;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kFullNodesRounds = 5;  // of which the first warms up
// What a node with the labels, conditions and images of a real one takes on the wire.
constexpr std::size_t kFullNodeBytes = 13'500;
constexpr std::size_t kPaddingLabelBytes = 63;  // Kubernetes' limit of a label's value

struct Measured {
  std::vector<double> durations_ms;
  std::size_t request_bytes_max = 0;
  std::size_t response_bytes_max = 0;
};

std::expected<void, Error> Measure(HttpConnection& extender, const std::string& path,
                                   const std::string& body, Measured& measured) {
  const auto start = Clock::now();
  const auto answer = extender.Post(path, body);
  const std::chrono::duration<double, std::milli> duration = Clock::now() - start;
  if (!answer) return std::unexpected(answer.error());
  measured.durations_ms.push_back(duration.count());
  measured.request_bytes_max = std::max(measured.request_bytes_max, body.size());
  measured.response_bytes_max = std::max(measured.response_bytes_max, answer->size());
  return {};
}

CallFigures FiguresOf(std::string call, Measured measured) {
  std::ranges::sort(measured.durations_ms);
  return {.call = std::move(call),
          .calls = measured.durations_ms.size(),
          .p50_ms = Percentile(measured.durations_ms, 50),
          .p99_ms = Percentile(measured.durations_ms, 99),
          .max_ms = measured.durations_ms.back(),
          .request_bytes_max = measured.request_bytes_max,
          .response_bytes_max = measured.response_bytes_max};
}

// One round is one call a body.
std::expected<CallFigures, Error> MeasureRounds(HttpConnection& extender, const std::string& call,
                                                const std::string& path,
                                                const std::vector<std::string>& bodies,
                                                int rounds) {
  Measured measured;
  for (int round = 0; round <= rounds; ++round) {
    if (round == 1) measured = {};  // round 0 warmed up
    for (const std::string& body : bodies) {
      const auto done = Measure(extender, path, body, measured);
      if (!done) return std::unexpected(done.error());
    }
  }
  return FiguresOf(call, std::move(measured));
}

std::vector<std::string> NamesBodies(const ClusterObjects& objects, std::size_t pods_max) {
  std::vector<std::string> names(objects.nodes.size());
  std::ranges::transform(objects.nodes, names.begin(),
                         [](const json& node) { return StringAt(node, {"metadata", "name"}); });
  std::vector<std::string> bodies;
  for (const json& pod : objects.pods) {
    if (bodies.size() == pods_max) break;
    if (StringAt(pod, {"spec", "nodeName"}).empty()) bodies.push_back(PrintArgs(pod, names));
  }
  return bodies;
}

json ToJson(const CallFigures& figures) {
  return {{"call", figures.call},
          {"calls", figures.calls},
          {"p50Ms", figures.p50_ms},
          {"p99Ms", figures.p99_ms},
          {"maxMs", figures.max_ms},
          {"requestBytesMax", figures.request_bytes_max},
          {"responseBytesMax", figures.response_bytes_max}};
}

void PrintFigures(const HttpBenchSettings& settings, std::size_t nodes,
                  const std::vector<CallFigures>& figures, const ServerProcess::Memory& memory,
                  std::ostream& out) {
  if (settings.prints_json) {
    json calls = json::array();
    for (const CallFigures& each : figures) calls.push_back(ToJson(each));
    const json document = {{"nodes", nodes},
                           {"calls", std::move(calls)},
                           {"residentKiB", memory.resident_kib},
                           {"residentPeakKiB", memory.resident_peak_kib}};
    out << document.dump(2) << "\n";
    return;
  }
  out << fmt::format("{} nodes in the snapshot; one request at a time; keep-alive\n\n", nodes);
  out << fmt::format("{:<30} {:>7} {:>9} {:>9} {:>9} {:>11} {:>11}\n", "CALL", "CALLS", "P50 ms",
                     "P99 ms", "MAX ms", "REQUEST B", "RESPONSE B");
  for (const CallFigures& each : figures) {
    out << fmt::format("{:<30} {:>7} {:>9.3f} {:>9.3f} {:>9.3f} {:>11} {:>11}\n", each.call,
                       each.calls, each.p50_ms, each.p99_ms, each.max_ms, each.request_bytes_max,
                       each.response_bytes_max);
  }
  out << fmt::format("\nresident memory {} MiB, peak {} MiB\n", memory.resident_kib / 1024,
                     memory.resident_peak_kib / 1024);
}

std::expected<std::vector<CallFigures>, Error> MeasureAll(const HttpBenchSettings& settings,
                                                          const ClusterObjects& objects,
                                                          const std::vector<std::string>& bodies,
                                                          std::uint16_t port) {
  HttpConnection extender(port);
  std::vector<CallFigures> figures;
  for (const std::string_view verb : {"filter", "prioritize"}) {
    auto measured = MeasureRounds(extender, fmt::format("{}, names", verb),
                                  fmt::format("/v1/{}", verb), bodies, settings.rounds);
    if (!measured) return std::unexpected(measured.error());
    figures.push_back(*std::move(measured));
  }
  if (settings.full_nodes == 0) return figures;
  const std::string body =
      PrintFullNodesArgs(objects.pods.front(), objects.nodes, settings.full_nodes);
  auto measured = MeasureRounds(extender, fmt::format("filter, {} full nodes", settings.full_nodes),
                                "/v1/filter", {body}, kFullNodesRounds - 1);
  if (!measured) return std::unexpected(measured.error());
  figures.push_back(*std::move(measured));
  return figures;
}

}  // namespace

double Percentile(const std::vector<double>& durations_ms, int percent) {
  assert(!durations_ms.empty() && percent > 0 && percent <= 100);
  const std::size_t rank = (durations_ms.size() * static_cast<std::size_t>(percent) + 99) / 100;
  return durations_ms[rank - 1];
}

std::string PrintFullNodesArgs(const json& pod, const std::vector<json>& nodes, std::size_t count) {
  assert(!nodes.empty());
  json items = json::array();
  for (std::size_t i = 0; i < count; ++i) {
    json node = nodes[i % nodes.size()];
    node.erase("kind");
    node.erase("apiVersion");
    if (i >= nodes.size()) {
      node["metadata"]["name"] =
          fmt::format("{}-{}", StringAt(node, {"metadata", "name"}), i / nodes.size());
    }
    json& labels = node["metadata"]["labels"];
    if (!labels.is_object()) labels = json::object();
    const std::string filling(kPaddingLabelBytes, 'x');
    for (std::size_t bytes = node.dump().size(), label = 0; bytes < kFullNodeBytes; ++label) {
      const std::string key = fmt::format("feature.example.com/padding-{}", label);
      labels[key] = filling;
      bytes += key.size() + filling.size() + std::string_view(R"("":"",)").size();
    }
    items.push_back(std::move(node));
  }
  json sent = pod;
  sent.erase("kind");
  sent.erase("apiVersion");
  const json args = {{"Pod", std::move(sent)},
                     {"Nodes", {{"metadata", json::object()}, {"items", std::move(items)}}},
                     {"NodeNames", nullptr}};
  return args.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::expected<void, Error> RunHttpBench(const HttpBenchSettings& settings, std::ostream& out) {
  const auto objects = ReadClusterObjects(settings.snapshot);
  if (!objects) return std::unexpected(objects.error());
  const std::vector<std::string> bodies = NamesBodies(*objects, settings.pods);
  if (bodies.empty() || objects->nodes.empty()) {
    return std::unexpected(
        Error{ErrorKind::kBadRequest,
              fmt::format("{}: has no node, or no pod that waits", settings.snapshot)});
  }
  auto offcut = ServerProcess::StartOffcut(settings.offcut, {settings.snapshot});
  if (!offcut) return std::unexpected(offcut.error());
  const auto figures = MeasureAll(settings, *objects, bodies, offcut->ExtenderPort());
  if (!figures) return std::unexpected(figures.error());
  PrintFigures(settings, objects->nodes.size(), *figures, offcut->ReadMemory(), out);
  return offcut->Stop();
}

}  // namespace offcut::bench
