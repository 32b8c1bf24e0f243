// A failure outside our own code: bad input, or a call that did not succeed.
// A refusal of a pod is no Error but a scheduler::Verdict; our own bug is an assert.
#pragma once

#include <string>

namespace offcut::api {

enum class ErrorKind {
  kBadRequest,   // what came is not what the protocol or the format allows
  kNotFound,     // a thing that was named does not exist
  kConflict,     // the state does not allow it (now)
  kTooLarge,     // above a named limit
  kUnavailable,  // we, or something that we need, cannot answer yet
};

struct Error {
  ErrorKind kind = ErrorKind::kBadRequest;
  std::string message;  // for a person; lower case, no final full stop
};

}  // namespace offcut::api
