#include "api/policy_reader.h"

#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "api/closest_word.h"

namespace offcut::api {
namespace {

void RefuseField(const Member& member, const Place& place, std::span<const Field> fields,
                 ErrorList& errors) {
  std::vector<std::string_view> names;
  for (const Field& field : fields) names.push_back(field.name);
  errors.Add(place, PolicyErrorCode::kUnknownField, "there is no such field",
             ClosestWord(member.key, names));
}

// The member or item whose pointer ends in `token`, "/name", or nullptr.
const Value* FindChild(const Value& value, std::string_view token) {
  if (const auto* object = std::get_if<Object>(&value.content)) {
    for (const Member& member : *object) {
      if (ChildPointer("", member.key) == token) return &member.value;
    }
  } else if (const auto* list = std::get_if<List>(&value.content)) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (ChildPointer("", std::to_string(i)) == token) return &(*list)[i];
    }
  }
  return nullptr;
}

}  // namespace

std::string Describe(const Value& value) {
  struct Describer {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool boolean) const { return boolean ? "true" : "false"; }
    std::string operator()(std::int64_t integer) const {
      return "the number " + std::to_string(integer);
    }
    std::string operator()(double number) const {
      return "the number " + nlohmann::json(number).dump();
    }
    std::string operator()(const std::string& text) const { return "the string " + Quoted(text); }
    std::string operator()(const List& /*list*/) const { return "a list"; }
    std::string operator()(const Object& /*object*/) const { return "an object"; }
  };
  return std::visit(Describer{}, value.content);
}

void RefuseType(const Value& value, const Place& place, std::string_view allowed,
                ErrorList& errors) {
  errors.Add(place, PolicyErrorCode::kWrongType,
             "got " + Describe(value) + ", allowed " + std::string(allowed));
}

void RefuseName(std::string_view name, const Place& place, std::string_view allowed,
                ErrorList& errors) {
  errors.Add(place, PolicyErrorCode::kInvalidName,
             "got " + Quoted(name) + ", allowed " + std::string(allowed));
}

const std::string* ReadString(const Value& value, const Place& place, ErrorList& errors) {
  const auto* text = std::get_if<std::string>(&value.content);
  if (text == nullptr) RefuseType(value, place, "a string", errors);
  return text;
}

std::optional<bool> ReadBool(const Value& value, const Place& place, ErrorList& errors) {
  if (const auto* boolean = std::get_if<bool>(&value.content)) return *boolean;
  RefuseType(value, place, "true or false", errors);
  return std::nullopt;
}

std::optional<std::int64_t> ReadInt64(const Value& value, const Place& place, Range range,
                                      ErrorList& errors) {
  const std::string allowed =
      "an integer from " + std::to_string(range.min) + " to " + std::to_string(range.max);
  double number = 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value.content)) {
    number = static_cast<double>(*integer);
  } else if (const auto* real = std::get_if<double>(&value.content);
             real != nullptr && *real == std::trunc(*real)) {
    number = *real;
  } else {
    RefuseType(value, place, allowed, errors);
    return std::nullopt;
  }
  if (number < static_cast<double>(range.min) || number > static_cast<double>(range.max)) {
    errors.Add(place, PolicyErrorCode::kOutOfRange,
               "got " + Describe(value) + ", allowed " + allowed);
    return std::nullopt;
  }
  return static_cast<std::int64_t>(number);
}

std::optional<int> ReadInteger(const Value& value, const Place& place, Range range,
                               ErrorList& errors) {
  const auto integer = ReadInt64(value, place, range, errors);
  if (!integer) return std::nullopt;
  return static_cast<int>(*integer);
}

const std::string* ReadOneOf(const Value& value, const Place& place,
                             std::span<const std::string_view> allowed, ErrorList& errors) {
  std::string list;
  for (const std::string_view word : allowed) {
    if (!list.empty()) list += word == allowed.back() ? " or " : ", ";
    list += Quoted(word);
  }
  const auto* text = std::get_if<std::string>(&value.content);
  if (text == nullptr) {
    RefuseType(value, place, list, errors);
    return nullptr;
  }
  if (std::ranges::find(allowed, *text) != allowed.end()) return text;
  errors.Add(place, PolicyErrorCode::kUnknownValue, "got " + Describe(value) + ", allowed " + list,
             ClosestWord(*text, allowed));
  return nullptr;
}

void ReadFields(const Value& value, const Place& place, ErrorList& errors,
                std::initializer_list<Field> fields) {
  const auto* object = std::get_if<Object>(&value.content);
  if (object == nullptr) {
    RefuseType(value, place, "an object", errors);
    return;
  }
  for (const Member& member : *object) {
    const std::string pointer = ChildPointer(place.pointer, member.key);
    const auto* field = std::ranges::find(fields, member.key, &Field::name);
    if (field == fields.end()) {
      RefuseField(member, {member.position, pointer}, fields, errors);
    } else {
      field->read(member.value, {member.value.position, pointer});
    }
  }
}

void RequireFields(const Value& value, const Place& place, ErrorList& errors,
                   std::initializer_list<std::string_view> fields) {
  const auto* object = std::get_if<Object>(&value.content);
  if (object == nullptr) return;
  for (const std::string_view field : fields) {
    if (FindMember(*object, field) != nullptr) continue;
    errors.Add({place.position, ChildPointer(place.pointer, field)}, PolicyErrorCode::kMissingField,
               "must be there");
  }
}

const List* ReadList(const Value& value, const Place& place, std::size_t count_max,
                     std::string_view what, ErrorList& errors) {
  const auto* list = std::get_if<List>(&value.content);
  if (list == nullptr) {
    RefuseType(value, place, "a list of " + std::string(what), errors);
    return nullptr;
  }
  if (list->size() <= count_max) return list;
  errors.Add(place, PolicyErrorCode::kTooLarge,
             "got " + std::to_string(list->size()) + " " + std::string(what) + ", allowed " +
                 std::to_string(count_max));
  return nullptr;
}

void ReadModels(const Value& value, const Place& place, std::size_t count_max, ErrorList& errors,
                std::vector<std::string>& models) {
  const List* list = ReadList(value, place, count_max, "models", errors);
  if (list == nullptr) return;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Place item = ItemPlace(place, *list, i);
    const std::string* model = ReadString((*list)[i], item, errors);
    if (model == nullptr) continue;
    if (model->empty() || model->size() > kMaxNameBytes) {
      RefuseName(*model, item, "1 to 63 bytes, in which * matches any text", errors);
      continue;
    }
    if (model->starts_with('!')) {  // of a pod's annotation, where it denies
      RefuseName(*model, item, "models that are accepted: none is denied by ! here", errors);
      continue;
    }
    models.push_back(*model);
  }
}

Place FindPlace(const Value& root, std::string_view pointer) {
  const Value* at = &root;
  std::string_view rest = pointer;
  while (!rest.empty()) {
    const std::string_view token = rest.substr(0, rest.find('/', 1));
    const Value* child = FindChild(*at, token);
    if (child == nullptr) break;
    at = child;
    rest.remove_prefix(token.size());
  }
  return {at->position, std::string(pointer)};
}

Place ItemPlace(const Place& place, const List& list, std::size_t index) {
  return {list[index].position, ChildPointer(place.pointer, std::to_string(index))};
}

const Member* FindMember(const Object& object, std::string_view key) {
  const auto found = std::ranges::find(object, key, &Member::key);
  return found == object.end() ? nullptr : &*found;
}

bool IsAlphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool IsNameCharacter(char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; }

}  // namespace offcut::api
