// What is wrong with a policy's text, and where.
// Pure; not synchronised.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/document.h"

namespace offcut::api {

inline constexpr std::size_t kMaxPolicyErrors = 100;  // that are told; further ones are not

enum class PolicyErrorCode {
  kSyntax,          // not JSON or YAML, or not one document; nothing else was looked at
  kTooLarge,        // above a named limit
  kDuplicateField,  // a field stands more than once in its object
  kUnknownField,
  kMissingField,
  kWrongType,
  kUnknownValue,  // not one of the values allowed
  kOutOfRange,
  kInvalidName,   // not an extended resource name, or the part of one that is asked for
  kNameConflict,  // two resources with one name
  kConflict,      // fields that do not go together
  kUnreachableTenant,
  kNoEffect,          // what is said changes nothing where it stands
  kUnownedNamespace,  // pods of it may name a tenant, and those that name none are of none
  kBeyondCluster,     // more is guaranteed than the cluster has
  kEmptyPool,         // no node has a GPU of it
  kTooManyErrors,     // the last of kMaxPolicyErrors + 1: there may be more
};

// Returns the code as it is printed: "unknown-field". Stable: scripts may compare it.
std::string_view CodeText(PolicyErrorCode code);

struct PolicyError {
  std::string file;     // as the caller named it
  int line = 1;         // from 1
  int column = 1;       // from 1, in bytes
  std::string pointer;  // RFC 6901: "/packing/strategy"; empty: the document
  PolicyErrorCode code = PolicyErrorCode::kSyntax;
  std::string message;      // for a person; lower case, no final full stop
  std::string suggestion;   // the word that was probably meant; empty: none comes close
  bool is_warning = false;  // the policy can be used all the same
};

// For logs: "policy.yaml:3:5: unknown-field: /tenants/0/nmae: ... (did you mean "name"?)".
std::string OneLineOf(const PolicyError& error);

// Where a value stands.
struct Place {
  Position position;
  std::string pointer;
};

class ErrorList {
 public:
  explicit ErrorList(std::string_view file) : file_(file) {}

  void Add(const Place& place, PolicyErrorCode code, std::string message,
           std::string_view suggestion = {});

  std::size_t size() const { return errors_.size(); }

  std::vector<PolicyError> InOrderOfText() &&;

 private:
  std::string file_;
  std::vector<PolicyError> errors_;
};

}  // namespace offcut::api
