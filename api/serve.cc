#include "api/serve.h"

#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <ostream>
#include <random>

#include <fmt/ostream.h>
#include <malloc.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/cluster.h"
#include "api/listen_address.h"
#include "api/metrics.h"
#include "api/packing_renewal.h"
#include "api/policy_reload.h"
#include "api/printable.h"
#include "api/routes.h"
#include "api/server.h"
#include "api/state_files.h"
#include "api/state_routes.h"
#include "api/status_routes.h"

namespace offcut::api {
namespace {

// So many bodies of the largest size may be in work at one time.
constexpr std::size_t kLargestBodiesMax = 4;
constexpr std::size_t kIdentityNameBytesMax = 100;  // an event's reportingInstance has 128
// Blocks from this size on go back to the system when they are freed.
constexpr int kMmapThresholdBytes = 4 * 1024 * 1024;
// So much of what smaller ones leave free stays with us: an answer about 15,000 nodes takes 1 MB,
// and to fetch its pages anew took an eighth of a call.
constexpr int kTrimThresholdBytes = 16 * 1024 * 1024;

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

// What listens, and the flag that says where.
struct ListenerName {
  std::string_view name;
  std::string_view flag;
};

std::expected<std::unique_ptr<Server>, Error> Listen(ListenerName listener,
                                                     const std::string& address,
                                                     ServerSettings settings, HttpHandler handler,
                                                     Metrics& metrics, std::ostream& out) {
  const auto parsed = ParseListenAddress(address);
  if (!parsed) {
    return std::unexpected(
        Error{parsed.error().kind, fmt::format("{}: {}", listener.flag, parsed.error().message)});
  }
  settings.address = parsed->address;
  settings.port = parsed->port;
  auto server = Server::Start(settings, std::move(handler), metrics.EventsOf(listener.name));
  if (!server) {
    return std::unexpected(
        Error{server.error().kind,
              fmt::format("{} {}: {}", listener.flag, address, server.error().message)});
  }
  fmt::print(out, "listening {} {}\n", listener.name, ToText({parsed->address, (*server)->Port()}));
  out.flush();
  return server;
}

// Everything that outlives the servers.
struct World {
  explicit World(const BackgroundLog& background_log) : log(background_log) {}

  const BackgroundLog& log;
  scheduler::Policy policy;
  DecisionCache decisions{policy};  // empty until the first request; by then the policy is read
  scheduler::StateStore store;
  RecentPods recent_pods;
  Metrics metrics{OFFCUT_VERSION, scheduler::Reasons()};
  std::atomic<bool> is_draining = false;
  std::unique_ptr<Cluster> cluster;  // null: the state comes from files

