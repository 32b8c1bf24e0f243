#include "api/kube_config.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/text_fields.h"
#include "api/yaml_json.h"

namespace offcut::api {
namespace {

using Json = nlohmann::json;

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

std::unexpected<Error> Bad(std::string message) {
  return std::unexpected(Error{ErrorKind::kBadRequest, std::move(message)});
}

std::optional<std::uint16_t> ParsePort(std::string_view text) {
  const std::optional<int> port = ParseField(text, UINT16_MAX);
  if (!port || *port == 0) return std::nullopt;
  return static_cast<std::uint16_t>(*port);
}

bool IsHostCharacter(char c) {
  constexpr std::string_view others = ".-_:%";  // ':' and '%' of IPv6 addresses and their zones
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         others.find(c) != std::string_view::npos;
}

bool IsPathCharacter(char c) { return c > ' ' && c < '\x7f' && c != '?' && c != '#'; }

// "host", "host:port", "[::1]:port" into `config`.
bool SetHostAndPort(std::string_view text, KubeConfig& config) {
  std::string_view host = text;
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    has_port = port.starts_with(':');
    if (!port.empty() && !has_port) return false;
  } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon);
    has_port = true;
  }
  if (host.empty() || !std::ranges::all_of(host, IsHostCharacter)) return false;
  config.host = host;
  if (!has_port) return true;
  const std::optional<std::uint16_t> number = ParsePort(port.substr(1));
  config.port = number.value_or(0);
  return number.has_value();
}

// The value of a base64 digit of RFC 4648, or -1.
int Base64Value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

