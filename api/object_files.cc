#include "api/object_files.h"

#include <cerrno>
#include <fstream>
#include <iostream>
#include <istream>
#include <optional>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "api/json_object.h"
#include "api/node_json.h"
#include "api/pod_json.h"
#include "api/yaml_json.h"

namespace offcut::api {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::size_t kListItemsMax = 1UL << 20U;
constexpr std::size_t kChunkBytes = 1UL << 20U;
constexpr int kListDepthMax = 4;  // lists in lists

Error Failure(const std::string& file, const std::string& problem,
              ErrorKind kind = ErrorKind::kBadRequest) {
  return Error{kind, file + ": " + problem};
}

// Adds what one file holds.
struct ObjectReader {
  const std::string& file;
  const scheduler::ResourceNames& names;
  ObjectSet& set;
  std::unordered_set<std::string> node_names;
  std::unordered_set<std::string> pod_uids;
  std::size_t index = 0;  // of the next object

  ObjectReader(const std::string& file_name, const scheduler::ResourceNames& resource_names,
               ObjectSet& object_set)
      : file(file_name), names(resource_names), set(object_set) {
    for (const scheduler::Inventory& node : set.nodes) node_names.insert(node.name);
    for (const scheduler::Pod& pod : set.pods) pod_uids.insert(pod.uid);
  }
};

std::string NameOf(const JsonObject& object) {
  const JsonObject metadata = object.Object("metadata");
  const std::string_view name_space = metadata.String("namespace");
  std::string name(name_space);
  if (!name_space.empty()) name += '/';
  return name += metadata.String("name");
}

void AddProblem(ObjectReader& reader, JsonElement element, std::string_view kind,
                const Error& error) {
  JsonErrors ignored;
  reader.set.problems.push_back({.file = reader.file,
                                 .index = reader.index,
                                 .kind = std::string(kind),
                                 .name = NameOf(JsonObject(element, ignored)),
                                 .error = error});
}

std::optional<Error> AddNode(ObjectReader& reader, JsonElement element) {
  std::expected<ParsedNode, Error> node = ParseNode(element, reader.names);
  if (!node) return node.error();
  if (!reader.node_names.insert(node->inventory.name).second) {
    return Error{ErrorKind::kConflict, "a node of this name was read before"};
  }
  reader.set.nodes.push_back(std::move(node->inventory));
  for (std::string& warning : node->warnings) reader.set.warnings.push_back(std::move(warning));
  return std::nullopt;
}

std::optional<Error> AddPod(ObjectReader& reader, JsonElement element) {
  std::expected<ParsedPod, Error> pod = ParsePod(element, reader.names);
  if (!pod) return pod.error();
  if (!reader.pod_uids.insert(pod->pod.uid).second) {
    return Error{ErrorKind::kConflict, "a pod of this uid was read before"};
  }
  reader.set.pods.push_back(std::move(pod->pod));
  for (std::string& warning : pod->warnings) reader.set.warnings.push_back(std::move(warning));
  return std::nullopt;
}

// Other API groups have kinds called Node and Pod too.
bool IsCore(std::string_view api_version) { return api_version.empty() || api_version == "v1"; }

// `item_kind` is what a list says of items that do not say it themselves.
void AddObject(ObjectReader& reader, JsonElement element, std::string_view item_kind, int depth) {
  JsonErrors errors;
  const JsonObject object(element, errors);
  const std::string_view own_kind = object.String("kind");
  const std::string_view kind = own_kind.empty() ? item_kind : own_kind;
  std::optional<Error> problem = errors.First();
  if (problem) {
    // No object, or one with a kind that is no string.
  } else if (kind.ends_with("List") && depth < kListDepthMax) {
    const std::string_view listed = kind.substr(0, kind.size() - std::string_view("List").size());
    if (const std::optional<JsonElement> items = object.Find("items")) {
      const std::optional<simdjson::dom::array> array = ReadArray(
          *items, JsonPath{.parent = &object.Path(), .key = "items"}, kListItemsMax, errors);
      if (array) {
        for (const JsonElement item : *array) AddObject(reader, item, listed, depth + 1);
        return;
      }
      problem = errors.First();
    } else {
      return;  // a list of nothing
    }
  } else if (kind == "Node" && IsCore(object.String("apiVersion"))) {
    problem = AddNode(reader, element);
  } else if (kind == "Pod" && IsCore(object.String("apiVersion"))) {
    problem = AddPod(reader, element);
  } else if (kind.empty()) {
    problem = Error{ErrorKind::kBadRequest, "kind: is missing"};
  } else {
    ++reader.set.ignored;
  }
  if (problem) AddProblem(reader, element, kind, *problem);
  ++reader.index;
}

// The end of the JSON object or array at the start of `text`, by its brackets alone: whether it is
// valid, the parser says. npos: it does not end.
std::size_t EndOfValue(std::string_view text) {
  std::size_t depth = 0;
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_string) {
      if (c == '\\') ++i;
      if (c == '"') is_in_string = false;
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth <= 1) return i + 1;
      --depth;
    }
  }
  return std::string_view::npos;
}

