#include "api/policy_command.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <expected>
#include <fstream>
#include <istream>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/document.h"
#include "api/error.h"
#include "api/policy_file.h"
#include "api/policy_schema.h"

namespace offcut::api {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kExitValid = 0;
constexpr int kExitInvalid = 1;
constexpr int kExitCannotRead = 2;
constexpr std::string_view kStandardInput = "-";

// One byte above the limit is enough for ReadPolicy() to see that there are too many.
std::expected<std::string, Error> ReadAll(std::istream& in) {
  std::string text(kMaxDocumentBytes + 1, '\0');
  errno = 0;
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) {
    const int error = errno;
    return std::unexpected(Error{.kind = ErrorKind::kUnavailable,
                                 .message = error == 0 ? "cannot be read" : std::strerror(error)});
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

std::expected<std::string, Error> ReadPolicyText(const std::string& file, std::istream& in) {
  if (file == kStandardInput) return ReadAll(in);
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return std::unexpected(Error{.kind = ErrorKind::kNotFound, .message = std::strerror(errno)});
  }
  return ReadAll(stream);
}

// A pointer or a file name may hold what would break the line: shown as JSON would escape it.
std::string OnOneLine(std::string_view text) {
  if (std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
    return std::string(text);
  }
  const std::string quoted = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

std::string ToLine(const PolicyError& error) {
  std::string line = OnOneLine(error.file) + ":" + std::to_string(error.line) + ":" +
                     std::to_string(error.column) + ": error " + std::string(CodeText(error.code)) +
                     ": ";
  if (!error.pointer.empty()) line += OnOneLine(error.pointer) + ": ";
  line += error.message;
  if (!error.suggestion.empty()) line += " (did you mean " + Quoted(error.suggestion) + "?)";
  return line;
}

Json ToJson(const PolicyError& error) {
  Json out;
  out["line"] = error.line;
  out["column"] = error.column;
  out["pointer"] = error.pointer;
  out["code"] = CodeText(error.code);
  out["message"] = error.message;
  if (!error.suggestion.empty()) out["suggestion"] = error.suggestion;
  return out;
}

struct FileResult {
  std::string name;
  std::optional<Error> read_error;
  std::vector<PolicyError> errors;
  bool IsValid() const { return !read_error && errors.empty(); }
};

FileResult ValidateFile(const std::string& file, std::span<const std::string_view> strategies,
                        std::istream& in) {
  FileResult result{
      .name = file == kStandardInput ? "<stdin>" : file, .read_error = std::nullopt, .errors = {}};
  const auto text = ReadPolicyText(file, in);
  if (!text) {
    result.read_error = text.error();
    return result;
  }
  auto policy = ReadPolicy(*text, result.name, strategies);
  if (!policy) result.errors = std::move(policy.error());
  return result;
}

void ReportText(std::span<const FileResult> results, std::ostream& out) {
  for (const FileResult& result : results) {
    for (const PolicyError& error : result.errors) out << ToLine(error) << '\n';
    if (result.IsValid()) out << OnOneLine(result.name) << ": valid\n";
  }
}

void ReportJson(std::span<const FileResult> results, std::ostream& out) {
  Json files = Json::array();
  for (const FileResult& result : results) {
    Json file;
    file["file"] = result.name;
    file["valid"] = result.IsValid();
    if (result.read_error) {
      file["cannotRead"] = result.read_error->message;
    } else {
      file["errors"] = Json::array();
      for (const PolicyError& error : result.errors) file["errors"].push_back(ToJson(error));
    }
    files.push_back(std::move(file));
  }
  Json report;
  report["valid"] = std::ranges::all_of(results, &FileResult::IsValid);
  report["files"] = std::move(files);
  out << report.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace

int ValidatePolicies(std::span<const std::string> files, PolicyReport report,
                     std::span<const std::string_view> strategies, std::istream& in,
                     std::ostream& out, std::ostream& err) {
  if (files.empty()) {
    err << "no policy file is named\n";
    return kExitCannotRead;
  }
  std::vector<FileResult> results;
  for (const std::string& file : files) {
    results.push_back(ValidateFile(file, strategies, in));
    if (results.back().read_error) {
      err << OnOneLine(results.back().name) << ": " << results.back().read_error->message << '\n';
    }
  }
  if (report == PolicyReport::kJson) {
    ReportJson(results, out);
  } else {
    ReportText(results, out);
  }
  const auto is_unread = [](const FileResult& result) { return result.read_error.has_value(); };
  if (std::ranges::any_of(results, is_unread)) return kExitCannotRead;
  return std::ranges::all_of(results, &FileResult::IsValid) ? kExitValid : kExitInvalid;
}

int PrintPolicySchema(std::ostream& out) {
  out << PolicySchema() << std::flush;
  return out ? kExitValid : kExitCannotRead;
}

}  // namespace offcut::api
