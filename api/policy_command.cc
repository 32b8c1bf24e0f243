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
#include "api/policy_check.h"
#include "api/policy_file.h"
#include "api/policy_schema.h"
#include "api/printable.h"
#include "api/state_files.h"
#include "scheduler/snapshot.h"

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

// A pointer, a message or a file name may hold what would break the line.
std::string ToLine(const PolicyError& error) {
  std::string line = error.file + ":" + std::to_string(error.line) + ":" +
                     std::to_string(error.column) + (error.is_warning ? ": warning " : ": error ") +
                     std::string(CodeText(error.code)) + ": ";
  if (!error.pointer.empty()) line += error.pointer + ": ";
  line += error.message;
  if (!error.suggestion.empty()) line += " (did you mean " + Quoted(error.suggestion) + "?)";
  return Printable(line);
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
  std::vector<PolicyError> warnings;
  bool IsValid() const { return !read_error && errors.empty(); }
};

// Beside the cluster, if there is one. The snapshot is read for each policy: what it holds depends
// on the names of its resources.
void CheckFile(std::string_view text, const scheduler::Policy& policy,
               const std::vector<std::string>& snapshot_files, std::ostream& err,
               FileResult& result) {
  std::optional<scheduler::Snapshot> snapshot;
  if (!snapshot_files.empty()) {
    auto loaded = LoadSnapshot(snapshot_files, policy,
                               [&err](std::string_view line) { err << line << '\n'; });
    if (!loaded) {
      result.read_error = loaded.error();
      return;
    }
    snapshot = *std::move(loaded);
  }
  for (PolicyError& found :
       CheckPolicy(text, result.name, policy, snapshot ? &*snapshot : nullptr)) {
    (found.is_warning ? result.warnings : result.errors).push_back(std::move(found));
  }
}

FileResult ValidateFile(const std::string& file, const std::vector<std::string>& snapshot_files,
                        std::span<const std::string_view> strategies, std::istream& in,
                        std::ostream& err) {
  FileResult result{.name = file == kStandardInput ? "<stdin>" : file};
  const auto text = ReadPolicyText(file, in);
  if (!text) {
    result.read_error = text.error();
    return result;
  }
  auto policy = ReadPolicy(*text, result.name, strategies);
  if (policy) {
    CheckFile(*text, *policy, snapshot_files, err, result);
  } else {
    result.errors = std::move(policy.error());
  }
  return result;
}

void ReportText(std::span<const FileResult> results, std::ostream& out) {
  for (const FileResult& result : results) {
    for (const PolicyError& error : result.errors) out << ToLine(error) << '\n';
    for (const PolicyError& warning : result.warnings) out << ToLine(warning) << '\n';
    if (result.IsValid()) out << Printable(result.name) << ": valid\n";
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
    for (const PolicyError& warning : result.warnings) file["warnings"].push_back(ToJson(warning));
    files.push_back(std::move(file));
  }
  Json report;
  report["valid"] = std::ranges::all_of(results, &FileResult::IsValid);
  report["files"] = std::move(files);
  out << report.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace

int ValidatePolicies(const ValidateSettings& settings, std::span<const std::string_view> strategies,
                     std::istream& in, std::ostream& out, std::ostream& err) {
  if (settings.files.empty()) {
    err << "no policy file is named\n";
    return kExitCannotRead;
  }
  if (std::ranges::count(settings.snapshot_files, kStandardInput) > 0 &&
      (settings.files.size() > 1 || settings.files.front() == kStandardInput)) {
    err << "a snapshot on standard input is for one policy, from a file\n";
    return kExitCannotRead;
  }
  std::vector<FileResult> results;
  for (const std::string& file : settings.files) {
    results.push_back(ValidateFile(file, settings.snapshot_files, strategies, in, err));
    if (results.back().read_error) {
      err << Printable(results.back().name) << ": "
          << PrintableLines(results.back().read_error->message) << '\n';
    }
  }
  if (settings.report == PolicyReport::kJson) {
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