std::expected<void, Error> ReadJsonStream(std::string_view text, ObjectReader& reader) {
  simdjson::dom::parser parser;
  for (int document = 1; true; ++document) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (text.empty()) return {};
    const std::string where = "JSON document " + std::to_string(document) + " ";
    if (text.front() != '{') {
      return std::unexpected(Failure(reader.file, where + "is no object"));
    }
    const std::size_t end = EndOfValue(text);
    if (end == std::string_view::npos) {
      return std::unexpected(Failure(reader.file, where + "is cut off"));
    }
    const std::expected<JsonElement, Error> element = ParseJson(parser, text.substr(0, end));
    if (!element) return std::unexpected(Failure(reader.file, where + element.error().message));
    AddObject(reader, *element, {}, 0);
    text.remove_prefix(end);
  }
}

std::expected<void, Error> ReadYamlStream(std::string_view text, ObjectReader& reader) {
  if (text.size() > kYamlBytesMax) {
    return std::unexpected(
        Failure(reader.file, "is too large for YAML; give it as JSON", ErrorKind::kTooLarge));
  }
  const std::expected<std::vector<std::string>, Error> documents = YamlToJson(text);
  if (!documents) return std::unexpected(Failure(reader.file, documents.error().message));
  simdjson::dom::parser parser;
  std::size_t object_count = 0;
  for (const std::string& document : *documents) {
    const std::expected<JsonElement, Error> element = ParseJson(parser, document);
    if (!element) return std::unexpected(Failure(reader.file, "is neither JSON nor YAML"));
    if (element->is_null()) continue;
    if (!element->is_object()) {
      return std::unexpected(Failure(reader.file, "is neither a JSON nor a YAML object"));
    }
    AddObject(reader, *element, {}, 0);
    ++object_count;
  }
  if (object_count == 0) return std::unexpected(Failure(reader.file, "has no objects"));
  return {};
}

std::expected<std::string, Error> ReadAll(std::istream& input, const std::string& file) {
  std::string text;
  while (input) {
    const std::size_t size = text.size();
    text.resize(size + kChunkBytes);
    input.read(text.data() + size, kChunkBytes);
    text.resize(size + static_cast<std::size_t>(input.gcount()));
    if (text.size() > kObjectFileBytesMax) {
      return std::unexpected(Failure(file, "is larger than 512 MiB", ErrorKind::kTooLarge));
    }
  }
  if (input.bad()) return std::unexpected(Failure(file, "cannot be read"));
  return text;
}

std::expected<std::string, Error> ReadFile(const std::string& path) {
  if (path == "-") return ReadAll(std::cin, path);
  errno = 0;
  std::ifstream input(path, std::ios::binary);
  if (!input) {
    const std::string why = std::generic_category().message(errno);
    return std::unexpected(Failure(path, why, ErrorKind::kNotFound));
  }
  return ReadAll(input, path);
}

}  // namespace

std::expected<void, Error> ReadObjects(std::string_view text, const std::string& file,
                                       const scheduler::ResourceNames& names, ObjectSet& set) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  ObjectReader reader(file, names, set);
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return std::unexpected(Failure(file, "is empty"));
  const bool is_json = text[first] == '{' || text[first] == '[';
  return is_json ? ReadJsonStream(text, reader) : ReadYamlStream(text, reader);
}

std::expected<ObjectSet, Error> ReadObjectFiles(std::span<const std::string> paths,
                                                const scheduler::ResourceNames& names) {
  ObjectSet set;
  for (const std::string& path : paths) {
    const std::expected<std::string, Error> text = ReadFile(path);
    if (!text) return std::unexpected(text.error());
    const std::expected<void, Error> read = ReadObjects(*text, path, names, set);
    if (!read) return std::unexpected(read.error());
  }
  return set;
}

}  // namespace offcut::api
