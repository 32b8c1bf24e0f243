#include "api/document.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

namespace offcut::api {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kMaxMessageBytes = 200;  // of a parser's own message, which may quote input
constexpr std::size_t kMaxQuotedBytes = 64;

// Returns the longest prefix of `text` of at most `max_bytes` that cuts no UTF-8 sequence.
std::string_view Cut(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

Position PositionAt(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t newline = before.rfind('\n');
  const std::size_t line_start = newline == std::string_view::npos ? 0 : newline + 1;
  return {.line = static_cast<int>(std::ranges::count(before, '\n')) + 1,
          .column = static_cast<int>(before.size() - line_start) + 1};
}

// Returns the bytes of the UTF-8 sequence that starts `text`, or 0 where it is none: a stray or
// missing continuation byte, an overlong form, a surrogate, a code point above U+10FFFF.
// Source: RFC 3629, section 4.
std::size_t SequenceBytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  std::size_t length = 2;
  if (lead >= 0xE0) length = 3;
  if (lead >= 0xF0) length = 4;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  const bool overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool surrogate = lead == 0xED && byte(1) > 0x9F;
  const bool above_unicode = lead == 0xF4 && byte(1) > 0x8F;
  return overlong || surrogate || above_unicode ? 0 : length;
}

// Neither format allows control characters unescaped, and yaml-cpp takes U+0004 for the end.
std::optional<DocumentError> FindBadByte(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = SequenceBytes(text.substr(i));
    if (length == 0) {
      return DocumentError{.position = PositionAt(text, i), .message = "the text is not UTF-8"};
    }
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') {
      return DocumentError{.position = PositionAt(text, i),
                           .message = "a control character is not allowed here"};
    }
    i += length;
  }
  return std::nullopt;
}

// Puts the tree together from what either parser meets, in the text's order.
class TreeBuilder {
 public:
  // Only the first failure is kept, and what comes after it changes nothing.
  void Fail(Position position, std::string message, ErrorKind kind = ErrorKind::kBadRequest) {
    if (Failed()) return;
    failure_ = DocumentError{
        .kind = kind, .position = position, .pointer = Pointer(), .message = std::move(message)};
  }

  bool Failed() const { return failure_.has_value(); }
  bool HasRoot() const { return root_.has_value(); }

  // Whether the next thing that comes is an object's key.
  bool AwaitsKey() const {
    return !open_.empty() && std::holds_alternative<Object>(open_.back().value.content) &&
           !open_.back().has_key;
  }

  // Requires: AwaitsKey() is false.
  void Open(Position position, bool is_object) {
    if (Failed()) return;
    if (open_.size() == kMaxDocumentDepth) {
      Fail(position, "more than " + std::to_string(kMaxDocumentDepth) + " levels",
           ErrorKind::kTooLarge);
      return;
    }
    Frame frame;
    frame.value.position = position;
    if (is_object) {
      frame.value.content = Object{};
    } else {
      frame.value.content = List{};
    }
    open_.push_back(std::move(frame));
  }

  void Close() {
    if (Failed()) return;
    Value value = std::move(open_.back().value);
    open_.pop_back();
    Add(std::move(value));
  }

  // Requires: AwaitsKey().
  void Key(Position position, std::string key) {
    if (Failed()) return;
    if (key.size() > kMaxKeyBytes) {
      Fail(position, "a key of more than " + std::to_string(kMaxKeyBytes) + " bytes",
           ErrorKind::kTooLarge);
      return;
    }
    Frame& frame = open_.back();
    frame.key = std::move(key);
    frame.key_position = position;
    frame.has_key = true;
    if (!frame.keys.insert(frame.key).second && duplicate_keys_.size() < kMaxDuplicateKeys) {
      duplicate_keys_.push_back({.position = position,
                                 .pointer = Pointer(),
                                 .message = "the field stands more than once"});
    }
  }

  // Requires: AwaitsKey() is false.
  void Add(Value value) {
    if (Failed()) return;
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Frame& frame = open_.back();
    if (auto* list = std::get_if<List>(&frame.value.content)) {
      list->push_back(std::move(value));
      return;
    }
    std::get<Object>(frame.value.content)
        .push_back({.key = frame.key, .position = frame.key_position, .value = std::move(value)});
    frame.has_key = false;
  }

