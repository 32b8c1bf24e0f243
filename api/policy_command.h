// `offcut policy validate` and `offcut policy schema`, less the command line.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

namespace offcut::api {

// kText: a line for each error, `FILE:LINE:COLUMN: error CODE: POINTER: MESSAGE (HINT)`, and
// `FILE: valid` for a file without.
// kJson: one object for all: {"valid": bool, "files": [{"file", "valid", "errors": [{"line",
// "column", "pointer", "code", "message", "suggestion"}]}]}. A file that cannot be read has
// "cannotRead", a text, in place of "errors"; a suggestion that there is not is left out.
enum class PolicyReport { kText, kJson };

// Validates each file, "-" being `in`, and reports on `out`; what cannot be read is told on `err`
// too. Returns the exit code: 0 all are valid, 1 some are not, 2 some cannot be read, or no file is
// named. Reads no more of a file than kMaxDocumentBytes + 1.
int ValidatePolicies(std::span<const std::string> files, PolicyReport report,
                     std::span<const std::string_view> strategies, std::istream& in,
                     std::ostream& out, std::ostream& err);

// Prints the JSON Schema of policies. Returns the exit code: 0, or 2 where `out` took it not.
int PrintPolicySchema(std::ostream& out);

}  // namespace offcut::api
