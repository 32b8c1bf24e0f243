// `offcut kube-config`: the KubeSchedulerConfiguration that registers Offcut, as YAML. What would
// defeat Offcut cannot be said: an extender that may be ignored, a managed name that is missing, a
// sample of the nodes, a server that nobody checks.
// Pure, but for PrintKubeSchedulerConfig(), which reads the policy's file.
#pragma once

#include <expected>
#include <iosfwd>
#include <string>
#include <vector>

#include "api/error.h"
#include "scheduler/policy.h"

namespace offcut::api {

struct KubeSchedulerSettings {
  std::string policy_file;  // empty: the defaults
  std::string url_prefix = "http://127.0.0.1:8080/v1";
  // Of an https prefix: who may have signed our certificate (required), and what kube-scheduler
  // shows us under mutual TLS. Paths as kube-scheduler sees them.
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  std::string scheduler_name = "default-scheduler";
  std::string kubeconfig;  // as kube-scheduler sees it; empty: the pod's service account
  bool leader_elect = true;
  // Of kube-scheduler's Lease. Empty: the scheduler's name, but for the default one kube-scheduler,
  // since two that share a Lease take turns and the other's pods wait for ever.
  std::string lease_name;
  std::string lease_namespace = "kube-system";
};

struct ManagedResource {
  std::string name;
  bool ignored_by_scheduler = false;
  bool operator==(const ManagedResource&) const = default;
};

// Every name that a pod may ask us for: the policy's, and each MIG profile of each model, shared
// and not. A pod that asks for none of them bypasses us. No name comes twice.
std::vector<ManagedResource> ManagedResources(const scheduler::ResourceNames& names);

// The whole file. Errors: kBadRequest, by the flag of the setting that is wrong.
std::expected<std::string, Error> KubeSchedulerConfig(const KubeSchedulerSettings& settings,
                                                      const scheduler::Policy& policy);

// Prints it on `out`. Returns the exit code: 0, or 1 for an error (told on `err`).
int PrintKubeSchedulerConfig(const KubeSchedulerSettings& settings, std::ostream& out,
                             std::ostream& err);

}  // namespace offcut::api
