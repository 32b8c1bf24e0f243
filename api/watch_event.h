// What comes in lists and watches of the API server, and what to do about a refusal. Pure.
// Source: client-go, tools/cache/reflector.go.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/kube_status.h"

namespace offcut::api {

enum class WatchEventType { kAdded, kModified, kDeleted, kBookmark, kError };

struct WatchEvent {
  WatchEventType type = WatchEventType::kError;
  nlohmann::json object;  // an object; of kError a Status
};

// nullopt: the line is no event, or one of a type that is not known.
std::optional<WatchEvent> ParseWatchEvent(std::string_view line);

struct ListPage {
  std::vector<nlohmann::json> items;  // each has a name, and kind and apiVersion of the list
  std::size_t skipped = 0;            // items that had none
  std::string resource_version;
  std::string continue_token;  // empty: there are no more pages
};

// Error: the body is no list; for a person.
std::expected<ListPage, std::string> ParseListPage(std::string_view body);

// "namespace/name", or "/name" without a namespace; nullopt: `object` has no name.
std::optional<std::string> ObjectKey(const nlohmann::json& object);

// metadata.resourceVersion; empty: there is none.
std::string ResourceVersionOf(const nlohmann::json& object);

// Whether a bookmark says that all objects of a streaming list have come.
bool EndsInitialEvents(const nlohmann::json& bookmark);

enum class WatchRemedy {
  kRewatch,       // from the same resource version, later
  kRelist,        // the resource version is too old: list anew, not older than what was seen
  kRelistNewest,  // the server does not know the resource version: list whatever is newest
};
WatchRemedy RemedyFor(const KubeStatus& status);

// Whether the server does not know streaming lists, so that pages must do.
bool RefusesStreamingLists(const KubeStatus& status);

}  // namespace offcut::api
