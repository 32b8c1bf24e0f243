// `offcut policy validate` and `offcut policy schema`, less the command line.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace offcut::api {

// kText: a line for each error and warning, `FILE:LINE:COLUMN: error CODE: POINTER: MESSAGE
// (HINT)`, and `FILE: valid` for a file without errors. kJson: one object for all: {"valid": bool,
// "files": [{"file", "valid", "errors": [{"line", "column", "pointer", "code", "message",
// "suggestion"}], "warnings": likewise}]}. A file that cannot be read has "cannotRead", a text, in
// place of "errors"; so has one whose snapshot cannot. Left out: a suggestion that there is not,
// and warnings where there are none.
enum class PolicyReport { kText, kJson };

struct ValidateSettings {
  std::vector<std::string> files;           // "-": standard input
  std::vector<std::string> snapshot_files;  // the cluster that the policies are for; empty: any
  PolicyReport report = PolicyReport::kText;
};

// Validates each file, "-" being `in`, alone and, where there are files of a snapshot, beside that
// cluster, and reports on `out`; what cannot be read is told on `err` too, as is what is left out
// of the snapshot. Returns the exit code: 0 all are valid, 1 some are not, 2 some cannot be read,
// or no file is named. Reads no more of a policy than kMaxDocumentBytes + 1.
int ValidatePolicies(const ValidateSettings& settings, std::span<const std::string_view> strategies,
                     std::istream& in, std::ostream& out, std::ostream& err);

// Prints the JSON Schema of policies. Returns the exit code: 0, or 2 where `out` took it not.
int PrintPolicySchema(std::ostream& out);

}  // namespace offcut::api
