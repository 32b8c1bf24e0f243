// Reading the fields of a policy: each function takes a value of the document with its place, puts
// what it reads where it is told, and what is wrong on the list.
// Pure; not synchronised.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/document.h"
#include "api/policy_error.h"

namespace offcut::api {

inline constexpr std::size_t kMaxNameBytes = 63;  // of a label's value, and of what is like it

// One spelling for reading and printing.
template <typename Enum>
struct EnumName {
  std::string_view name;
  Enum value;
};

// For a message: "the number 3".
std::string Describe(const Value& value);

void RefuseType(const Value& value, const Place& place, std::string_view allowed,
                ErrorList& errors);
void RefuseName(std::string_view name, const Place& place, std::string_view allowed,
                ErrorList& errors);

// Returns the text of a string value, or nullptr and an error.
const std::string* ReadString(const Value& value, const Place& place, ErrorList& errors);

std::optional<bool> ReadBool(const Value& value, const Place& place, ErrorList& errors);

// Up to 2^53 at most, so that a number that JSON has as a double is exact.
struct Range {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

// As JSON Schema has it, 1.0 is an integer.
std::optional<std::int64_t> ReadInt64(const Value& value, const Place& place, Range range,
                                      ErrorList& errors);
// Requires: the range is that of an int.
std::optional<int> ReadInteger(const Value& value, const Place& place, Range range,
                               ErrorList& errors);

// Returns the string, if it is one of `allowed`.
const std::string* ReadOneOf(const Value& value, const Place& place,
                             std::span<const std::string_view> allowed, ErrorList& errors);

template <typename Enum, std::size_t kCount>
void ReadEnum(const Value& value, const Place& place,
              const std::array<EnumName<Enum>, kCount>& names, ErrorList& errors, Enum& out) {
  std::array<std::string_view, kCount> allowed;
  std::ranges::transform(names, allowed.begin(), &EnumName<Enum>::name);
  const std::string* text = ReadOneOf(value, place, allowed, errors);
  if (text != nullptr) out = std::ranges::find(names, *text, &EnumName<Enum>::name)->value;
}

template <typename Enum, std::size_t kCount>
std::string_view NameOf(Enum value, const std::array<EnumName<Enum>, kCount>& names) {
  const auto* found = std::ranges::find(names, value, &EnumName<Enum>::value);
  assert(found != names.end());
  return found->name;
}

struct Field {
  std::string_view name;
  std::function<void(const Value&, const Place&)> read;
};

// Reads each member of an object with the field of its name. An unknown field's place is its key's,
// a known one's is its value's.
void ReadFields(const Value& value, const Place& place, ErrorList& errors,
                std::initializer_list<Field> fields);

// A field of the document. Null: it is not there.
struct Section {
  const Value* value = nullptr;
  Place place;
};

// An error for each of the fields that an object lacks.
void RequireFields(const Value& value, const Place& place, ErrorList& errors,
                   std::initializer_list<std::string_view> fields);

// The items of a list of at most `count_max`, or nullptr and an error. `what` are they: "tenants".
const List* ReadList(const Value& value, const Place& place, std::size_t count_max,
                     std::string_view what, ErrorList& errors);

// Globs over GPU models, as the annotation offcut.dev/gpu-models has them.
void ReadModels(const Value& value, const Place& place, std::size_t count_max, ErrorList& errors,
                std::vector<std::string>& models);

// Where the value that the pointer names stands; of one that is not there, the nearest above it.
Place FindPlace(const Value& root, std::string_view pointer);

// Where the item of the list at `place` stands.
Place ItemPlace(const Place& place, const List& list, std::size_t index);

// The member of that key, or nullptr.
const Member* FindMember(const Object& object, std::string_view key);

bool IsAlphanumeric(char c);   // of ASCII
bool IsNameCharacter(char c);  // alphanumeric, '-', '_' or '.'
// Of what IsDnsLabel() in api/text_fields.h accepts.
inline constexpr std::string_view kDnsLabelAllowed =
    "at most 63 lower case letters, digits and inner '-'";

}  // namespace offcut::api
