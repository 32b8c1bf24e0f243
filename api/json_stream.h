// Reads large JSON bodies member by member, without a tree of them.
//
// Rules, of every function here: keys match but for ASCII case, as in Go's decoder; null reads as
// absent; the last of several members of one name counts. simdjson's on-demand reader does not look
// into what it skips, so whatever is ignored or taken as a whole goes through its strict parser.
// Errors name the member: `Nodes.items[2].metadata.name is missing`.
// Internal to api/: what includes this includes all of simdjson. Not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <simdjson.h>

#include "api/error.h"

namespace offcut::api {

using JsonValue = simdjson::ondemand::value;
using Result = std::expected<void, Error>;

// `path what`, or `what` alone where the path is empty.
std::unexpected<Error> BadRequest(std::string_view path, std::string_view what);
// `path has more than <max> <what>`.
std::unexpected<Error> TooLarge(std::string_view path, std::string_view what, std::size_t max);
std::unexpected<Error> NotJson(std::string_view path, simdjson::error_code code);

std::string At(std::string_view path, std::size_t index);
std::string Below(std::string_view path, std::string_view name);

bool IsKey(std::string_view key, std::string_view name);

// Whether the value is null. What only looks like it ("nul") is found by the read that follows.
bool IsNull(JsonValue& value);

// The bytes of an object, which are not checked.
std::expected<std::string_view, Error> ObjectText(JsonValue value, std::string_view path);

// The same, checked by the strict parser.
std::expected<std::string_view, Error> SoundObjectText(simdjson::dom::parser& strict,
                                                       JsonValue value, std::string_view path);

// The text at metadata.`name` of the object that `text` is; checks all of it. Valid until `strict`
// parses again. Errors: unsound, missing, empty, or longer than `bytes_max`.
std::expected<std::string_view, Error> ReadMetadata(simdjson::dom::parser& strict,
                                                    std::string_view text, std::string_view path,
                                                    std::string_view name, std::size_t bytes_max);

// Reads over a value of no interest, which must be sound all the same.
Result CheckIgnored(simdjson::dom::parser& strict, JsonValue value, std::string_view path);

std::expected<std::string_view, Error> ReadText(JsonValue value, std::string_view path,
                                                std::size_t bytes_max);

// Readers of members, for Member::read. Null gives what is there for absent.
inline auto Into(std::string& to, std::size_t bytes_max) {
  return [&to, bytes_max](JsonValue value, const std::string& path) -> Result {
    to.clear();
    if (IsNull(value)) return {};
    const auto text = ReadText(value, path, bytes_max);
    if (!text) return std::unexpected(text.error());
    to = *text;
    return {};
  };
}

inline auto Into(std::int64_t& to) {
  return [&to](JsonValue value, const std::string& path) -> Result {
    to = 0;
    if (IsNull(value)) return {};
    if (const auto code = value.get_int64().get(to)) return NotJson(path, code);
    return {};
  };
}

template <typename T, typename Read>  // std::expected<T, Error>(JsonValue, path)
auto Into(std::optional<T>& to, Read read) {
  return [&to, read](JsonValue value, const std::string& path) -> Result {
    to.reset();
    if (IsNull(value)) return {};
    auto result = read(value, path);
    if (!result) return std::unexpected(std::move(result.error()));
    to = *std::move(result);
    return {};
  };
}

// A member that is known, and what reads its value: Result(JsonValue, const std::string& path).
template <typename Read>
struct Member {
  std::string_view name;
  Read read;
};
template <typename Read>
Member(const char*, Read) -> Member<Read>;

// Calls `read(std::string_view key, JsonValue)` for each member. The key is valid until the end of
// the body's reading.
template <typename Read>
Result ForEachMember(simdjson::ondemand::object object, std::string_view path, Read read) {
  for (auto field_result : object) {
    simdjson::ondemand::field field;
    if (const auto code = std::move(field_result).get(field)) return NotJson(path, code);
    const JsonValue value = field.value();
    std::string_view key;
    if (const auto code = field.unescaped_key().get(key)) return NotJson(path, code);
    if (auto result = read(key, value); !result) return result;
  }
  return {};
}

// Reads the members that are known and checks the others.
template <typename... Reads>
Result ReadMembers(simdjson::dom::parser& strict, simdjson::ondemand::object object,
                   std::string_view path, const Member<Reads>&... members) {
  return ForEachMember(object, path, [&](std::string_view key, JsonValue value) {
    Result result;
    const bool is_known = ((IsKey(key, members.name) &&
                            (result = members.read(value, Below(path, members.name)), true)) ||
                           ...);
    return is_known ? result : CheckIgnored(strict, value, Below(path, "(an ignored member)"));
  });
}

template <typename Read>  // Result(JsonValue, std::size_t index)
Result ForEachItem(simdjson::ondemand::array array, std::string_view path, Read read) {
  std::size_t index = 0;
  for (auto item_result : array) {
    JsonValue item;
    if (const auto code = std::move(item_result).get(item)) return NotJson(At(path, index), code);
    if (auto result = read(item, index++); !result) return result;
  }
  return {};
}

// Likewise, of a value that must be an array of at most `items_max`.
template <typename Read>
Result ForEachItem(JsonValue value, std::string_view path, std::size_t items_max, Read read) {
  simdjson::ondemand::array array;
  if (const auto code = value.get(array)) return NotJson(path, code);
  return ForEachItem(array, path, [&](JsonValue item, std::size_t index) -> Result {
    if (index == items_max) return TooLarge(path, "items", items_max);
    return read(item, index);
  });
}

// Hands the body's one value, an ondemand::object or array, to `read` and sees to it that nothing
// follows. Requires: SIMDJSON_PADDING readable bytes after the body.
template <typename Container, typename Read>  // Result(Container)
Result ReadBody(simdjson::ondemand::parser& parser, std::string_view body, Read read) {
  simdjson::ondemand::document document;
  const auto allocated = body.size() + simdjson::SIMDJSON_PADDING;
  if (const auto code = parser.iterate(body, allocated).get(document)) {
    return NotJson("the body", code);
  }
  Container container;
  if (const auto code = document.get(container)) return NotJson("the body", code);
  if (auto result = read(container); !result) return result;
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
    return BadRequest("the body", "has something after its value");
  }
  return {};
}

}  // namespace offcut::api