// Strict but for line ends, which a folded YAML text may bring.
std::optional<std::string> DecodeBase64(std::string_view text) {
  std::string digits(text);
  std::erase_if(digits, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
  if (digits.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && digits.ends_with('='); ++i) digits.pop_back();
  std::string bytes;
  unsigned int bits = 0;
  int bit_count = 0;
  for (const char digit : digits) {
    const int value = Base64Value(digit);
    if (value < 0) return std::nullopt;
    bits = (bits << 6U | static_cast<unsigned int>(value)) & 0xFFFFU;
    bit_count += 6;
    if (bit_count < 8) continue;
    bit_count -= 8;
    bytes += static_cast<char>(bits >> static_cast<unsigned int>(bit_count) & 0xFFU);
  }
  return bytes;
}

// One named entry of a kubeconfig's list: its place for messages, and what stands in it. Errors
// stick: the first one is kept and further members read as empty.
class Section {
 public:
  // `label` is like `cluster "prod"`.
  Section(std::string label, const Json& members, std::filesystem::path folder)
      : label_(std::move(label)), members_(members), folder_(std::move(folder)) {}

  const std::optional<Error>& Failure() const { return failure_; }

  bool Has(const char* key) const { return Find(key) != nullptr; }

  std::string String(const char* key) {
    const Json* value = Find(key);
    if (value == nullptr) return {};
    if (!value->is_string()) {
      Fail(fmt::format("{} must be a string", key));
      return {};
    }
    return value->get<std::string>();
  }

  bool Bool(const char* key) {
    const Json* value = Find(key);
    if (value == nullptr) return false;
    if (!value->is_boolean()) Fail(fmt::format("{} must be true or false", key));
    return value->is_boolean() && value->get<bool>();
  }

  std::string File(const char* key) {
    const std::string path = String(key);
    return path.empty() ? path : (folder_ / path).lexically_normal().string();
  }

  PemSource Pem(const char* data_key, const char* file_key) {
    const std::string encoded = String(data_key);
    if (encoded.empty()) return {.pem = {}, .file = File(file_key)};
    std::optional<std::string> pem = DecodeBase64(encoded);
    if (!pem) Fail(fmt::format("{} is not base64", data_key));
    return {.pem = std::move(pem).value_or(""), .file = {}};
  }

  void Fail(const std::string& problem) {
    if (!failure_) failure_ = Error{ErrorKind::kBadRequest, label_ + ": " + problem};
  }

 private:
  // Null and the empty string are absent.
  const Json* Find(const char* key) const {
    const auto found = members_.find(key);
    if (found == members_.end() || found->is_null() || *found == "") return nullptr;
    return &*found;
  }

  std::string label_;
  const Json& members_;
  std::filesystem::path folder_;
  std::optional<Error> failure_;
};

// The object `member` of the entry called `name` in the list `list` of `root`.
std::expected<Json, Error> FindEntry(const Json& root, const char* list, const char* member,
                                     const std::string& name) {
  const auto entries = root.find(list);
  if (entries != root.end() && entries->is_array()) {
    for (const Json& entry : *entries) {
      if (!entry.is_object() || !entry.contains("name") || entry["name"] != name) continue;
      if (!entry.contains(member) || entry[member].is_null()) return Json::object();
      if (!entry[member].is_object()) {
        return Bad(fmt::format("{} \"{}\" must be an object", member, name));
      }
      return entry[member];
    }
  }
  return std::unexpected(
      Error{ErrorKind::kNotFound, fmt::format("there is no {} \"{}\"", member, name)});
}

// Sets what the cluster says. Requires: `cluster` belongs to the context in use.
std::expected<KubeConfig, Error> ReadCluster(Section cluster) {
  const std::string server = cluster.String("server");
  if (server.empty()) cluster.Fail("server is missing");
  if (cluster.Has("proxy-url")) cluster.Fail("proxy-url is not supported");
  std::expected<KubeConfig, Error> url = ParseServerUrl(server);
  if (!url) cluster.Fail(url.error().message);
  KubeConfig config = std::move(url).value_or(KubeConfig{});
  config.authorities = cluster.Pem("certificate-authority-data", "certificate-authority");
  config.tls_server_name = cluster.String("tls-server-name");
  config.insecure_skip_tls_verify = cluster.Bool("insecure-skip-tls-verify");
  if (config.insecure_skip_tls_verify && !config.authorities.IsEmpty()) {
    cluster.Fail("insecure-skip-tls-verify and a certificate authority exclude each other");
  }
  if (cluster.Failure()) return std::unexpected(*cluster.Failure());
  return config;
}

void RefuseWhatWeCannotObey(Section& user) {
  if (user.Has("exec")) user.Fail("exec plugins are not supported; use a token or a certificate");
  if (user.Has("auth-provider")) {
    user.Fail("auth-provider plugins are not supported; use a token or a certificate");
  }
  if (user.Has("username") || user.Has("password")) user.Fail("passwords are not supported");
  constexpr std::array<const char*, 4> impersonation = {"as", "as-uid", "as-groups",
                                                        "as-user-extra"};
  for (const char* key : impersonation) {
    if (user.Has(key)) user.Fail(fmt::format("impersonation ({}) is not supported", key));
  }
}

std::expected<void, Error> ReadUser(Section user, KubeConfig& config) {
  RefuseWhatWeCannotObey(user);
  config.client_certificate = user.Pem("client-certificate-data", "client-certificate");
  config.client_key = user.Pem("client-key-data", "client-key");
  config.token = WithoutBlanks(user.String("token"));
  config.token_file = user.File("tokenFile");
  if (config.client_certificate.IsEmpty() != config.client_key.IsEmpty()) {
    user.Fail("a client certificate needs its key, and a key its certificate");
  }
  if (user.Failure()) return std::unexpected(*user.Failure());
  return {};
}

std::expected<Json, Error> ParseKubeconfig(const std::string& text) {
  const auto documents = YamlToJson(text);
  if (!documents) return std::unexpected(documents.error());
  if (documents->size() != 1) return Bad("one document is expected");
  Json root = Json::parse(documents->front(), nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) return Bad("an object is expected");
  return root;
}

std::expected<KubeConfig, Error> ReadContext(const Json& root, std::string name,
                                             const std::filesystem::path& folder) {
  if (name.empty()) {
    name = Section("the file", root, folder).String("current-context");
    if (name.empty()) return Bad("no context was named and current-context is not set");
  }
  const auto context_json = FindEntry(root, "contexts", "context", name);
  if (!context_json) return std::unexpected(context_json.error());
  Section context(fmt::format("context \"{}\"", name), *context_json, folder);
  const std::string cluster_name = context.String("cluster");
  const std::string user_name = context.String("user");
  const std::string name_space = context.String("namespace");
  if (cluster_name.empty()) context.Fail("cluster is missing");
  if (context.Failure()) return std::unexpected(*context.Failure());

  const auto cluster = FindEntry(root, "clusters", "cluster", cluster_name);
  if (!cluster) {
    return std::unexpected(Error{cluster.error().kind,
                                 fmt::format("context \"{}\": {}", name, cluster.error().message)});
  }
  auto config = ReadCluster(Section(fmt::format("cluster \"{}\"", cluster_name), *cluster, folder));
  if (!config) return config;
  if (!name_space.empty()) config->name_space = name_space;
  if (user_name.empty()) return config;  // anonymous, as kubectl has it

  const auto user = FindEntry(root, "users", "user", user_name);
  if (!user) {
    return std::unexpected(
        Error{user.error().kind, fmt::format("context \"{}\": {}", name, user.error().message)});
  }
  const auto read =
      ReadUser(Section(fmt::format("user \"{}\"", user_name), *user, folder), *config);
  if (!read) return std::unexpected(read.error());
  return config;
}

}  // namespace

