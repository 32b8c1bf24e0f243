#include "api/csv_reader.h"

#include <algorithm>
#include <charconv>
#include <istream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "api/number_text.h"

namespace offcut::api {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t end = text.find(separator);
    fields.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return fields;
    text.remove_prefix(end + 1);
  }
}

bool IsPlain(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
}

CsvReader::CsvReader(CsvSource source) : source_(std::move(source)) {
  if (!ReadLine()) {
    Fail("has no line of column names");
    return;
  }
  if (line_.starts_with(kByteOrderMark)) line_.erase(0, kByteOrderMark.size());
  const std::vector<std::string_view> names = Split(line_, ',');
  for (std::size_t i = 0; i < names.size(); ++i) columns_[std::string(names[i])] = i;
  columns_count_ = names.size();
}

bool CsvReader::Next() {
  do {
    if (error_ || !ReadLine()) return false;
  } while (line_.empty());
  fields_ = Split(line_, ',');
  if (fields_.size() != columns_count_) {
    Fail(fmt::format("has {} where the first line names {}", NumberOf(fields_.size(), "field"),
                     columns_count_));
  }
  return !error_;
}

std::string_view CsvReader::Text(const std::string& column, bool is_optional) {
  const auto found = columns_.find(column);
  if (found != columns_.end()) return fields_[found->second];
  if (!is_optional) Fail(fmt::format("{}: no such column", column));
  return {};
}

std::string_view CsvReader::PlainText(const std::string& column) {
  const std::string_view text = Text(column);
  if (!error_ && !IsPlain(text)) {
    Fail(fmt::format("{}: is not a name of letters, digits, '-', '.' and '_'", column));
  }
  return text;
}

std::int64_t CsvReader::Int(const std::string& column, std::int64_t min, std::int64_t max) {
  const std::string_view text = Text(column);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = code == std::errc() && end == text.data() + text.size();
  if (!error_ && (!is_number || value < min || value > max)) {
    Fail(fmt::format("{}: is not a whole number from {} to {}", column, min, max));
  }
  return error_ ? 0 : value;
}

std::optional<std::int64_t> CsvReader::OptionalInt(const std::string& column, std::int64_t min,
                                                   std::int64_t max) {
  if (Text(column, true).empty()) return std::nullopt;
  return Int(column, min, max);
}

void CsvReader::Fail(std::string_view problem) {
  if (error_) return;
  error_ =
      Error{ErrorKind::kBadRequest, fmt::format("{}:{}: {}", source_.name, line_number_, problem)};
}

// Bounded, unlike std::getline.
bool CsvReader::ReadLine() {
  ++line_number_;
  line_.clear();
  bool has_end = false;
  while (!has_end) {
    const int c = source_.lines.get();
    if (c == std::char_traits<char>::eof()) break;
    has_end = c == '\n';
    if (has_end) continue;
    if (line_.size() == kCsvLineBytesMax) {
      Fail(fmt::format("line is longer than {} bytes", kCsvLineBytesMax));
      return false;
    }
    line_ += static_cast<char>(c);
  }
  if (source_.lines.bad()) {
    Fail("cannot be read");
    return false;
  }
  const bool has_line = has_end || !line_.empty();
  if (line_.ends_with('\r')) line_.pop_back();
  return has_line;
}

}  // namespace offcut::api