  // Where a null belongs that YAML writes as nothing: yaml-cpp marks it with whatever comes next.
  Position NullPosition(Position mark) const {
    if (open_.empty() || !open_.back().has_key) return mark;
    return open_.back().key_position.line == mark.line ? mark : open_.back().key_position;
  }

  // Requires: the parser has come to the end of its document, or Failed().
  std::expected<Document, DocumentError> Finish() && {
    if (Failed()) return std::unexpected(*std::move(failure_));
    return Document{.root = *std::move(root_), .duplicate_keys = std::move(duplicate_keys_)};
  }

 private:
  struct Frame {
    Value value;  // a List or an Object
    std::string key;
    Position key_position;
    bool has_key = false;
    std::unordered_set<std::string> keys;
  };

  // Returns where the next value goes, or the innermost open object while its key is unknown.
  std::string Pointer() const {
    std::string pointer;
    for (const Frame& frame : open_) {
      if (const auto* list = std::get_if<List>(&frame.value.content)) {
        pointer = ChildPointer(pointer, std::to_string(list->size()));
      } else if (frame.has_key) {
        pointer = ChildPointer(pointer, frame.key);
      }
    }
    return pointer;
  }

  std::vector<Frame> open_;  // outermost first
  std::optional<Value> root_;
  std::optional<DocumentError> failure_;
  std::vector<DocumentError> duplicate_keys_;
};

// Follows nlohmann's parser through the text, token by token, because its events do not say where
// they are. Punctuation is no event, so it is skipped; a token's own length follows from its start.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : text_(text) {}

  // Returns where the next token starts, and goes past it.
  Position Next() {
    while (offset_ < text_.size() && kBetweenTokens.find(text_[offset_]) != kNone) Step();
    const Position start{.line = line_, .column = static_cast<int>(offset_ - line_start_) + 1};
    if (offset_ == text_.size()) return start;
    const char first = text_[offset_];
    ++offset_;
    if (first == '"') {
      SkipString();
    } else if (first != '{' && first != '[') {
      while (offset_ < text_.size() && kBetweenTokens.find(text_[offset_]) == kNone) ++offset_;
    }
    return start;
  }

 private:
  static constexpr std::size_t kNone = std::string_view::npos;
  static constexpr std::string_view kBetweenTokens = " \t\r\n,:}]";

  void Step() {
    if (text_[offset_++] != '\n') return;
    ++line_;
    line_start_ = offset_;
  }

  void SkipString() {
    while (offset_ < text_.size() && text_[offset_] != '"') {
      offset_ += text_[offset_] == '\\' ? 2 : 1;
    }
    offset_ = std::min(offset_ + 1, text_.size());
  }

  std::string_view text_;
  std::size_t offset_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
};

// "[json.exception.parse_error.101] parse error at line 1, column 8: syntax error while ..."
// without what its reader is told elsewhere.
std::string WithoutPlace(std::string_view what) {
  for (const std::string_view mark : {std::string_view("] "), std::string_view(", column ")}) {
    const std::size_t at = what.find(mark);
    if (at != std::string_view::npos) what.remove_prefix(at + mark.size());
  }
  const std::size_t digits_end = what.find_first_not_of("0123456789");
  if (digits_end != std::string_view::npos && what.substr(digits_end).starts_with(": ")) {
    what.remove_prefix(digits_end + 2);
  }
  return std::string(Cut(what, kMaxMessageBytes));
}

// Every event returns whether the parser shall go on.
class JsonEvents : public nlohmann::json::json_sax_t {
 public:
  JsonEvents(std::string_view text, TreeBuilder& tree) : text_(text), cursor_(text), tree_(tree) {}