std::string HostAndPort(const KubeConfig& config) {
  const bool is_ipv6 = config.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_ipv6 ? "[" : "", config.host, is_ipv6 ? "]" : "", config.port);
}

std::expected<KubeConfig, Error> ParseServerUrl(std::string_view url) {
  const auto wrong = [url](std::string_view problem) {
    return Bad(fmt::format("the server URL \"{}\" {}", url, problem));
  };
  KubeConfig config;
  std::string_view rest = url;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(std::string_view("https://").size());
  } else if (rest.starts_with("http://")) {
    config.tls = false;
    rest.remove_prefix(std::string_view("http://").size());
  } else {
    return wrong("must begin with https:// or http://");
  }
  config.port = config.tls ? kHttpsPort : kHttpPort;
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view path = rest.substr(slash);
  while (path.ends_with('/')) path.remove_suffix(1);
  if (!SetHostAndPort(rest.substr(0, slash), config)) return wrong("has no valid host and port");
  if (!std::ranges::all_of(path, IsPathCharacter)) return wrong("must have nothing but a path");
  config.base_path = path;
  return config;
}

std::expected<std::string, Error> ReadWholeFile(const std::string& path, std::size_t bytes_max) {
  // Opening a pipe would wait for whoever writes into it.
  std::error_code ignored;
  if (std::filesystem::is_fifo(path, ignored) || std::filesystem::is_socket(path, ignored)) {
    return std::unexpected(
        Error{ErrorKind::kBadRequest, fmt::format("cannot read {}: is no file", path)});
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 4096> part;
  while (file && text.size() <= bytes_max) {
    file.read(part.data(), part.size());
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (text.size() > bytes_max) {
    return std::unexpected(
        Error{ErrorKind::kTooLarge, fmt::format("{} exceeds {} bytes", path, bytes_max)});
  }
  if (!file.eof()) {  // it was never open, or is a folder
    const int error = errno;
    return std::unexpected(Error{
        ErrorKind::kNotFound,
        fmt::format("cannot read {}: {}", path, error == 0 ? "unreadable" : std::strerror(error))});
  }
  return text;
}

std::expected<KubeConfig, Error> ReadKubeconfig(const std::string& path,
                                                const std::string& context) {
  const auto text = ReadWholeFile(path, kKubeconfigBytesMax);
  if (!text) return std::unexpected(text.error());
  const auto in_file = [&path](const Error& error) {
    return std::unexpected(
        Error{error.kind, fmt::format("kubeconfig {}: {}", path, error.message)});
  };
  const auto root = ParseKubeconfig(*text);
  if (!root) return in_file(root.error());
  auto config = ReadContext(*root, context, std::filesystem::path(path).parent_path());
  if (!config) return in_file(config.error());
  return config;
}

std::expected<KubeConfig, Error> InClusterConfig(const std::string& folder, std::string_view host,
                                                 std::string_view port) {
  if (host.empty() || port.empty()) {
    return std::unexpected(Error{ErrorKind::kUnavailable,
                                 "not in a pod: KUBERNETES_SERVICE_HOST and "
                                 "KUBERNETES_SERVICE_PORT are not set"});
  }
  const bool is_bare_ipv6 = host.find(':') != std::string_view::npos && !host.starts_with('[');
  auto config = ParseServerUrl(is_bare_ipv6 ? fmt::format("https://[{}]:{}", host, port)
                                            : fmt::format("https://{}:{}", host, port));
  if (!config) return config;
  config->token_file = folder + "/token";
  config->authorities.file = folder + "/ca.crt";
  for (const std::string& file : {config->token_file, config->authorities.file}) {
    const auto text = ReadWholeFile(file, kCredentialBytesMax);
    if (!text) return std::unexpected(text.error());
  }
  const auto name_space = ReadWholeFile(folder + "/namespace", kCredentialBytesMax);
  if (name_space && !WithoutBlanks(*name_space).empty()) {
    config->name_space = WithoutBlanks(*name_space);
  }
  return config;
}

}  // namespace offcut::api
