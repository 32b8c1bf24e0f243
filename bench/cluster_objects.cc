#include "bench/cluster_objects.h"

#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "api/yaml_json.h"

namespace offcut::bench {
namespace {

using api::Error;
using api::ErrorKind;
using nlohmann::json;

std::expected<void, Error> AddObject(json object, const std::string& source,
                                     ClusterObjects& objects) {
  const std::string kind = StringAt(object, {"kind"});
  if (kind.ends_with("List") && MemberAt(object, {"items"}).is_array()) {
    // Items of a NodeList or PodList do not name their kind.
    const std::string item_kind = kind.substr(0, kind.size() - std::string_view("List").size());
    for (json& item : object["items"]) {
      if (item.is_object() && !item.contains("kind")) item["kind"] = item_kind;
      auto added = AddObject(std::move(item), source, objects);
      if (!added) return added;
    }
    return {};
  }
  if (kind != "Node" && kind != "Pod") return {};
  if (StringAt(object, {"metadata", "name"}).empty()) {
    return std::unexpected(
        Error{ErrorKind::kBadRequest, fmt::format("{}: a {} has no metadata.name", source, kind)});
  }
  std::vector<json>& list = kind == "Node" ? objects.nodes : objects.pods;
  if (list.size() >= kObjectsMax) {
    return std::unexpected(
        Error{ErrorKind::kTooLarge, fmt::format("{}: more than {} objects", source, kObjectsMax)});
  }
  list.push_back(std::move(object));
  return {};
}

bool LooksLikeJson(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

std::expected<std::vector<json>, Error> ParseDocuments(std::string_view text,
                                                       const std::string& source) {
  std::vector<json> documents;
  if (LooksLikeJson(text)) {
    documents.push_back(json::parse(text, nullptr, false));
  } else {
    const auto yaml = api::YamlToJson(text);
    if (!yaml) {
      return std::unexpected(
          Error{yaml.error().kind, fmt::format("{}: {}", source, yaml.error().message)});
    }
    documents.reserve(yaml->size());
    for (const std::string& document : *yaml) {
      documents.push_back(json::parse(document, nullptr, false));
    }
  }
  for (const json& document : documents) {
    if (document.is_discarded()) {
      return std::unexpected(
          Error{ErrorKind::kBadRequest, fmt::format("{}: is not sound JSON", source)});
    }
  }
  return documents;
}

std::expected<std::string, Error> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    return std::unexpected(Error{ErrorKind::kNotFound, fmt::format("{}: cannot be read", path)});
  }
  if (static_cast<std::size_t>(file.tellg()) > kObjectsFileBytesMax) {
    return std::unexpected(Error{
        ErrorKind::kTooLarge, fmt::format("{}: more than {} bytes", path, kObjectsFileBytesMax)});
  }
  file.seekg(0);
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

const json& MemberAt(const json& object, std::initializer_list<std::string_view> path) {
  static const json null_value;
  const json* at = &object;
  for (const std::string_view key : path) {
    if (!at->is_object()) return null_value;
    const auto found = at->find(key);
    if (found == at->end()) return null_value;
    at = &*found;
  }
  return *at;
}

std::string StringAt(const json& object, std::initializer_list<std::string_view> path) {
  const json& member = MemberAt(object, path);
  return member.is_string() ? member.get<std::string>() : std::string();
}

std::expected<std::vector<json>, Error> ReadDocuments(const std::string& path) {
  const auto text = ReadFile(path);
  if (!text) return std::unexpected(text.error());
  return ParseDocuments(*text, path);
}

std::expected<ClusterObjects, Error> ParseClusterObjects(std::string_view text,
                                                         const std::string& source) {
  auto documents = ParseDocuments(text, source);
  if (!documents) return std::unexpected(documents.error());
  ClusterObjects objects;
  for (json& document : *documents) {
    auto added = AddObject(std::move(document), source, objects);
    if (!added) return std::unexpected(added.error());
  }
  return objects;
}

std::expected<ClusterObjects, Error> ReadClusterObjects(const std::string& path) {
  const auto text = ReadFile(path);
  if (!text) return std::unexpected(text.error());
  return ParseClusterObjects(*text, path);
}

}  // namespace offcut::bench