  bool null() override { return Scalar(std::monostate{}); }
  bool boolean(bool value) override { return Scalar(value); }
  bool number_integer(std::int64_t value) override { return Scalar(value); }
  bool number_unsigned(std::uint64_t value) override {
    if (std::in_range<std::int64_t>(value)) return Scalar(static_cast<std::int64_t>(value));
    return Scalar(static_cast<double>(value));
  }
  bool number_float(double value, const std::string& /*raw*/) override { return Scalar(value); }
  bool string(std::string& value) override { return Scalar(std::move(value)); }
  bool binary(nlohmann::json::binary_t& /*value*/) override { return false; }  // not in JSON
  bool key(std::string& key) override {
    tree_.Key(cursor_.Next(), std::move(key));
    return !tree_.Failed();
  }
  bool start_object(std::size_t /*elements*/) override { return Open(true); }
  bool start_array(std::size_t /*elements*/) override { return Open(false); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool parse_error(std::size_t bytes_read, const std::string& last_token,
                   const nlohmann::detail::exception& error) override {
    const std::size_t end = std::clamp<std::size_t>(bytes_read, 1, text_.size() + 1);
    tree_.Fail(PositionAt(text_, TokenStart(end, last_token)), WithoutPlace(error.what()));
    return false;
  }

 private:
  // Returns the offset of the wrong token that the first `end` bytes end with. `last_token` is just
  // that where it is a string; else it may hold earlier tokens too.
  std::size_t TokenStart(std::size_t end, std::string_view last_token) const {
    if (last_token.size() > 1 && last_token.front() == '"' && last_token.back() == '"') {
      return end < last_token.size() ? 0 : end - last_token.size();
    }
    const auto is_literal = [&](std::size_t at) {
      if (at >= text_.size()) return false;
      const char c = text_[at];
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
    };
    std::size_t start = end - 1;
    while (start > 0 && is_literal(start) && is_literal(start - 1)) --start;
    return start;
  }

  template <typename T>
  bool Scalar(T value) {
    tree_.Add({.position = cursor_.Next(), .content = std::move(value)});
    return !tree_.Failed();
  }

  bool Open(bool is_object) {
    tree_.Open(cursor_.Next(), is_object);
    return !tree_.Failed();
  }

  bool Close() {
    tree_.Close();
    return !tree_.Failed();
  }

  std::string_view text_;
  JsonCursor cursor_;
  TreeBuilder& tree_;
};

bool AreDigits(std::string_view text, int base) {
  return !text.empty() && std::ranges::all_of(text, [base](char c) {
    if (base == 16)
      return std::string_view("0123456789abcdefABCDEF").find(c) != std::string_view::npos;
    return c >= '0' && c < '0' + base;
  });
}

// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?, without the sign in front.
// Source: YAML 1.2.2, section 10.3.2.
bool IsCoreFloat(std::string_view text) {
  const std::size_t exponent = text.find_first_of("eE");
  if (exponent != std::string_view::npos) {
    std::string_view digits = text.substr(exponent + 1);
    if (digits.starts_with('+') || digits.starts_with('-')) digits.remove_prefix(1);
    if (!AreDigits(digits, 10)) return false;
    text = text.substr(0, exponent);
  }
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos) return AreDigits(text, 10);
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction = text.substr(point + 1);
  if (whole.empty()) return AreDigits(fraction, 10);
  return AreDigits(whole, 10) && (fraction.empty() || AreDigits(fraction, 10));
}

std::optional<std::int64_t> ParseInteger(std::string_view text, int base) {
  std::int64_t integer = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return integer;
}

