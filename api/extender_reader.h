// Reads the bodies of kube-scheduler's extender protocol.
//
// As lenient as Go's decoder about keys (any ASCII case; unknown ones are ignored; the last of
// several counts; null is as good as absent) and stricter about the rest: what is ignored must be
// sound JSON too, numbers must be integer tokens, and nothing may follow the body's value.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <string_view>

#include "api/error.h"
#include "api/extender_types.h"
#include "api/pod_json.h"

namespace offcut::api {

// Limits of one request. Above them: Error of kind kTooLarge.
inline constexpr std::size_t kRequestNodesMax = 100'000;  // Kubernetes is tested up to 5,000 nodes
inline constexpr std::size_t kVictimsPerNodeMax = 10'000;

// Reads bodies. Requires: kBodyPaddingBytes readable bytes after each body. Errors name the member:
// `Nodes.items[2].metadata.name is missing`.
// Keeps its buffers from body to body (those of a very large one are given back), so one reader
// serves many; not thread-safe.
class ExtenderReader {
 public:
  ExtenderReader();
  ~ExtenderReader();
  ExtenderReader(ExtenderReader&&) noexcept;
  ExtenderReader& operator=(ExtenderReader&&) noexcept;

  // Requests.
  std::expected<ExtenderArgs, Error> ReadArgs(std::string_view body);
  // The memory of names that have been read, to read the next into.
  void GiveBack(ExtenderArgs&& args);
  std::expected<ExtenderPreemptionArgs, Error> ReadPreemptionArgs(std::string_view body);
  std::expected<ExtenderBindingArgs, Error> ReadBindingArgs(std::string_view body);

  // Answers, for whoever plays the scheduler.
  std::expected<ExtenderFilterResult, Error> ReadFilterResult(std::string_view body);
  std::expected<HostPriorityList, Error> ReadHostPriorityList(std::string_view body);
  std::expected<ExtenderPreemptionResult, Error> ReadPreemptionResult(std::string_view body);
  std::expected<ExtenderBindingResult, Error> ReadBindingResult(std::string_view body);

 private:
  struct Parsers;
  Parsers& Prepare(std::size_t body_bytes);

  std::unique_ptr<Parsers> parsers_;
};

}  // namespace offcut::api
