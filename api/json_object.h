// Reads members of a JSON object that follows Go's encoding of a Kubernetes type.
//
// What surprises: Go matches a struct's keys without regard to ASCII case, so every reader here
// does (an exact match wins); keys of maps (labels, annotations, resource names) stay exact. Of
// members of one key the last counts. A null is as good as absent.
// Errors stick: a reader goes on with empty values after the first one and the caller looks once,
// at the end, at the JsonErrors that it passed in. This keeps readers of forty members readable.
// Not synchronised; views live as long as the simdjson document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <simdjson.h>

#include "api/error.h"
#include "api/quantity.h"

namespace offcut::api {

using JsonElement = simdjson::dom::element;

// Parses one JSON value, strictly. The element lives until the parser's next use.
std::expected<JsonElement, Error> ParseJson(simdjson::dom::parser& parser, std::string_view text);

// Where a value stands, as a chain up to the root. Lives on the stack: a path must not outlive its
// parent.
struct JsonPath {
  const JsonPath* parent = nullptr;
  std::string_view key;       // empty: the root, or an element of the parent's array
  std::ptrdiff_t index = -1;  // of an element; -1: a member
};

// "spec.containers[1].resources.limits["nvidia.com/gpu"]": keys that are no identifiers are quoted.
std::string PathText(const JsonPath& path);

// The first error, with its path in front.
class JsonErrors {
 public:
  void Add(const JsonPath& path, std::string_view problem, ErrorKind kind = ErrorKind::kBadRequest);
  const std::optional<Error>& First() const { return first_; }

 private:
  std::optional<Error> first_;
};

// The member called `key`, exactly or, failing that, but for ASCII case. Null is absent.
std::optional<JsonElement> FindMember(simdjson::dom::object object, std::string_view key);

// The same by exact key alone: for maps.
std::optional<JsonElement> FindEntry(simdjson::dom::object object, std::string_view key);

// The string, or nullopt with an error where the value is none.
std::optional<std::string_view> ReadString(JsonElement element, const JsonPath& path,
                                           JsonErrors& errors);

// A quantity as Kubernetes writes it: a string, or a number.
std::optional<Quantity> ReadQuantity(JsonElement element, const JsonPath& path, JsonErrors& errors);

// The array, or nullopt with an error where `element` is none or is longer than `count_max`.
std::optional<simdjson::dom::array> ReadArray(JsonElement element, const JsonPath& path,
                                              std::size_t count_max, JsonErrors& errors);

class JsonObject;

// Calls `visit(const JsonObject&)` for each element of an array, or for none where ReadArray fails.
template <typename Visit>
void ForEachElement(JsonElement element, const JsonPath& path, std::size_t count_max,
                    JsonErrors& errors, Visit visit);

// One object, or nothing in its place. `errors` and the parent outlive it.
class JsonObject {
 public:
  // The root. What is no object is an error, and null is empty.
  JsonObject(JsonElement element, JsonErrors& errors);
  // A value inside another.
  JsonObject(JsonElement element, const JsonPath& path, JsonErrors& errors);
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  bool IsPresent() const { return object_.has_value(); }
  const JsonPath& Path() const { return path_; }
  JsonErrors& Errors() const { return *errors_; }
  void AddError(std::string_view key, std::string_view problem) const;

  bool Has(std::string_view key) const { return Find(key).has_value(); }
  std::optional<JsonElement> Find(std::string_view key) const;

  // Absent members read as the empty string, the fallback, false, or an object without members. A
  // string above `bytes_max` and an integer outside [min, max] are errors.
  std::string_view String(std::string_view key,
                          std::size_t bytes_max = std::numeric_limits<std::size_t>::max()) const;
  std::int64_t Int(std::string_view key, std::int64_t fallback, std::int64_t min,
                   std::int64_t max) const;
  bool Bool(std::string_view key) const;
  JsonObject Object(std::string_view key) const;

  // Whether there is an array `key` with elements.
  bool HasElements(std::string_view key) const;
  // Whether this is an object with anything in it.
  bool HasMembers() const { return object_ && object_->size() > 0; }

  // Calls `visit(const JsonObject&)` for each element of the array `key`, at most `count_max` of
  // them: a longer array is an error and is not visited.
  template <typename Visit>
  void ForEach(std::string_view key, std::size_t count_max, Visit visit) const {
    const std::optional<JsonElement> member = Find(key);
    if (!member) return;
    ForEachElement(*member, JsonPath{.parent = &path_, .key = key}, count_max, *errors_, visit);
  }

  // Calls `visit(std::string_view key, JsonElement value, const JsonPath& path)` for each entry
  // that is not null, in their order: also for those that a later one of the same key replaces.
  template <typename Visit>
  void ForEachEntry(Visit visit) const {
    if (!object_) return;
    for (const auto& [key, value] : *object_) {
      if (value.is_null()) continue;
      visit(std::string_view(key), value, JsonPath{.parent = &path_, .key = key});
    }
  }

  // The string at the exact key of a map; nullopt where it is absent.
  std::optional<std::string_view> Entry(std::string_view key) const;

 private:
  JsonObject(const JsonPath& path, JsonErrors& errors) : path_(path), errors_(&errors) {}

  std::optional<simdjson::dom::object> object_;
  JsonPath path_;
  JsonErrors* errors_;
};

template <typename Visit>
void ForEachElement(JsonElement element, const JsonPath& path, std::size_t count_max,
                    JsonErrors& errors, Visit visit) {
  const std::optional<simdjson::dom::array> array = ReadArray(element, path, count_max, errors);
  if (!array) return;
  std::ptrdiff_t index = 0;
  for (const JsonElement each : *array) {
    visit(JsonObject(each, JsonPath{.parent = &path, .key = {}, .index = index}, errors));
    ++index;
  }
}

}  // namespace offcut::api
