// `offcut serve`: the composition root of the server, less the command line.
#pragma once

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "api/logging.h"
#include "api/tls_files.h"

namespace offcut::api {

// Plain HTTP stays on this machine; with TLS others may ask.
inline constexpr const char* kPlainBindAddress = "127.0.0.1:8080";
inline constexpr const char* kTlsBindAddress = "0.0.0.0:8443";

struct ServeSettings {
  // Where the state comes from: files, or else a cluster: of the kubeconfig, or else the one that
  // we run in.
  std::vector<std::string> snapshot_files;
  std::string kubeconfig;
  std::string kube_context;  // empty: the kubeconfig's current one
  double kube_qps = 50;
  double kube_burst = 100;
  std::chrono::milliseconds bind_timeout{4'000};
  // A Lease, where there are several replicas. Then either only the leader answers, and labels its
  // pod for the Service, or whoever is asked does (sidecars).
  bool leader_elect = false;
  bool only_leader_answers = false;  // needs leader_elect and pod_name
  std::string lease_namespace;  // empty: pod_namespace, or the one of the kubeconfig or account
  std::string lease_name = "offcut";
  std::chrono::seconds lease_duration{15};
  std::chrono::seconds renew_deadline{10};
  std::chrono::seconds retry_period{2};
  std::string pod_name;
  std::string pod_namespace;
  std::string policy_file;   // empty: the defaults
  std::string bind_address;  // empty: kPlainBindAddress, or with certificates kTlsBindAddress
  ServerTlsFiles tls;        // of the extender's listener
  std::string health_bind_address = "127.0.0.1:8081";
  std::string metrics_bind_address = "127.0.0.1:8082";
  std::size_t body_bytes_max = std::size_t{256} * 1024 * 1024;
  std::chrono::seconds idle_timeout{120};
  std::chrono::seconds shutdown_timeout{20};
  LogFormat log_format = LogFormat::kText;
  int verbosity = 2;  // as BackgroundLog has it
};

// Serves until SIGTERM or SIGINT, then drains: /readyz fails, no new connection is taken, and what
// was asked is answered, for at most the shutdown timeout. Prints on `out`, once each is true:
// `listening extender|health|metrics ADDRESS:PORT`, then `ready`.
// Returns the exit code: 0 after a clean end, 1 for a failure (told on `err`).
int Serve(const ServeSettings& settings, std::ostream& out, std::ostream& err);

}  // namespace offcut::api
