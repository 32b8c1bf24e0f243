#include "api/kube_scheduler_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <ostream>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include "api/printable.h"
#include "api/state_files.h"
#include "binpack/gpu_model.h"

namespace offcut::api {
namespace {

constexpr std::string_view kDefaultScheduler = "default-scheduler";
constexpr std::string_view kPlainScheme = "http://";
constexpr std::string_view kTlsScheme = "https://";
constexpr std::size_t kNameLengthMax = 253;  // of a Kubernetes object

constexpr std::string_view kHead =
    R"(# The configuration of a kube-scheduler that asks Offcut, as `offcut kube-config` prints it.
# Kubernetes 1.34 or newer.
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
)";

// `{}` is the scheduler's name.
constexpr const char* kProfiles =
    R"(# All nodes: with scarce devices a sample may miss the only node that fits, and the scheduler does
# not look further.
percentageOfNodesToScore: 100
profiles:
  - schedulerName: {}
    pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy:
            type: MostAllocated
            resources:
              - {{name: cpu, weight: 1}}
              - {{name: memory, weight: 1}}
)";

// `{}` is the prefix, then the fields of TLS.
constexpr const char* kExtender =
    R"(extenders:
  - urlPrefix: {}
{}    filterVerb: filter
    prioritizeVerb: prioritize
    preemptVerb: preempt
    bindVerb: bind
    # Ten points of ours count 10 x weight x 10 = 1,500; the default scorers together at most 1,400.
    weight: 15
    httpTimeout: 5s
    # Names instead of whole Node objects: far smaller bodies, and scores that see busy nodes as busy.
    nodeCacheCapable: true
    # A pod whose devices nobody checked must not run, so no answer is better than none.
    ignorable: false
    # Every resource name that a pod may ask for, each MIG profile too: there are no wildcards, and a
    # pod that asks for none of these names bypasses Offcut. What the device plugin advertises is
    # counted by kube-scheduler as well; ignoredByScheduler says what is ours alone.
    managedResources:
)";

std::unexpected<Error> Bad(std::string message) {
  return std::unexpected(Error{ErrorKind::kBadRequest, std::move(message)});
}

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// A plain scalar where YAML cannot take it for anything else, otherwise a quoted one.
std::string YamlText(const std::string& text) {
  constexpr std::array<std::string_view, 8> words = {"true", "false", "null", "yes",
                                                     "no",   "on",    "off",  "y"};
  const bool is_plain =
      !text.empty() && (text.front() == '/' || (text.front() >= 'a' && text.front() <= 'z')) &&
      text.size() > 1 && IsAlphanumeric(text.back()) &&
      std::ranges::all_of(text,
                          [](char c) {
                            return IsAlphanumeric(c) ||
                                   std::string_view("/.:-_").find(c) != std::string_view::npos;
                          }) &&
      std::ranges::find(words, text) == words.end();
  return is_plain ? text : nlohmann::json(text).dump();
}

// DNS subdomain, as names of objects and schedulers are.
bool IsObjectName(std::string_view name) {
  const auto is_lower = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= kNameLengthMax && is_lower(name.front()) &&
         is_lower(name.back()) &&
         std::ranges::all_of(name, [&](char c) { return is_lower(c) || c == '-' || c == '.'; });
}

// Whether "HOST[:PORT][/PATH]" has a port from 1 to 65535, or none.
bool HasGoodPort(std::string_view rest) {
  const std::string_view authority = rest.substr(0, rest.find('/'));
  const std::size_t host_end = authority.starts_with('[') ? authority.find(']') : 0;
  if (host_end == std::string_view::npos) return false;
  const std::size_t colon = authority.find(':', host_end);
  if (colon == std::string_view::npos) return true;
  const std::string_view text = authority.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
  return failure == std::errc() && end == text.data() + text.size() && port > 0;
}

bool IsTls(const KubeSchedulerSettings& settings) {
  return settings.url_prefix.starts_with(kTlsScheme);
}

std::expected<void, Error> CheckUrl(const KubeSchedulerSettings& settings) {
  const std::string_view url = settings.url_prefix;
  const bool is_tls = IsTls(settings);
  if (!is_tls && !url.starts_with(kPlainScheme)) {
    return Bad(fmt::format("--url-prefix: '{}' begins with neither http:// nor https://", url));
  }
  const std::string_view rest = url.substr((is_tls ? kTlsScheme : kPlainScheme).size());
  const bool has_odd = std::ranges::any_of(rest, [](char c) {
    return c <= ' ' || c > '~' || std::string_view("?#@\"'").find(c) != std::string_view::npos;
  });
  if (rest.empty() || rest.starts_with('/') || rest.starts_with(':') || has_odd) {
    return Bad(fmt::format("--url-prefix: '{}' is not SCHEME://HOST:PORT/PATH", url));
  }
  if (!HasGoodPort(rest)) {
    return Bad(fmt::format("--url-prefix: '{}' has a port that is not from 1 to 65535", url));
  }
  return {};
}

std::expected<void, Error> CheckTls(const KubeSchedulerSettings& settings) {
  const bool has_files =
      !settings.ca_file.empty() || !settings.cert_file.empty() || !settings.key_file.empty();
  if (!IsTls(settings)) {
    if (!has_files) return {};
    return Bad("--ca-file, --cert-file and --key-file need an https:// --url-prefix");
  }
  // Without it kube-scheduler would believe whoever answers.
  if (settings.ca_file.empty()) return Bad("--ca-file: an https:// --url-prefix needs it");
  if (settings.cert_file.empty() != settings.key_file.empty()) {
    return Bad("--cert-file and --key-file need each other");
  }
  return {};
}

