// What a JSON or YAML text says, with the place of every key and value, so that whoever finds
// something wrong in it can name the line. A text whose first character other than white space is
// '{' or '[' is JSON and nothing laxer; every other text is YAML 1.2 of one document, its plain
// scalars typed by the core schema ("yes" is a string), without anchors, aliases and tags, so
// that nothing in it expands.
// Pure; the functions may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/error.h"

namespace offcut::api {

inline constexpr std::size_t kMaxDocumentBytes = 1 << 20;
inline constexpr std::size_t kMaxDocumentDepth = 64;   // objects and lists inside one another
inline constexpr std::size_t kMaxKeyBytes = 1024;      // YAML's own limit for a simple key
inline constexpr std::size_t kMaxDuplicateKeys = 100;  // that are told; further ones are not

// Both count from 1; columns are bytes, as compilers count them, a byte order mark excluded.
struct Position {
  int line = 1;
  int column = 1;
  auto operator<=>(const Position&) const = default;
};

struct Value;
struct Member;
using List = std::vector<Value>;
using Object = std::vector<Member>;  // in the text's order

// monostate is null. An integer beyond int64 is a double; a double is finite.
struct Value {
  Position position;  // of its first character; of its key where YAML leaves the value out
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Object> content;
};

struct Member {
  std::string key;
  Position position;  // of the key
  Value value;
};

struct DocumentError {
  ErrorKind kind = ErrorKind::kBadRequest;  // kTooLarge: above a limit of this header
  Position position;
  std::string pointer;  // RFC 6901; empty: the whole document, or a place outside of any value
  std::string message;  // for a person; lower case, no final full stop
};

struct Document {
  Value root;
  // One for each key that repeats an earlier one of its object. `root` holds both members, so that
  // other errors can be told in the same breath; a text with any of these is not to be used.
  std::vector<DocumentError> duplicate_keys;
};

// Reads one document. The error is the first thing that makes the rest unreadable: bad syntax,
// bytes that are not UTF-8, control characters, a limit, no document or more than one.
std::expected<Document, DocumentError> ReadDocument(std::string_view text);

// Returns the JSON pointer of the member `key` of the object at `parent`.
std::string ChildPointer(std::string_view parent, std::string_view key);

// Returns `text` in quotation marks with JSON's escapes, cut after 64 bytes, for a message.
std::string Quoted(std::string_view text);

}  // namespace offcut::api