// Types a plain scalar by the core schema. nullopt: a number that no finite double can hold.
std::optional<decltype(Value::content)> TypeOfPlain(const std::string& text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  std::string_view number = text;
  for (const auto& [prefix, base] : {std::pair("0x", 16), std::pair("0o", 8)}) {
    if (!number.starts_with(prefix) || !AreDigits(number.substr(2), base)) continue;
    return ParseInteger(number.substr(2), base);
  }
  if (number.starts_with('+')) number.remove_prefix(1);
  const std::string_view unsigned_number =
      number.starts_with('-') && number.data() == text.data() ? number.substr(1) : number;
  if (AreDigits(unsigned_number, 10)) {
    if (const auto integer = ParseInteger(number, 10)) return *integer;
  }
  if (unsigned_number == ".inf" || unsigned_number == ".Inf" || unsigned_number == ".INF" ||
      text == ".nan" || text == ".NaN" || text == ".NAN") {
    return std::nullopt;
  }
  if (!IsCoreFloat(unsigned_number)) return text;
  double value = 0;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), value);
  if (parsed.ec != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

Position ToPosition(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {.line = mark.line + 1, .column = mark.column + 1};
}

// yaml-cpp has no way to stop: after a failure its further events, which the text's limit bounds,
// fall through the tree builder.
class YamlEvents : public YAML::EventHandler {
 public:
  explicit YamlEvents(TreeBuilder& tree) : tree_(tree) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (tree_.HasRoot()) {
      tree_.Fail(ToPosition(mark), "the document has ended; a file holds one document");
    }
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    if (RefusesAsKey(mark)) return;
    tree_.Add({.position = tree_.NullPosition(ToPosition(mark)), .content = {}});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    tree_.Fail(ToPosition(mark), "aliases are not supported; write the value out");
  }
  void OnAnchor(const YAML::Mark& mark, const std::string& /*name*/) override {
    tree_.Fail(ToPosition(mark), "anchors are not supported");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                const std::string& text) override {
    if (tree_.Failed() || RefusesTag(mark, tag)) return;
    const Position position = ToPosition(mark);
    if (tree_.AwaitsKey()) {
      tree_.Key(position, text);
    } else if (tag != kPlainTag) {
      tree_.Add({.position = position, .content = text});
    } else if (auto content = TypeOfPlain(text)) {
      tree_.Add({.position = position, .content = *std::move(content)});
    } else {
      tree_.Fail(position, "the number is too large, or not a number");
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    Open(mark, tag, false);
  }
  void OnSequenceEnd() override { tree_.Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    Open(mark, tag, true);
  }
  void OnMapEnd() override { tree_.Close(); }

 private:
  static constexpr std::string_view kPlainTag = "?";
  static constexpr std::string_view kStringTag = "!";  // quoted, a block scalar, or a bare "!"

  void Open(const YAML::Mark& mark, const std::string& tag, bool is_object) {
    if (tree_.Failed() || RefusesTag(mark, tag) || RefusesAsKey(mark)) return;
    tree_.Open(ToPosition(mark), is_object);
  }

  bool RefusesTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == kPlainTag || tag == kStringTag) return false;
    tree_.Fail(ToPosition(mark), "tags are not supported");
    return true;
  }

  bool RefusesAsKey(const YAML::Mark& mark) {
    if (!tree_.AwaitsKey()) return false;
    tree_.Fail(ToPosition(mark), "a key must be a string");
    return true;
  }

  TreeBuilder& tree_;
};

std::expected<Document, DocumentError> ReadJson(std::string_view text) {
  TreeBuilder tree;
  JsonEvents events(text, tree);
  nlohmann::json::sax_parse(text, &events);
  return std::move(tree).Finish();
}

std::expected<Document, DocumentError> ReadYaml(std::string_view text) {
  TreeBuilder tree;
  YamlEvents events(tree);
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    while (!tree.Failed() && parser.HandleNextDocument(events)) {
    }
  } catch (const YAML::Exception& error) {
    tree.Fail(ToPosition(error.mark), std::string(Cut(error.msg, kMaxMessageBytes)));
  }
  if (!tree.HasRoot()) tree.Fail({}, "the document is empty");
  return std::move(tree).Finish();
}

}  // namespace

std::expected<Document, DocumentError> ReadDocument(std::string_view text) {
  if (text.size() > kMaxDocumentBytes) {
    return std::unexpected(DocumentError{
        .kind = ErrorKind::kTooLarge,
        .message = "the document has more than " + std::to_string(kMaxDocumentBytes) + " bytes"});
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (auto error = FindBadByte(text)) return std::unexpected(*std::move(error));
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json =
      first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
  return is_json ? ReadJson(text) : ReadYaml(text);
}

std::string ChildPointer(std::string_view parent, std::string_view key) {
  std::string pointer(parent);
  pointer += '/';
  for (const char c : key) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

std::string Quoted(std::string_view text) {
  const std::string_view shown = Cut(text, kMaxQuotedBytes);
  std::string quoted =
      nlohmann::json(shown).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (shown.size() < text.size()) quoted += "...";
  return quoted;
}

}  // namespace offcut::api
