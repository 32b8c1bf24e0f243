#include "api/serve.h"

#include <atomic>
#include <csignal>
#include <ostream>

#include <fmt/ostream.h>
#include <spdlog/spdlog.h>

#include "api/listen_address.h"
#include "api/metrics.h"
#include "api/routes.h"
#include "api/server.h"
#include "api/state_files.h"
#include "api/state_routes.h"
#include "api/status_routes.h"

namespace offcut::api {
namespace {

// So many bodies of the largest size may be in work at one time.
constexpr std::size_t kLargestBodiesMax = 4;

// Blocked in every thread, so that only WaitForEnd() meets them. Before the first thread starts.
sigset_t BlockEndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

void WaitForEnd(const sigset_t& signals) {
  int signal = 0;
  sigwait(&signals, &signal);
  spdlog::info("signal {}: draining", signal);
}

std::expected<std::unique_ptr<Server>, Error> Listen(std::string_view name,
                                                     const std::string& address,
                                                     ServerSettings settings, HttpHandler handler,
                                                     Metrics& metrics, std::ostream& out) {
  const auto parsed = ParseListenAddress(address);
  if (!parsed) return std::unexpected(parsed.error());
  settings.address = parsed->address;
  settings.port = parsed->port;
  auto server = Server::Start(settings, std::move(handler), metrics.EventsOf(name));
  if (server) {
    fmt::print(out, "listening {} {}\n", name, ToText({parsed->address, (*server)->Port()}));
    out.flush();
  }
  return server;
}

// Everything that outlives the servers.
struct World {
  explicit World(const BackgroundLog& background_log) : log(background_log) {}

  const BackgroundLog& log;
  scheduler::Policy policy;
  scheduler::StateStore store;
  RecentPods recent_pods;
  Metrics metrics{OFFCUT_VERSION, scheduler::Reasons()};
  std::atomic<bool> is_draining = false;
};

struct Servers {
  std::unique_ptr<Server> extender;
  std::unique_ptr<Server> health;
  std::unique_ptr<Server> metrics;
};

std::expected<Servers, Error> StartServers(const ServeSettings& settings, World& world,
                                           std::ostream& out) {
  const ServerSettings verbs{.body_bytes_max = settings.body_bytes_max,
                             .bodies_bytes_max = kLargestBodiesMax * settings.body_bytes_max,
                             .idle_timeout = settings.idle_timeout};
  const ServerSettings reads{.body_bytes_max = std::size_t{64} * 1024};
  const ExtenderContext context{world.store, world.policy, world.recent_pods, world.metrics};
  Servers servers;
  auto extender = Listen(
      "extender", settings.bind_address, verbs,
      [context](const HttpRequest& request, const Respond& respond) {
        AnswerExtender(context, request, respond);
      },
      world.metrics, out);
  if (!extender) return std::unexpected(extender.error());
  servers.extender = *std::move(extender);

  auto health = Listen(
      "health", settings.health_bind_address, reads,
      [&world](const HttpRequest& request, const Respond& respond) {
        const std::vector<ReadyCheck> checks = {
            {"state-synced", [] { return true; }},  // files are read before we listen
            {"not-draining", [&world] { return !world.is_draining; }}};
        respond(AnswerHealth(checks, request));
      },
      world.metrics, out);
  if (!health) return std::unexpected(health.error());
  servers.health = *std::move(health);

  auto metrics = Listen(
      "metrics", settings.metrics_bind_address, reads,
      [&world](const HttpRequest& request, const Respond& respond) {
        const auto snapshot = world.store.Read();
        world.metrics.SetLogLinesDropped(world.log.Dropped());
        respond(request.target.starts_with("/api/")
                    ? AnswerState(*snapshot, world.policy, request)
                    : AnswerMetrics(*snapshot, world.metrics, request));
      },
      world.metrics, out);
  if (!metrics) return std::unexpected(metrics.error());
  servers.metrics = *std::move(metrics);
  return servers;
}

void Drain(const ServeSettings& settings, World& world, Servers& servers) {
  world.is_draining = true;  // probes see it while the verbs finish
  const auto deadline = std::chrono::steady_clock::now() + settings.shutdown_timeout;
  if (!servers.extender->Drain(deadline))
    spdlog::warn("not every request could be answered in time");
  servers.extender->Stop();
  servers.health->Stop();
  servers.metrics->Stop();
}

}  // namespace

int Serve(const ServeSettings& settings, std::ostream& out, std::ostream& err) {
  // Whoever reads our output may go away; that ends no service.
  std::signal(SIGPIPE, SIG_IGN);
  const BackgroundLog log(settings.log_format, settings.verbosity);
  World world(log);
  auto policy = LoadPolicy(settings.policy_file);
  if (!policy) {
    fmt::print(err, "offcut: {}\n", policy.error().message);
    return 1;
  }
  world.policy = *std::move(policy);
  auto snapshot = LoadSnapshot(settings.snapshot_files, world.policy,
                               [](std::string_view line) { spdlog::warn("{}", line); });
  if (!snapshot) {
    fmt::print(err, "offcut: {}\n", snapshot.error().message);
    return 1;
  }
  spdlog::info("{} nodes, {} pods", snapshot->nodes().size(), snapshot->pod_count());
  world.store.Update([&](scheduler::Snapshot& next) { next = *std::move(snapshot); });
  // Until here a signal ends the process as usual; reading may take long.
  const sigset_t end_signals = BlockEndSignals();
  auto servers = StartServers(settings, world, out);
  if (!servers) {
    fmt::print(err, "offcut: {}\n", servers.error().message);
    return 1;
  }
  fmt::print(out, "ready\n");
  out.flush();
  WaitForEnd(end_signals);
  Drain(settings, world, *servers);
  return 0;
}

}  // namespace offcut::api
