#include "api/json_object.h"

#include <array>
#include <charconv>
#include <string>

namespace offcut::api {
namespace {

char AsciiLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (AsciiLower(a[i]) != AsciiLower(b[i])) return false;
  }
  return true;
}

bool IsIdentifier(std::string_view key) {
  return !key.empty() && key.find_first_not_of(
                             "abcdefghijklmnopqrstuvwxyz"
                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == std::string_view::npos;
}

std::optional<JsonElement> NullIsAbsent(JsonElement element) {
  if (element.is_null()) return std::nullopt;
  return element;
}

}  // namespace

std::expected<JsonElement, Error> ParseJson(simdjson::dom::parser& parser, std::string_view text) {
  JsonElement root;
  const simdjson::error_code code = parser.parse(text.data(), text.size()).get(root);
  if (code == simdjson::SUCCESS) return root;
  return std::unexpected(Error{ErrorKind::kBadRequest,
                               std::string("is no valid JSON: ") + simdjson::error_message(code)});
}

std::string PathText(const JsonPath& path) {
  if (path.parent == nullptr) return {};
  std::string text = PathText(*path.parent);
  if (path.index >= 0) return text + "[" + std::to_string(path.index) + "]";
  if (!IsIdentifier(path.key)) return text + "[\"" + std::string(path.key) + "\"]";
  if (!text.empty()) text += '.';
  return text += path.key;
}

void JsonErrors::Add(const JsonPath& path, std::string_view problem, ErrorKind kind) {
  if (first_) return;
  std::string text = PathText(path);
  if (!text.empty()) text += ": ";
  first_ = Error{kind, text += problem};
}

std::optional<JsonElement> FindMember(simdjson::dom::object object, std::string_view key) {
  std::optional<JsonElement> exact;
  std::optional<JsonElement> in_other_case;
  for (const auto& [other_key, value] : object) {
    if (other_key == key) {
      exact = value;
    } else if (EqualsIgnoringCase(other_key, key)) {
      in_other_case = value;
    }
  }
  const std::optional<JsonElement>& found = exact ? exact : in_other_case;
  return found ? NullIsAbsent(*found) : std::nullopt;
}

std::optional<JsonElement> FindEntry(simdjson::dom::object object, std::string_view key) {
  std::optional<JsonElement> found;
  for (const auto& [other_key, value] : object) {
    if (other_key == key) found = value;
  }
  return found ? NullIsAbsent(*found) : std::nullopt;
}

std::optional<std::string_view> ReadString(JsonElement element, const JsonPath& path,
                                           JsonErrors& errors) {
  std::string_view text;
  if (element.get(text) == simdjson::SUCCESS) return text;
  errors.Add(path, "must be a string");
  return std::nullopt;
}

std::optional<Quantity> ReadQuantity(JsonElement element, const JsonPath& path,
                                     JsonErrors& errors) {
  std::array<char, 32> number{};
  std::string_view text;
  if (element.get(text) != simdjson::SUCCESS) {
    std::int64_t integer = 0;
    double real = 0;
    std::to_chars_result printed{.ptr = number.data(), .ec = std::errc{}};
    if (element.get(integer) == simdjson::SUCCESS) {
      printed = std::to_chars(number.data(), number.data() + number.size(), integer);
    } else if (element.get(real) == simdjson::SUCCESS) {
      // The shortest text that reads back as the same double: for any number that a person wrote,
      // what he wrote.
      printed = std::to_chars(number.data(), number.data() + number.size(), real);
    } else {
      errors.Add(path, "must be a quantity");
      return std::nullopt;
    }
    text = std::string_view(number.data(), static_cast<std::size_t>(printed.ptr - number.data()));
  }
  const std::expected<Quantity, Error> quantity = ParseQuantity(text);
  if (quantity) return *quantity;
  errors.Add(path, quantity.error().message);
  return std::nullopt;
}

std::optional<simdjson::dom::array> ReadArray(JsonElement element, const JsonPath& path,
                                              std::size_t count_max, JsonErrors& errors) {
  simdjson::dom::array array;
  if (element.get(array) != simdjson::SUCCESS) {
    errors.Add(path, "must be an array");
    return std::nullopt;
  }
  if (array.size() > count_max) {
    errors.Add(path, "has more than " + std::to_string(count_max) + " elements",
               ErrorKind::kTooLarge);
    return std::nullopt;
  }
  return array;
}

JsonObject::JsonObject(JsonElement element, JsonErrors& errors)
    : JsonObject(element, JsonPath{}, errors) {}

JsonObject::JsonObject(JsonElement element, const JsonPath& path, JsonErrors& errors)
    : path_(path), errors_(&errors) {
  if (element.is_null()) return;
  simdjson::dom::object object;
  if (element.get(object) == simdjson::SUCCESS) {
    object_ = object;
  } else {
    errors.Add(path, "must be an object");
  }
}

void JsonObject::AddError(std::string_view key, std::string_view problem) const {
  errors_->Add(JsonPath{.parent = &path_, .key = key}, problem);
}

std::optional<JsonElement> JsonObject::Find(std::string_view key) const {
  if (!object_) return std::nullopt;
  return FindMember(*object_, key);
}

std::string_view JsonObject::String(std::string_view key, std::size_t bytes_max) const {
  const std::optional<JsonElement> member = Find(key);
  if (!member) return {};
  const JsonPath path{.parent = &path_, .key = key};
  const std::optional<std::string_view> text = ReadString(*member, path, *errors_);
  if (!text) return {};
  if (text->size() > bytes_max) {
    errors_->Add(path, "is longer than " + std::to_string(bytes_max) + " bytes",
                 ErrorKind::kTooLarge);
    return {};
  }
  return *text;
}

std::int64_t JsonObject::Int(std::string_view key, std::int64_t fallback, std::int64_t min,
                             std::int64_t max) const {
  const std::optional<JsonElement> member = Find(key);
  if (!member) return fallback;
  std::int64_t value = 0;
  if (member->get(value) != simdjson::SUCCESS) {
    AddError(key, "must be an integer");
    return fallback;
  }
  if (value < min || value > max) {
    AddError(key, "must be from " + std::to_string(min) + " to " + std::to_string(max));
    return fallback;
  }
  return value;
}

bool JsonObject::Bool(std::string_view key) const {
  const std::optional<JsonElement> member = Find(key);
  if (!member) return false;
  bool value = false;
  if (member->get(value) != simdjson::SUCCESS) AddError(key, "must be true or false");
  return value;
}

JsonObject JsonObject::Object(std::string_view key) const {
  const JsonPath path{.parent = &path_, .key = key};
  const std::optional<JsonElement> member = Find(key);
  if (!member) return JsonObject(path, *errors_);
  return JsonObject(*member, path, *errors_);
}

bool JsonObject::HasElements(std::string_view key) const {
  const std::optional<JsonElement> member = Find(key);
  if (!member) return false;
  const std::optional<simdjson::dom::array> array =
      ReadArray(*member, JsonPath{.parent = &path_, .key = key},
                std::numeric_limits<std::size_t>::max(), *errors_);
  return array && array->size() > 0;
}

std::optional<std::string_view> JsonObject::Entry(std::string_view key) const {
  if (!object_) return std::nullopt;
  const std::optional<JsonElement> entry = FindEntry(*object_, key);
  if (!entry) return std::nullopt;
  return ReadString(*entry, JsonPath{.parent = &path_, .key = key}, *errors_);
}

}  // namespace offcut::api
