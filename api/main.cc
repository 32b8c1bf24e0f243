// The command line: which command, with which settings. Every command is a function elsewhere.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/explain_command.h"
#include "api/gpu_picture.h"
#include "api/kube_scheduler_config.h"
#include "api/policy_command.h"
#include "api/printable.h"
#include "api/serve.h"
#include "api/simulate_command.h"
#include "api/simulate_mig_command.h"
#include "api/state_files.h"
#include "api/text_fields.h"
#include "binpack/mig_table.h"
#include "binpack/strategy.h"

namespace {

using offcut::api::ChurnSettings;
using offcut::api::ExplainSettings;
using offcut::api::GpusSettings;
using offcut::api::KubeSchedulerSettings;
using offcut::api::MigSimulationSettings;
using offcut::api::PolicyReport;
using offcut::api::ServeSettings;
using offcut::api::SimulateSettings;
using offcut::api::TenantsSettings;
using offcut::api::ValidateSettings;

constexpr const char* kSnapshotHelp =
    "File as `kubectl get nodes,pods -A -o json` (or yaml) prints it; - is standard input; may be "
    "given several times";
constexpr const char* kPolicyHelp = "Policy file; without it the defaults hold";

// Runs after the command line has been read; returns the exit code.
using Command = std::function<int()>;

// What is wrong with a name, which goes into paths of the API server; empty: nothing.
std::string CheckName(const std::string& name) {
  return offcut::api::IsDnsSubdomain(name) ? "" : "'" + name + "' is no DNS subdomain (RFC 1123)";
}
std::string CheckNamespace(const std::string& name) {
  return offcut::api::IsDnsLabel(name) ? "" : "'" + name + "' is no DNS label (RFC 1123)";
}

// Adds the options, and returns what takes over and checks them once they have been read.
std::function<void()> AddLeaderElection(CLI::App& serve, ServeSettings& settings) {
  static std::int64_t lease_s = settings.lease_duration.count();
  static std::int64_t renew_s = settings.renew_deadline.count();
  static std::int64_t retry_s = settings.retry_period.count();
  static std::string elect = "none";
  serve
      .add_option("--leader-elect", elect,
                  "none; lease: one of several replicas does the background work, and whoever is "
                  "asked answers (sidecars of kube-scheduler); service: only the leader answers, "
                  "and labels its pod offcut.dev/leader=true for the Service to select")
      ->check(CLI::IsMember({"none", "lease", "service"}))
      ->capture_default_str();
  serve
      .add_option("--leader-elect-lease-namespace", settings.lease_namespace,
                  "By default --pod-namespace, or that of the kubeconfig or the service account")
      ->check(CheckNamespace, "");
  serve.add_option("--leader-elect-lease-name", settings.lease_name)
      ->check(CheckName, "")
      ->capture_default_str();
  serve
      .add_option("--leader-elect-lease-duration", lease_s,
                  "Seconds until a dead leader's lease "
                  "may be taken")
      ->check(CLI::Range(2, 3'600))
      ->capture_default_str();
  serve
      .add_option("--leader-elect-renew-deadline", renew_s,
                  "Seconds without renewal after which a leader stops; below the lease duration")
      ->check(CLI::Range(1, 3'600))
      ->capture_default_str();
  serve.add_option("--leader-elect-retry-period", retry_s, "Seconds between two tries")
      ->check(CLI::Range(1, 3'600))
      ->capture_default_str();
  serve.add_option("--pod-name", settings.pod_name, "Our own pod")
      ->envname("POD_NAME")
      ->check(CheckName, "");
  serve.add_option("--pod-namespace", settings.pod_namespace)
      ->envname("POD_NAMESPACE")
      ->check(CheckNamespace, "");
  return [&settings] {
    settings.leader_elect = elect != "none";
    settings.only_leader_answers = elect == "service";
    settings.lease_duration = std::chrono::seconds(lease_s);
    settings.renew_deadline = std::chrono::seconds(renew_s);
    settings.retry_period = std::chrono::seconds(retry_s);
    if (settings.only_leader_answers && settings.pod_name.empty()) {
      throw CLI::ValidationError("--leader-elect", "service needs --pod-name or POD_NAME");
    }
    if (settings.leader_elect && (lease_s <= renew_s || 5 * renew_s <= 6 * retry_s)) {
      throw CLI::ValidationError(
          "--leader-elect",
          "the lease duration must exceed the renew deadline, and that 1.2 times "
          "the retry period");
    }
  };
}

// Where the state comes from. Returns what takes it over once the options have been read.
std::function<void()> AddClusterAccess(CLI::App& serve, ServeSettings& settings) {
  static std::int64_t bind_timeout_ms = settings.bind_timeout.count();
  CLI::Option* snapshot = serve.add_option("--snapshot", settings.snapshot_files, kSnapshotHelp)
                              ->allow_extra_args(false);
  CLI::Option* kubeconfig =
      serve
          .add_option("--kubeconfig", settings.kubeconfig,
                      "How to reach the cluster; without it and --snapshot: the cluster that we "
                      "run in, by the pod's service account")
          ->excludes(snapshot);
  serve.add_option("--context", settings.kube_context, "Context of the kubeconfig")
      ->needs(kubeconfig);
  serve.add_option("--kube-api-qps", settings.kube_qps, "Reads and patches a second")
      ->check(CLI::Range(0.1, 10'000.0))
      ->capture_default_str();
  serve.add_option("--kube-api-burst", settings.kube_burst, "Reads and patches at once")
      ->check(CLI::Range(1.0, 100'000.0))
      ->capture_default_str();
  serve
      .add_option("--bind-timeout", bind_timeout_ms,
                  "Milliseconds in which a bind is answered; keep it below kube-scheduler's "
                  "httpTimeout")
      ->check(CLI::Range(100, 60'000))
      ->capture_default_str();
  return [&settings] {
    settings.bind_timeout = std::chrono::milliseconds(bind_timeout_ms);
    // No range excludes what is no number.
    if (std::isnan(settings.kube_qps)) throw CLI::ValidationError("--kube-api-qps", "is no number");
    if (std::isnan(settings.kube_burst)) {
      throw CLI::ValidationError("--kube-api-burst", "is no number");
    }
  };
}

void AddServe(CLI::App& app, Command& command) {
  static ServeSettings settings;
  static std::string log_format = "text";
  static std::int64_t idle_s = settings.idle_timeout.count();
  static std::int64_t shutdown_s = settings.shutdown_timeout.count();
  CLI::App* serve = app.add_subcommand("serve", "Answer kube-scheduler");
  const auto take_cluster = AddClusterAccess(*serve, settings);
  serve->add_option("--policy", settings.policy_file, kPolicyHelp);
  const auto take_leader_election = AddLeaderElection(*serve, settings);
  serve->add_option("--bind-address", settings.bind_address, "Extender verbs, IP:PORT")
      ->default_str(fmt::format("{}, or with TLS {}", offcut::api::kPlainBindAddress,
                                offcut::api::kTlsBindAddress));
  serve->add_option("--tls-cert-file", settings.tls.certificate,
                    "PEM of the extender's certificate and who signed it; the verbs speak TLS");
  serve->add_option("--tls-private-key-file", settings.tls.private_key, "PEM of its key");
  serve->add_option("--tls-client-ca-file", settings.tls.client_authorities,
                    "PEM of the authorities of which a client must have a certificate");
  serve
      ->add_option("--health-bind-address", settings.health_bind_address,
                   "/livez and /readyz, IP:PORT")
      ->capture_default_str();
  serve
      ->add_option("--metrics-bind-address", settings.metrics_bind_address,
                   "/metrics and the read-only /api/v1, IP:PORT")
      ->capture_default_str();
  serve->add_option("--max-body-bytes", settings.body_bytes_max, "Largest request body")
      ->check(CLI::Range(std::size_t{1024}, std::size_t{4} << 30U))
      ->capture_default_str();
  serve
      ->add_option("--idle-timeout", idle_s,
                   "Seconds after which an idle connection is closed; keep it above "
                   "kube-scheduler's 90")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  serve->add_option("--shutdown-timeout", shutdown_s, "Seconds to answer what was asked on SIGTERM")
      ->check(CLI::Range(0, 3'600))
      ->capture_default_str();
  serve->add_option("--log-format", log_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  serve->add_option("-v,--verbosity", settings.verbosity, "0 warnings, 2 decisions, 4 debug")
      ->check(CLI::Range(0, 4))
      ->capture_default_str();
  serve->callback([&command, take_leader_election, take_cluster] {
    take_cluster();
    take_leader_election();
    if (settings.leader_elect && !settings.snapshot_files.empty()) {
      throw CLI::ValidationError("--leader-elect",
                                 "needs a cluster; with --snapshot there is none");
    }
    command = [] {
      settings.log_format =
          log_format == "json" ? offcut::api::LogFormat::kJson : offcut::api::LogFormat::kText;
      settings.idle_timeout = std::chrono::seconds(idle_s);
      settings.shutdown_timeout = std::chrono::seconds(shutdown_s);
      return offcut::api::Serve(settings, std::cout, std::cerr);
    };
  });
}

void AddExplain(CLI::App& app, Command& command) {
  static ExplainSettings settings;
  CLI::App* explain = app.add_subcommand("explain", "Say why a pod goes where it goes, or nowhere");
  CLI::App* pod = explain->add_subcommand("pod", "Explain one pod of a snapshot");
  explain->require_subcommand(1);
  pod->add_option("pod", settings.pod, "NAMESPACE/NAME")->required();
  pod->add_option("--snapshot", settings.snapshot_files, kSnapshotHelp)
      ->allow_extra_args(false)
      ->required();
  pod->add_option("--policy", settings.policy_file, kPolicyHelp);
  pod->add_option("-o,--output", settings.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  pod->add_option("--nodes-max", settings.limits.nodes_max, "Nodes in the table")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  pod->add_option("--pictures-max", settings.limits.pictures_max, "Nodes that are drawn")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  pod->callback([&command] {
    command = [] { return offcut::api::ExplainPod(settings, std::cout, std::cerr); };
  });
}

void AddGpus(CLI::App& app, Command& command) {
  static GpusSettings settings;
  CLI::App* gpus = app.add_subcommand("gpus", "Draw every GPU of a snapshot");
  gpus->add_option("--snapshot", settings.snapshot_files, kSnapshotHelp)
      ->allow_extra_args(false)
      ->required();
  gpus->add_option("--policy", settings.policy_file, kPolicyHelp);
  gpus->add_option("nodes", settings.nodes, "Nodes to draw; without any all of them");
  gpus->add_option("-o,--output", settings.output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  gpus->add_option("--columns", settings.style.columns, "Width of the picture")
      ->check(CLI::Range(offcut::api::kPictureColumnsMin, offcut::api::kPictureColumnsMax))
      ->capture_default_str();
  gpus->add_flag("--colour,--color", settings.style.colour, "ANSI colours");
  gpus->callback([&command] {
    command = [] { return offcut::api::ShowGpus(settings, std::cout, std::cerr); };
  });
}

void AddTenants(CLI::App& app, Command& command) {
  static TenantsSettings settings;
  CLI::App* tenants =
      app.add_subcommand("tenants", "Show what tenants use, borrow and lend, and why pods wait");
  tenants->add_option("tenant", settings.tenant, "Tenant to show; without it all of them");
  tenants->add_option("--snapshot", settings.snapshot_files, kSnapshotHelp)
      ->allow_extra_args(false)
      ->required();
  tenants->add_option("--policy", settings.policy_file, "Policy file that names the tenants");
  tenants->add_option("-o,--output", settings.output, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  tenants->callback([&command] {
    command = [] { return offcut::api::ShowTenants(settings, std::cout, std::cerr); };
  });
}

void AddKubeConfig(CLI::App& app, Command& command) {
  static KubeSchedulerSettings settings;
  CLI::App* config =
      app.add_subcommand("kube-config", "Print the configuration of a kube-scheduler that asks us");
  config->add_option("--policy", settings.policy_file, kPolicyHelp);
  config->add_option("--url-prefix", settings.url_prefix, "Where kube-scheduler finds the verbs")
      ->capture_default_str();
  config->add_option(
      "--ca-file", settings.ca_file,
      "https: PEM of who signed the server's certificate; paths are kube-scheduler's");
  config->add_option("--cert-file", settings.cert_file, "https: PEM of its client certificate");
  config->add_option("--key-file", settings.key_file, "https: PEM of its client key");
  config
      ->add_option("--scheduler-name", settings.scheduler_name, "What pods write as schedulerName")
      ->capture_default_str();
  config->add_option("--kubeconfig", settings.kubeconfig,
                     "How kube-scheduler reaches the cluster; without it by its service account");
  config
      ->add_flag("--leader-elect", settings.leader_elect, "Whether kube-schedulers elect a leader")
      ->default_str("true");
  config->add_option("--leader-elect-resource-name", settings.lease_name,
                     "Its Lease; without it kube-scheduler, or the name of another scheduler");
  config
      ->add_option("--leader-elect-resource-namespace", settings.lease_namespace,
                   "Namespace of the Lease")
      ->capture_default_str();
  config->callback([&command] {
    command = [] { return offcut::api::PrintKubeSchedulerConfig(settings, std::cout, std::cerr); };
  });
}

void AddPolicy(CLI::App& app, Command& command) {
  static ValidateSettings settings;
  static std::string output = "text";
  CLI::App* policy = app.add_subcommand("policy", "Work on policy files");
  policy->require_subcommand(1);
  CLI::App* validate = policy->add_subcommand("validate", "Report everything wrong with a policy");
  validate->add_option("files", settings.files, "Policy files; - is standard input")->required();
  validate
      ->add_option("--snapshot", settings.snapshot_files,
                   "The cluster that the policy is for, to compare guarantees and pools with. " +
                       std::string(kSnapshotHelp))
      ->allow_extra_args(false);
  validate->add_option("-o,--output", output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  validate->callback([&command] {
    command = [] {
      settings.report = output == "json" ? PolicyReport::kJson : PolicyReport::kText;
      return offcut::api::ValidatePolicies(settings, offcut::api::StrategyNames(), std::cin,
                                           std::cout, std::cerr);
    };
  });
  policy->add_subcommand("schema", "Print the JSON Schema of policies")->callback([&command] {
    command = [] { return offcut::api::PrintPolicySchema(std::cout); };
  });
}

// The options of `simulate --mig`; those that a replay has too are not among them.
void AddMigOptions(CLI::App& simulate, MigSimulationSettings& settings, CLI::Option* mig) {
  simulate.add_option("--model", settings.model, "GPU model with MIG")
      ->capture_default_str()
      ->needs(mig);
  simulate.add_option("--gpus", settings.gpus, "GPUs of the cluster")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str()
      ->needs(mig);
  simulate
      .add_option("--mix", settings.mixes,
                  "What pods ask for: uniform, skew-small, skew-big, bimodal, or "
                  "PROFILE=SHARE,...; may be given several times")
      ->capture_default_str()
      ->needs(mig);
  simulate.add_option("--arrivals", settings.arrivals, "Pods of each run")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str()
      ->needs(mig);
  simulate.add_option("--runs", settings.runs, "Runs, with seeds from --seed on")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str()
      ->needs(mig);
}

// The options of a replay in which pods leave again.
void AddChurnOptions(CLI::App& simulate, ChurnSettings& settings, CLI::Option* mig,
                     CLI::Option* load) {
  simulate
      .add_option("--lives", settings.lives,
                  "How long pods stay, with --load: trace, as long as there, where it says, else "
                  "exponential; exponential")
      ->check(CLI::IsMember({"trace", "exponential"}))
      ->capture_default_str()
      ->needs(load)
      ->excludes(mig);
  simulate
      .add_option("--warm-up", settings.warm_up, "Mean lives that are not counted, with --load")
      ->check(CLI::Range(0, 1'000))
      ->capture_default_str()
      ->needs(load)
      ->excludes(mig);
  simulate.add_option("--duration", settings.duration, "Mean lives after that, with --load")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str()
      ->needs(load)
      ->excludes(mig);
}

// The options of a replay.
void AddReplayOptions(CLI::App& simulate, SimulateSettings& settings, CLI::Option* mig) {
  simulate
      .add_option("--nodes", settings.files.nodes,
                  "Nodes: a CSV file of the openb trace, or what kubectl prints")
      ->excludes(mig);
  simulate.add_option("--pods", settings.files.pods, "Pods, likewise; it may be the same file")
      ->excludes(mig);
  simulate
      .add_option(
          "--order", settings.files.order,
          "Who arrives: a number a line, of the pods sorted by name, from 0; without it each "
          "pod once, by time of creation, and with --load pods by chance")
      ->excludes(mig);
  simulate
      .add_option("--ties", settings.ties,
                  "Of equal costs: strict, the fuller node, then by name; name; random")
      ->check(CLI::IsMember({"strict", "name", "random"}))
      ->capture_default_str()
      ->excludes(mig);
}

// CLI11 would take -1 for the largest number, and one that is too large likewise.
std::string CheckSeed(const std::string& text) {
  std::uint64_t seed = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), seed);
  const bool is_seed = code == std::errc() && end == text.data() + text.size();
  return is_seed ? std::string() : fmt::format("{} is no whole number from 0 to 2^64 - 1", text);
}

template <typename Names, typename NameOf>
std::string Joined(const Names& names, NameOf name_of) {
  std::string text;
  for (const auto& each : names)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name_of(each));
  return text;
}

std::string ReplayStrategies() {
  return Joined(offcut::binpack::Strategies(), [](const auto& strategy) { return strategy.name; });
}

std::string MigStrategies() {
  return Joined(offcut::binpack::MigStrategyNames(), [](std::string_view name) { return name; });
}

// Throws where the options make no replay.
void TakeReplay(const std::vector<std::string>& strategies, const std::vector<double>& loads,
                SimulateSettings& settings) {
  if (settings.files.nodes.empty() || settings.files.pods.empty()) {
    throw CLI::ValidationError("simulate", "needs --nodes and --pods, or --mig");
  }
  if (strategies.size() > 1) {
    throw CLI::ValidationError("--strategy", "is one, but for --mig");
  }
  if (loads.size() > 1) throw CLI::ValidationError("--load", "is one, but for --mig");
  if (!loads.empty()) settings.churn->load = loads.front();
  if (strategies.empty()) return;
  settings.strategy = strategies.front();
  if (offcut::binpack::FindStrategy(settings.strategy) != nullptr) return;
  throw CLI::ValidationError(
      "--strategy", fmt::format("{} is none of {}", settings.strategy, ReplayStrategies()));
}

void AddSimulate(CLI::App& app, Command& command) {
  static MigSimulationSettings mig;
  static SimulateSettings replay;
  static ChurnSettings churn;
  static std::vector<std::string> strategies;
  static std::vector<double> loads;
  static bool is_mig = false;
  static std::optional<std::uint64_t> seed;
  CLI::App* simulate = app.add_subcommand(
      "simulate", "Let pods arrive at a cluster, and show how well a strategy packs them");
  CLI::Option* mig_flag =
      simulate->add_flag("--mig", is_mig, "Pods that ask for one MIG instance each, under churn");
  AddReplayOptions(*simulate, replay, mig_flag);
  AddMigOptions(*simulate, mig, mig_flag);
  CLI::Option* load = simulate->add_option(
      "--load", loads,
      "Pods leave again: GPUs that they would hold if none was refused, of those there are; with "
      "--mig memory slices likewise, 1 by default, and it may be given several times");
  load->check(CLI::Range(0.001, 100.0));
  AddChurnOptions(*simulate, churn, mig_flag, load);
  simulate
      ->add_option("--strategy", strategies,
                   fmt::format("What a placement costs: {}. With --mig: {}; it may then be given "
                               "several times, and each is compared with the first",
                               ReplayStrategies(), MigStrategies()))
      ->default_str(fmt::format("{}, with --mig {}", replay.strategy, mig.strategies.front()));
  simulate->add_option("--seed", seed, "Of whatever is random")
      ->check(CheckSeed, "")
      ->default_str(fmt::format("{}, with --mig {}", replay.seed, mig.seed));
  simulate->add_option("-o,--output", mig.output, "table, json or csv")
      ->check(CLI::IsMember({"table", "json", "csv"}))
      ->capture_default_str();
  simulate->callback([&command] {
    if (std::ranges::any_of(loads, [](double each) { return std::isnan(each); })) {
      throw CLI::ValidationError("--load", "is no number");
    }
    if (is_mig) {
      if (!strategies.empty()) mig.strategies = strategies;
      if (!loads.empty()) mig.loads = loads;
      mig.seed = seed.value_or(mig.seed);
      command = [] { return offcut::api::SimulateMig(mig, std::cout, std::cerr); };
      return;
    }
    if (!loads.empty()) replay.churn = churn;
    TakeReplay(strategies, loads, replay);
    replay.seed = seed.value_or(replay.seed);
    replay.output = mig.output;
    command = [] { return offcut::api::Simulate(replay, std::cout, std::cerr); };
  });
}

void AddVersion(CLI::App& app, Command& command) {
  app.add_subcommand("version", "Print the version")->callback([&command] {
    command = [] {
      std::cout << "offcut " << OFFCUT_VERSION << "\n";
      return EXIT_SUCCESS;
    };
  });
}

// An empty value is an unset variable in somebody's script, and would silently be the default.
void RefuseEmptyValues(CLI::App& app) {
  const auto check = [](const std::string& value) {
    return value.empty() ? std::string("is given without a value") : std::string();
  };
  for (CLI::Option* option : app.get_options(
           [](const CLI::Option* each) { return each->get_items_expected_max() > 0; })) {
    option->check(check, "");
  }
  for (CLI::App* command : app.get_subcommands({})) RefuseEmptyValues(*command);
}

constexpr int kUsageError = 2;  // as getopt's users and Go's flag package have it

// CLI11 looks for what is missing before it looks at what it does not know, and would answer
// `offcut explian` with "A subcommand is required".
int ReportUsage(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == EXIT_SUCCESS) return app.exit(error);  // --help, --version
  const std::vector<std::string> unknown = app.remaining(true);
  std::string text = error.what();
  if (!unknown.empty()) {
    const bool is_option = unknown.front().starts_with('-');
    text =
        fmt::format("unknown {} {}", is_option ? "option" : "command or argument", unknown.front());
  }
  fmt::print(stderr, "offcut: {}\nRun with --help for what there is.\n",
             offcut::api::PrintableLines(text));
  return kUsageError;
}

int Run(int argc, char** argv) {
  CLI::App app("Offcut: a kube-scheduler extender for shared GPU clusters", "offcut");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("offcut ") + OFFCUT_VERSION);
  Command command;
  AddServe(app, command);
  AddExplain(app, command);
  AddGpus(app, command);
  AddTenants(app, command);
  AddKubeConfig(app, command);
  AddPolicy(app, command);
  AddSimulate(app, command);
  AddVersion(app, command);
  RefuseEmptyValues(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return ReportUsage(app, error);
  }
  const int code = command();
  std::cout.flush();
  // What a server prints is news of its start; it has ended well whoever reads them no more.
  if (std::cout || app.got_subcommand("serve")) return code;
  fmt::print(stderr, "offcut: the output could not be written\n");
  return EXIT_FAILURE;
}

}  // namespace

// Our code throws nothing, but a library may: memory that is not to be had, a stream that is gone.
int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::exception& exception) {
    std::fputs("offcut: ", stderr);
    std::fputs(exception.what(), stderr);
    std::fputs("\n", stderr);
    return EXIT_FAILURE;
  }
}
