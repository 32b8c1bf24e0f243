#include "api/yaml_json.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

namespace offcut::api {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::array<std::string_view, 5> kNull = {"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 3> kTrue = {"true", "True", "TRUE"};
constexpr std::array<std::string_view, 3> kFalse = {"false", "False", "FALSE"};
constexpr std::string_view kCore = "tag:yaml.org,2002:";
constexpr std::array<std::string_view, 4> kPlainTypes = {"int", "float", "bool", "null"};
constexpr std::size_t kIntegerDigitsMax = 18;  // always within int64

std::string QuoteJson(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20) {
      quoted += "\\u00";
      quoted += kHex[byte / 16U];
      quoted += kHex[byte % 16U];
    } else {
      quoted += c;
    }
  }
  return quoted += '"';
}

bool IsAll(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

template <std::size_t kSize>
bool IsOneOf(std::string_view text, const std::array<std::string_view, kSize>& words) {
  return std::ranges::find(words, text) != words.end();
}

// "0x1F" and "0o17".
std::optional<std::string> BasedInteger(std::string_view text) {
  if (text.size() < 3 || text[0] != '0') return std::nullopt;
  const bool is_hex = text[1] == 'x';
  if (!is_hex && text[1] != 'o') return std::nullopt;
  text.remove_prefix(2);
  if (!IsAll(text, is_hex ? "0123456789abcdefABCDEF" : "01234567")) return std::nullopt;
  if (text.size() > 15) return QuoteJson(text);
  return std::to_string(std::stoll(std::string(text), nullptr, is_hex ? 16 : 8));
}

// "-12", "+1.5e3", ".5", "1.": as JSON writes them.
std::optional<std::string> DecimalNumber(std::string_view text) {
  const std::string_view whole = text;
  std::string json;
  if (text.starts_with('-')) json = "-";
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::string_view integer = text.substr(0, text.find_first_not_of(kDigits));
  text.remove_prefix(integer.size());
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = text.substr(0, text.find_first_not_of(kDigits));
    text.remove_prefix(fraction.size());
  }
  if (integer.empty() && fraction.empty()) return std::nullopt;
  const std::string_view exponent = text;
  if (!exponent.empty()) {
    if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
    text.remove_prefix(1);
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    if (!IsAll(text, kDigits)) return std::nullopt;
  }
  if (integer.size() + fraction.size() > kIntegerDigitsMax || exponent.size() > 3) {
    return QuoteJson(whole);
  }
  const std::size_t first = std::min(integer.find_first_not_of('0'), integer.size());
  json += first == integer.size() ? "0" : integer.substr(first);
  if (!fraction.empty()) json.append(".").append(fraction);
  return json += exponent;
}

// A plain scalar in the core schema.
std::string PlainScalar(const std::string& text) {
  if (IsOneOf<5>(text, kNull)) return "null";
  if (IsOneOf<3>(text, kTrue)) return "true";
  if (IsOneOf<3>(text, kFalse)) return "false";
  if (std::optional<std::string> number = BasedInteger(text)) return *std::move(number);
  if (std::optional<std::string> number = DecimalNumber(text)) return *std::move(number);
  return QuoteJson(text);
}

// Writes the JSON of one document as yaml-cpp walks it. After the first error it only counts
// levels.
class JsonWriter : public YAML::EventHandler {
 public:
  const std::optional<Error>& error() const { return error_; }
  std::string TakeJson() { return json_.empty() ? "null" : std::exchange(json_, {}); }

  // At a stray token yaml-cpp gives out empty documents for ever, all from the same place.
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (document_start_ == mark.pos) Fail(mark, "is out of place");
    document_start_ = mark.pos;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { Write(mark, "null", "\"\""); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Fail(mark, "aliases are not accepted");
    Write(mark, "null", "\"\"");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    const std::string quoted = QuoteJson(value);
    const bool is_core = tag.starts_with(kCore);
    const std::string_view type =
        is_core ? std::string_view(tag).substr(kCore.size()) : std::string_view();
    if (tag == "?" || tag.empty() || IsOneOf<4>(type, kPlainTypes)) {
      Write(mark, PlainScalar(value), quoted);
    } else if (tag == "!" || type == "str") {
      Write(mark, quoted, quoted);
    } else {
      Fail(mark, "the tag " + tag + " is not accepted");
      Write(mark, "null", quoted);
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    Open(mark, '[');
  }
  void OnSequenceEnd() override { Close(']'); }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    Open(mark, '{');
  }
  void OnMapEnd() override { Close('}'); }

 private:
  struct Level {
    bool is_map = false;
    std::size_t values = 0;  // written so far; of a map, keys count too
  };

  bool ExpectsKey() const {
    return !levels_.empty() && levels_.back().is_map && levels_.back().values % 2 == 0;
  }

  // What stands between the last value and the next one.
  void Separate() {
    if (levels_.empty()) return;
    Level& level = levels_.back();
    if (level.is_map && level.values % 2 == 1) {
      json_ += ':';
    } else if (level.values > 0) {
      json_ += ',';
    }
    ++level.values;
  }

  void Write(const YAML::Mark& mark, std::string_view value, std::string_view key) {
    if (error_) return;
    if (ExpectsKey() && key.size() > kKeyBytesMax) Fail(mark, "a key is too long");
    const std::string_view text = ExpectsKey() ? key : value;
    Separate();
    json_ += text;
  }

  void Open(const YAML::Mark& mark, char bracket) {
    if (ExpectsKey()) Fail(mark, "a key must be a scalar");
    if (levels_.size() >= static_cast<std::size_t>(kYamlDepthMax)) {
      Fail(mark, "is nested more than " + std::to_string(kYamlDepthMax) + " levels deep");
    }
    if (error_) return;
    Separate();
    json_ += bracket;
    levels_.push_back({.is_map = bracket == '{'});
  }

  void Close(char bracket) {
    if (error_) return;
    levels_.pop_back();
    json_ += bracket;
  }

  void Fail(const YAML::Mark& mark, const std::string& problem) {
    if (error_) return;
    error_ = Error{ErrorKind::kBadRequest, "line " + std::to_string(mark.line + 1) + ", column " +
                                               std::to_string(mark.column + 1) + ": " + problem};
  }

  static constexpr std::size_t kKeyBytesMax = 65536;

  std::string json_;
  std::vector<Level> levels_;
  int document_start_ = -1;  // where the latest document began; -1: none yet
  std::optional<Error> error_;
};

}  // namespace

std::expected<std::vector<std::string>, Error> YamlToJson(std::string_view yaml) {
  std::vector<std::string> documents;
  try {  // yaml-cpp throws on a syntax error
    std::istringstream input{std::string(yaml)};
    YAML::Parser parser(input);
    JsonWriter writer;
    while (parser.HandleNextDocument(writer)) {
      if (writer.error()) return std::unexpected(*writer.error());
      documents.push_back(writer.TakeJson());
    }
    if (writer.error()) return std::unexpected(*writer.error());
  } catch (const YAML::Exception& exception) {
    return std::unexpected(
        Error{ErrorKind::kBadRequest, "line " + std::to_string(exception.mark.line + 1) +
                                          ", column " + std::to_string(exception.mark.column + 1) +
                                          ": " + exception.msg});
  }
  return documents;
}

}  // namespace offcut::api