std::expected<void, Error> CheckNames(const KubeSchedulerSettings& settings) {
  const std::array<std::pair<std::string_view, std::string_view>, 3> names = {{
      {"--scheduler-name", settings.scheduler_name},
      {"--leader-elect-resource-name",
       settings.lease_name.empty() ? "unset" : std::string_view(settings.lease_name)},
      {"--leader-elect-resource-namespace", settings.lease_namespace},
  }};
  for (const auto& [flag, name] : names) {
    if (!IsObjectName(name)) return Bad(fmt::format("{}: '{}' is no name", flag, name));
  }
  return {};
}

std::string LeaseName(const KubeSchedulerSettings& settings) {
  if (!settings.lease_name.empty()) return settings.lease_name;
  return settings.scheduler_name == kDefaultScheduler ? "kube-scheduler" : settings.scheduler_name;
}

std::string TlsFields(const KubeSchedulerSettings& settings) {
  if (!IsTls(settings)) return {};
  std::string text = fmt::format("    enableHTTPS: true\n    tlsConfig:\n      caFile: {}\n",
                                 YamlText(settings.ca_file));
  if (settings.cert_file.empty()) return text;
  return text + fmt::format("      certFile: {}\n      keyFile: {}\n", YamlText(settings.cert_file),
                            YamlText(settings.key_file));
}

// Each MIG profile of each model once, the small ones first.
std::vector<std::string> MigProfileNames() {
  std::set<std::tuple<int, std::size_t, std::string>> profiles;  // "1g.5gb" before "1g.10gb"
  const auto add = [&](int slices, const std::string& name) {
    profiles.emplace(slices, name.find("gb"), name);
  };
  for (const binpack::GpuModel& model : binpack::BuiltInModels()) {
    for (const binpack::MigProfile& profile : model.profiles) {
      add(profile.compute_slices, profile.name);
    }
    for (const auto& [alias, name] : model.profile_aliases) {
      const std::optional<int> index = model.FindProfile(name);
      if (index) add(model.profiles[static_cast<std::size_t>(*index)].compute_slices, alias);
    }
  }
  std::vector<std::string> names;
  names.reserve(profiles.size());
  for (const auto& [slices, digits, name] : profiles) names.push_back(name);
  return names;
}

}  // namespace

std::vector<ManagedResource> ManagedResources(const scheduler::ResourceNames& names) {
  std::vector<std::string> all = {names.gpu, names.gpu + names.shared_suffix};
  for (std::string profile : MigProfileNames()) {
    std::ranges::replace(profile, '+', '.');  // as the device plugin writes it
    all.push_back(names.mig_prefix + profile);
    all.push_back(names.mig_prefix + profile + names.shared_suffix);
  }
  all.insert(all.end(), {names.gpu_memory, names.gpu_memory_percent, names.gpu_cores});
  const std::vector<std::string>& ignored = names.ignored_by_scheduler;
  all.insert(all.end(), ignored.begin(), ignored.end());  // most stand there already
  std::vector<ManagedResource> resources;
  std::set<std::string> seen;
  for (std::string& name : all) {
    if (!seen.insert(name).second) continue;
    const bool is_ignored = std::ranges::find(ignored, name) != ignored.end();
    resources.push_back({.name = std::move(name), .ignored_by_scheduler = is_ignored});
  }
  return resources;
}

std::expected<std::string, Error> KubeSchedulerConfig(const KubeSchedulerSettings& settings,
                                                      const scheduler::Policy& policy) {
  for (const auto check : {CheckUrl, CheckTls, CheckNames}) {
    if (const auto checked = check(settings); !checked) return std::unexpected(checked.error());
  }
  std::string text(kHead);
  auto at = std::back_inserter(text);
  if (!settings.kubeconfig.empty()) {
    fmt::format_to(at, "clientConnection:\n  kubeconfig: {}\n", YamlText(settings.kubeconfig));
  }
  fmt::format_to(at, "leaderElection:\n  leaderElect: {}\n", settings.leader_elect);
  if (settings.leader_elect) {
    fmt::format_to(at, "  resourceName: {}\n  resourceNamespace: {}\n",
                   YamlText(LeaseName(settings)), YamlText(settings.lease_namespace));
  }
  fmt::format_to(at, kProfiles, YamlText(settings.scheduler_name));
  fmt::format_to(at, kExtender, YamlText(settings.url_prefix), TlsFields(settings));
  for (const auto& [name, is_ignored] : ManagedResources(policy.resources)) {
    fmt::format_to(at, "      - {{name: {}{}}}\n", name,
                   is_ignored ? ", ignoredByScheduler: true" : "");
  }
  return text;
}

int PrintKubeSchedulerConfig(const KubeSchedulerSettings& settings, std::ostream& out,
                             std::ostream& err) {
  std::expected<std::string, Error> text;
  if (const auto policy = LoadPolicy(settings.policy_file); policy) {
    text = KubeSchedulerConfig(settings, *policy);
  } else {
    text = std::unexpected(policy.error());
  }
  if (!text) {
    fmt::print(err, "offcut: {}\n", PrintableLines(text.error().message));
    return 1;
  }
  out << *text;
  return 0;
}

}  // namespace offcut::api
