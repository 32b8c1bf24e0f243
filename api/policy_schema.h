// The JSON Schema (draft-07) of the policy file, for editors and other programs: the text of
// deploy/policy.schema.json, compiled in. A policy that it refuses, ReadPolicy() refuses too; some
// that it takes (two resources with one name) are refused there.
#pragma once

#include <string_view>

namespace offcut::api {

// Returns the schema's text, with a final line feed. Pure; may be called from any thread.
std::string_view PolicySchema();

}  // namespace offcut::api
