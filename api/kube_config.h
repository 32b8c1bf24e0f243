// How to reach an API server and as whom: read from a kubeconfig, or from what a pod is given.
// A value; the functions read files and nothing else, and may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "api/error.h"

namespace offcut::api {

inline constexpr std::size_t kKubeconfigBytesMax = std::size_t{4} * 1024 * 1024;
// Of a token, a certificate, a key, or a bundle of authorities.
inline constexpr std::size_t kCredentialBytesMax = std::size_t{1} * 1024 * 1024;

// PEM, given at once or by the name of a file that may change while we run. Both empty: none.
struct PemSource {
  std::string pem;   // wins over `file`
  std::string file;  // absolute, or relative to the working folder
  bool IsEmpty() const { return pem.empty() && file.empty(); }
  bool operator==(const PemSource&) const = default;
};

struct KubeConfig {
  bool tls = true;         // false: plain HTTP, for tests and `kubectl proxy`
  std::string host;        // a name or an IP address, without brackets
  std::uint16_t port = 0;  // never 0 in what the functions here return
  std::string base_path;   // goes before each path: "/k8s/clusters/c-1"; empty, or no final slash

  PemSource authorities;        // empty: those that the system trusts
  std::string tls_server_name;  // what the certificate must be for; empty: `host`
  bool insecure_skip_tls_verify = false;

  PemSource client_certificate;  // both or none
  PemSource client_key;
  std::string token;       // bearer; empty: none
  std::string token_file;  // wins over `token` as long as it can be read

  std::string name_space = "default";

  bool operator==(const KubeConfig&) const = default;
};

// "10.0.0.1:6443", "[::1]:6443": as a Host field has it.
std::string HostAndPort(const KubeConfig& config);

// Sets the members that a URL says: scheme, host, port (by default the scheme's), base path.
// Error: anything but http(s)://host[:port][/path].
std::expected<KubeConfig, Error> ParseServerUrl(std::string_view url);

// The cluster and the user of a context; an empty one is the file's current-context. As kubectl
// does: relative paths start at the kubeconfig's folder, inline data wins over files, and fields
// that are not known are ignored. What we would have to obey and cannot (exec and auth-provider
// plugins, passwords, impersonation, proxies) is an error.
// Errors name the file and the context, cluster or user: kNotFound, kBadRequest, kTooLarge.
std::expected<KubeConfig, Error> ReadKubeconfig(const std::string& path,
                                                const std::string& context);

// What a pod's service account is given: `folder` has `token`, `ca.crt` and, perhaps, `namespace`;
// host and port are KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT.
// Errors: kUnavailable (not in a pod), kNotFound (a file is missing), kBadRequest.
inline constexpr std::string_view kServiceAccountFolder =
    "/var/run/secrets/kubernetes.io/serviceaccount";
std::expected<KubeConfig, Error> InClusterConfig(const std::string& folder, std::string_view host,
                                                 std::string_view port);

// The whole file. Errors name it: kNotFound (cannot be read), kTooLarge.
std::expected<std::string, Error> ReadWholeFile(const std::string& path, std::size_t bytes_max);

}  // namespace offcut::api
