#include "api/watch_event.h"

#include <algorithm>
#include <array>
#include <utility>

namespace offcut::api {
namespace {

using Json = nlohmann::json;

const Json* Find(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string Text(const Json* value) {
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

std::string MetadataText(const Json& object, const char* key) {
  const Json* metadata = Find(object, "metadata");
  return metadata == nullptr ? std::string() : Text(Find(*metadata, key));
}

std::optional<WatchEventType> ParseType(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, WatchEventType>, 5> types = {{
      {"ADDED", WatchEventType::kAdded},
      {"MODIFIED", WatchEventType::kModified},
      {"DELETED", WatchEventType::kDeleted},
      {"BOOKMARK", WatchEventType::kBookmark},
      {"ERROR", WatchEventType::kError},
  }};
  const auto found =
      std::ranges::find(types, text, &std::pair<std::string_view, WatchEventType>::first);
  if (found == types.end()) return std::nullopt;
  return found->second;
}

// What the items of a list leave out because the list says it: a PodList holds Pods.
void SetType(Json& item, const std::string& list_kind, const std::string& api_version) {
  constexpr std::string_view suffix = "List";
  if (!item.contains("kind") && list_kind.ends_with(suffix)) {
    item["kind"] = list_kind.substr(0, list_kind.size() - suffix.size());
  }
  if (!item.contains("apiVersion") && !api_version.empty()) item["apiVersion"] = api_version;
}

// Who has written which member: as large as the rest of a pod, and read by nobody. Lists hold all
// objects at once.
void DropManagedFields(Json& object) {
  const auto metadata = object.find("metadata");
  if (metadata != object.end() && metadata->is_object()) metadata->erase("managedFields");
}

}  // namespace

std::optional<WatchEvent> ParseWatchEvent(std::string_view line) {
  Json event = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  const std::optional<WatchEventType> type = ParseType(Text(Find(event, "type")));
  const Json* object = Find(event, "object");
  if (!type || object == nullptr || !object->is_object()) return std::nullopt;
  WatchEvent result{.type = *type, .object = std::move(event["object"])};
  DropManagedFields(result.object);
  return result;
}

std::expected<ListPage, std::string> ParseListPage(std::string_view body) {
  Json list = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  const Json* items = Find(list, "items");
  // Go prints a list without items as null.
  if (items == nullptr || !(items->is_array() || items->is_null())) {
    return std::unexpected("the body is no list");
  }
  ListPage page;
  page.resource_version = MetadataText(list, "resourceVersion");
  // Without one it is not the API server's, and no list to believe that everything else is gone.
  if (page.resource_version.empty()) return std::unexpected("the list has no resourceVersion");
  page.continue_token = MetadataText(list, "continue");
  const std::string kind = Text(Find(list, "kind"));
  const std::string api_version = Text(Find(list, "apiVersion"));
  for (Json& item : list["items"]) {
    if (!ObjectKey(item)) {
      ++page.skipped;
      continue;
    }
    SetType(item, kind, api_version);
    DropManagedFields(item);
    page.items.push_back(std::move(item));
  }
  return page;
}

std::optional<std::string> ObjectKey(const nlohmann::json& object) {
  const std::string name = MetadataText(object, "name");
  if (name.empty()) return std::nullopt;
  return MetadataText(object, "namespace") + "/" + name;
}

std::string ResourceVersionOf(const nlohmann::json& object) {
  return MetadataText(object, "resourceVersion");
}

bool EndsInitialEvents(const nlohmann::json& bookmark) {
  const Json* metadata = Find(bookmark, "metadata");
  const Json* annotations = metadata == nullptr ? nullptr : Find(*metadata, "annotations");
  return annotations != nullptr && Text(Find(*annotations, "k8s.io/initial-events-end")) == "true";
}

WatchRemedy RemedyFor(const KubeStatus& status) {
  const bool is_too_large = std::ranges::any_of(status.causes,
                                                [](const KubeStatusCause& cause) {
                                                  return cause.reason == "ResourceVersionTooLarge";
                                                }) ||
                            status.message.find("Too large resource version") != std::string::npos;
  if (is_too_large) return WatchRemedy::kRelistNewest;
  if (status.code == 410 || status.reason == "Expired" || status.reason == "Gone") {
    return WatchRemedy::kRelist;
  }
  // Not a version that this server has ever given.
  if (status.code == 400 || status.code == 422) return WatchRemedy::kRelistNewest;
  return WatchRemedy::kRewatch;
}

bool RefusesStreamingLists(const KubeStatus& status) {
  return status.code == 400 || status.code == 422;
}

}  // namespace offcut::api