  bool IsSynced() const { return cluster == nullptr || cluster->IsSynced(); }
  bool IsWatching() const { return cluster == nullptr || cluster->IsWatching(); }
};

struct Servers {
  std::unique_ptr<Server> extender;
  std::unique_ptr<Server> health;
  std::unique_ptr<Server> metrics;
};

std::vector<ReadyCheck> ReadyChecks(const World& world) {
  std::vector<ReadyCheck> checks = {
      {"state-synced", [&world] { return world.IsSynced(); }},
      // The API server may be away; what was last known still serves, and bind decides.
      {"watching", [&world] { return world.IsWatching(); }, /*is_required=*/false},
      {"not-draining", [&world] { return !world.is_draining; }}};
  const Cluster* cluster = world.cluster.get();
  if (cluster == nullptr || !cluster->AnswersOnlyAsLeader()) return checks;
  // Else nobody might ever lead, or be found, and every probe would say that all is well.
  checks.push_back({.name = "lease",
                    .is_ready = [cluster] { return cluster->LeaseProblem().empty(); },
                    .why = [cluster] { return cluster->LeaseProblem(); }});
  checks.push_back({.name = "leader-label",
                    .is_ready = [cluster] { return cluster->LabelProblem().empty(); },
                    .why = [cluster] { return cluster->LabelProblem(); }});
  return checks;
}

std::expected<Servers, Error> StartServers(const ServeSettings& settings, World& world,
                                           std::ostream& out) {
  auto tls = ReadServerTls(settings.tls);
  if (!tls) return std::unexpected(tls.error());
  std::string bind_address = settings.bind_address;
  if (bind_address.empty()) bind_address = *tls ? kTlsBindAddress : kPlainBindAddress;
  const ServerSettings verbs{.tls = *std::move(tls),
                             .body_bytes_max = settings.body_bytes_max,
                             .bodies_bytes_max = kLargestBodiesMax * settings.body_bytes_max,
                             .idle_timeout = settings.idle_timeout};
  const ServerSettings reads{.body_bytes_max = std::size_t{64} * 1024,
                             .idle_timeout = settings.idle_timeout};
  const ExtenderContext context{.store = world.store,
                                .policy = world.policy,
                                .decisions = world.decisions,
                                .recent_pods = world.recent_pods,
                                .metrics = world.metrics,
                                .cluster = world.cluster.get()};
  Servers servers;
  auto extender = Listen(
      {"extender", "--bind-address"}, bind_address, verbs,
      [context](const HttpRequest& request, const Respond& respond) {
        AnswerExtender(context, request, respond);
      },
      world.metrics, out);
  if (!extender) return std::unexpected(extender.error());
  servers.extender = *std::move(extender);

  auto health = Listen(
      {"health", "--health-bind-address"}, settings.health_bind_address, reads,
      [&world](const HttpRequest& request, const Respond& respond) {
        respond(AnswerHealth(ReadyChecks(world), request));
      },
      world.metrics, out);
  if (!health) return std::unexpected(health.error());
  servers.health = *std::move(health);

  auto metrics = Listen(
      {"metrics", "--metrics-bind-address"}, settings.metrics_bind_address, reads,
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
  if (world.cluster != nullptr) world.cluster->Stop();  // after the binds that it answers
  servers.health->Stop();
  servers.metrics->Stop();
}

int Fail(const Error& error, std::ostream& err) {
  fmt::print(err, "offcut: {}\n", PrintableLines(error.message));
  return 1;
}

void PrintReady(std::ostream& out) {
  fmt::print(out, "ready\n");
  out.flush();
}

std::expected<void, Error> LoadFiles(const ServeSettings& settings, World& world) {
  auto snapshot = LoadSnapshot(settings.snapshot_files, world.policy,
                               [](std::string_view line) { spdlog::warn("{}", line); });
  if (!snapshot) return std::unexpected(snapshot.error());
  spdlog::info("{} nodes, {} pods", snapshot->nodes().size(), snapshot->pod_count());
  world.store.Update([&](scheduler::Snapshot& next) { next = *std::move(snapshot); });
  RenewPacking(world.store, world.policy);
  return {};
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::expected<KubeConfig, Error> ReadKubeAccess(const ServeSettings& settings) {
  if (!settings.kubeconfig.empty()) {
    return ReadKubeconfig(settings.kubeconfig, settings.kube_context);
  }
  const std::string host = Variable("KUBERNETES_SERVICE_HOST");
  if (host.empty()) {
    return std::unexpected(
        Error{ErrorKind::kUnavailable,
              "where is the state? Name files by --snapshot, or a cluster by --kubeconfig, or run "
              "in a cluster"});
  }
  return InClusterConfig(std::string(kServiceAccountFolder), host,
                         Variable("KUBERNETES_SERVICE_PORT"));
}

// Of this process: a restart is another holder of the Lease.
std::string Identity(const ServeSettings& settings) {
  std::array<char, HOST_NAME_MAX + 1> host{};
  gethostname(host.data(), HOST_NAME_MAX);
  const std::string name = settings.pod_name.empty() ? host.data() : settings.pod_name;
  std::random_device random;
  return fmt::format("{}_{:08x}{:08x}", name.substr(0, kIdentityNameBytesMax), random(), random());
}

std::expected<void, Error> StartCluster(const ServeSettings& settings, World& world,
                                        std::ostream& out) {
  auto access = ReadKubeAccess(settings);
  if (!access) return std::unexpected(access.error());
  const std::string identity = Identity(settings);
  ClusterSettings cluster{.config = *std::move(access),
                          .client = {.qps = settings.kube_qps, .burst = settings.kube_burst},
                          .binder = {.answer_timeout = settings.bind_timeout},
                          .instance = identity,
                          .pod_name = settings.only_leader_answers ? settings.pod_name : "",
                          .synced = [&out] { PrintReady(out); }};
  cluster.pod_namespace =
      settings.pod_namespace.empty() ? cluster.config.name_space : settings.pod_namespace;
  if (settings.leader_elect) {
    cluster.election = {.name_space = settings.lease_namespace.empty() ? cluster.pod_namespace
                                                                       : settings.lease_namespace,
                        .name = settings.lease_name,
                        .identity = identity,
                        .lease_duration = settings.lease_duration,
                        .renew_deadline = settings.renew_deadline,
                        .retry_period = settings.retry_period};
  }
  world.store.Update([&](scheduler::Snapshot& next) { next.SetTenancy(world.policy.tenancy); });
  auto started = Cluster::Start(std::move(cluster),
                                {world.store, world.policy, world.recent_pods, world.metrics});
  if (!started) return std::unexpected(started.error());
  world.cluster = *std::move(started);
  return {};
}

// A shell's soft limit is often 1024, and the connections of one listener may be as many. Go
// programs do the same.
void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);  // where it fails, the listener sheds what it cannot take
}

}  // namespace

int Serve(const ServeSettings& settings, std::ostream& out, std::ostream& err) {
  // Whoever reads our output may go away; that ends no service.
  std::signal(SIGPIPE, SIG_IGN);
  RaiseFileLimit();
  // Else glibc raises the threshold as big bodies come and go, and keeps their memory.
  mallopt(M_MMAP_THRESHOLD, kMmapThresholdBytes);
  mallopt(M_TRIM_THRESHOLD, kTrimThresholdBytes);
  const BackgroundLog log(settings.log_format, settings.verbosity);
  World world(log);
  auto policy = LoadPolicy(settings.policy_file);
  if (!policy) return Fail(policy.error(), err);
  world.policy = *std::move(policy);
  const bool has_files = !settings.snapshot_files.empty();
  if (has_files) {
    const auto loaded = LoadFiles(settings, world);
    if (!loaded) return Fail(loaded.error(), err);
  }
  // Until here a signal ends the process as usual; reading may take long.
  const sigset_t end_signals = BlockEndSignals();
  if (!has_files) {
    const auto started = StartCluster(settings, world, out);
    if (!started) return Fail(started.error(), err);
  }
  auto servers = StartServers(settings, world, out);
  if (!servers) return Fail(servers.error(), err);
  if (has_files) PrintReady(out);
  if (world.cluster != nullptr) world.cluster->StartWatches();
  std::optional<PolicyReload> reload;
  if (!settings.policy_file.empty()) {
    reload.emplace(settings.policy_file, world.policy, world.store, world.metrics, [&world] {
      if (world.cluster != nullptr) world.cluster->QuotasChanged();
    });
  }
  WaitForEnd(end_signals);
  // Ahead of the end of whoever reads a policy just now: that may take seconds.
  Drain(settings, world, *servers);
  return 0;
}

}  // namespace offcut::api
