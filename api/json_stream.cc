#include "api/json_stream.h"

#include <algorithm>

namespace offcut::api {

namespace ondemand = simdjson::ondemand;
namespace dom = simdjson::dom;

namespace {

template <typename Container>
std::expected<std::string_view, Error> TextOf(JsonValue value, std::string_view path) {
  Container container;
  if (const auto code = value.get(container)) return NotJson(path, code);
  std::string_view text;
  if (const auto code = container.raw_json().get(text)) return NotJson(path, code);
  return text.substr(0, text.find_last_of("]}") + 1);  // blanks may follow
}

std::expected<dom::element, Error> Check(dom::parser& strict, std::string_view text,
                                         std::string_view path) {
  dom::element element;
  if (const auto code = strict.parse(text.data(), text.size(), false).get(element)) {
    return NotJson(path, code);
  }
  return element;
}

}  // namespace

std::unexpected<Error> BadRequest(std::string_view path, std::string_view what) {
  std::string message(path);
  if (!message.empty()) message += ' ';
  return std::unexpected(Error{ErrorKind::kBadRequest, message.append(what)});
}

std::unexpected<Error> TooLarge(std::string_view path, std::string_view what, std::size_t max) {
  std::string message(path);
  message.append(" has more than ").append(std::to_string(max)).append(" ").append(what);
  return std::unexpected(Error{ErrorKind::kTooLarge, std::move(message)});
}

std::unexpected<Error> NotJson(std::string_view path, simdjson::error_code code) {
  switch (code) {
    case simdjson::INCORRECT_TYPE:
      return BadRequest(path, "has the wrong type");
    case simdjson::DEPTH_ERROR:
      return BadRequest(path, "is nested too deeply");
    default:
      return BadRequest(path, std::string("is not sound JSON: ") + simdjson::error_message(code));
  }
}

std::string At(std::string_view path, std::size_t index) {
  return std::string(path).append("[").append(std::to_string(index)).append("]");
}

std::string Below(std::string_view path, std::string_view name) {
  return path.empty() ? std::string(name) : std::string(path).append(".").append(name);
}

bool IsKey(std::string_view key, std::string_view name) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(key, name, {}, lower, lower);
}

bool IsNull(JsonValue& value) {
  bool is_null = false;
  return value.is_null().get(is_null) == simdjson::SUCCESS && is_null;
}

std::expected<std::string_view, Error> ObjectText(JsonValue value, std::string_view path) {
  return TextOf<ondemand::object>(value, path);
}

std::expected<std::string_view, Error> SoundObjectText(dom::parser& strict, JsonValue value,
                                                       std::string_view path) {
  auto text = ObjectText(value, path);
  if (!text) return text;
  const auto element = Check(strict, *text, path);
  if (!element) return std::unexpected(element.error());
  return text;
}

std::expected<std::string_view, Error> ReadMetadata(dom::parser& strict, std::string_view text,
                                                    std::string_view path, std::string_view name,
                                                    std::size_t bytes_max) {
  auto element = Check(strict, text, path);
  if (!element) return std::unexpected(element.error());
  std::string at(path);
  for (const std::string_view wanted : {std::string_view("metadata"), name}) {
    dom::object object;
    if (const auto code = element->get(object)) return NotJson(at, code);
    at = Below(at, wanted);
    std::optional<dom::element> found;
    for (const auto [key, value] : object) {
      if (IsKey(key, wanted)) found = value;
    }
    if (!found || found->is_null()) return BadRequest(at, "is missing");
    element = *found;
  }
  std::string_view value;
  if (const auto code = element->get(value)) return NotJson(at, code);
  if (value.empty()) return BadRequest(at, "is empty");
  if (value.size() > bytes_max) return TooLarge(at, "bytes", bytes_max);
  return value;
}

Result CheckIgnored(dom::parser& strict, JsonValue value, std::string_view path) {
  ondemand::json_type type{};
  if (const auto code = value.type().get(type)) return NotJson(path, code);
  auto code = simdjson::SUCCESS;
  switch (type) {
    case ondemand::json_type::object:
    case ondemand::json_type::array: {
      const auto text = type == ondemand::json_type::object ? TextOf<ondemand::object>(value, path)
                                                            : TextOf<ondemand::array>(value, path);
      if (!text) return std::unexpected(text.error());
      const auto element = Check(strict, *text, path);
      if (!element) return std::unexpected(element.error());
      break;
    }
    case ondemand::json_type::string:
      code = value.get_string().error();
      break;
    case ondemand::json_type::number:
      code = value.get_number().error();
      break;
    case ondemand::json_type::boolean:
      code = value.get_bool().error();
      break;
    case ondemand::json_type::null:
      code = value.is_null().error();
      break;
  }
  if (code != simdjson::SUCCESS) return NotJson(path, code);
  return {};
}

std::expected<std::string_view, Error> ReadText(JsonValue value, std::string_view path,
                                                std::size_t bytes_max) {
  std::string_view text;
  if (const auto code = value.get_string().get(text)) return NotJson(path, code);
  if (text.size() > bytes_max) return TooLarge(path, "bytes", bytes_max);
  return text;
}

}  // namespace offcut::api
