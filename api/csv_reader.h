// Reads a CSV file row by row, columns by the names in its first line. No quotes: fields are
// numbers and plain names. A byte order mark, CRLF and empty lines are passed over. Not
// synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/error.h"

namespace offcut::api {

inline constexpr std::size_t kCsvLineBytesMax = 4096;

struct CsvSource {
  std::istream& lines;
  std::string name;  // for errors
};

std::vector<std::string_view> Split(std::string_view text, char separator);

// Text that needs no escaping in JSON, neither as a name nor as a label.
bool IsPlain(std::string_view text);

// A problem in one row ends the reading, and is told by `error()`. It names FILE:LINE and the
// column.
class CsvReader {
 public:
  explicit CsvReader(CsvSource source);

  // False: no more rows, or an error.
  bool Next();

  // The field, empty where the file lacks an optional column. Valid until Next().
  std::string_view Text(const std::string& column, bool is_optional = false);
  std::string_view PlainText(const std::string& column);
  std::int64_t Int(const std::string& column, std::int64_t min, std::int64_t max);
  // The same for a column that may be missing or empty.
  std::optional<std::int64_t> OptionalInt(const std::string& column, std::int64_t min,
                                          std::int64_t max);

  // The first problem counts.
  void Fail(std::string_view problem);
  const std::optional<Error>& error() const { return error_; }

 private:
  bool ReadLine();

  CsvSource source_;
  std::string line_;
  std::int64_t line_number_ = 0;
  std::map<std::string, std::size_t> columns_;
  std::size_t columns_count_ = 0;
  std::vector<std::string_view> fields_;  // into line_
  std::optional<Error> error_;
};

}  // namespace offcut::api
