// An API server that a test plays: answers by request, in steps, and watches that say what the test
// pushes. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "test/testing/scripted_server.h"

namespace offcut {

// What the server does with one request.
struct ApiStep {
  std::string reply;
  enum class Then { kGoOn, kCut, kHold } then = Then::kGoOn;
  std::shared_future<void> once = {};  // where valid: the reply waits for it
};
inline constexpr auto kCut = ApiStep::Then::kCut;
inline constexpr auto kHold = ApiStep::Then::kHold;

class ApiServer {
 public:
  ApiServer() : server_([this](Peer& peer, int) { Serve(peer); }) {}
  ~ApiServer();

  std::uint16_t Port() const { return server_.Port(); }

  // The steps of "METHOD /target", or of all requests of "METHOD" that have none of their own. The
  // last one repeats. What nothing is said about is answered 404.
  void On(const std::string& what, std::vector<ApiStep> steps);

  // The requests of that method, watches left out, once there are so many.
  std::vector<PeerRequest> WaitForRequests(std::string_view method, std::size_t count);
  std::size_t Count(std::string_view method);

  // The bytes that the watches of a kind ("nodes", "pods") get next, heads of responses included:
  // what one has sent the next one does not send again. A new watch ends the one before.
  void Push(const std::string& kind, std::string bytes);
  // Whether so many watches of that kind have been asked for, soon.
  bool WaitForWatches(const std::string& kind, int count);
  // Ends the watch behind what was pushed.
  void CutWatch(const std::string& kind) { Push(kind, ""); }

 private:
  void Serve(Peer& peer);
  ApiStep Take(const PeerRequest& request);
  bool Answer(Peer& peer, const ApiStep& step);
  void ServeWatch(Peer& peer, const std::string& kind);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::deque<ApiStep>> steps_;
  std::vector<PeerRequest> requests_;
  std::map<std::string, std::deque<std::string>> pushed_;  // "": a cut
  std::map<std::string, int> watches_;                     // so far, by kind
  bool is_ending_ = false;
  ScriptedServer server_;  // last: its threads use all that stands above
};

// A streaming list of these objects, and one event of its watch.
std::string WatchList(const std::vector<std::string>& objects);
std::string WatchEventLine(std::string_view type, std::string_view object);
// A Status as the API server writes it.
std::string StatusBody(int code, std::string_view reason, std::string_view message);

}  // namespace offcut
