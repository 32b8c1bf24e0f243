#include "api/leader_election.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "api/kube_time.h"
#include "api/printable.h"

namespace offcut::api {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kLeases = "/apis/coordination.k8s.io/v1/namespaces/";
// Who waits for the lease looks after 1 to 1.2 retry periods. client-go's 1 to 2.2 would make a
// standby see the last renewal up to 4.4 s late, and wait for its end so much longer.
constexpr double kJitterFactor = 0.2;

std::optional<nlohmann::json> ObjectOf(const KubeResult& result) {
  if (OutcomeOf(result) != CallOutcome::kDone) return std::nullopt;
  auto object = nlohmann::json::parse(result->body, nullptr, false);
  if (!ReadLease(object)) return std::nullopt;
  return object;
}

// A number that the API server takes, whatever another has written: 32 bits, and not negative.
int OneMore(int transitions) {
  return transitions < std::numeric_limits<int>::max() ? transitions + 1 : 0;
}

}  // namespace

LeaderElection::LeaderElection(KubeClient& client, LeaderElectionSettings settings,
                               std::mt19937_64 random, std::function<void()> started,
                               std::function<void()> stopped)
    : client_(client),
      settings_(std::move(settings)),
      random_(random),
      started_(std::move(started)),
      stopped_(std::move(stopped)),
      problem_("the Lease has not been asked for yet") {}

void LeaderElection::Start() { Try(); }

std::string LeaderElection::Problem() const {
  const std::lock_guard lock(problem_mutex_);
  return problem_;
}

void LeaderElection::SetProblem(std::string problem) {
  if (problem.empty()) is_settled_ = true;
  const std::lock_guard lock(problem_mutex_);
  problem_ = std::move(problem);
}

// Without the right to write it we never lead, though we could read who does.
void LeaderElection::NoteFailure(const KubeResult& result, bool was_write) {
  const bool is_forbidden = result && (result->status == 401 || result->status == 403);
  const bool is_ours_to_say = !is_settled_ || (was_write && is_forbidden && !is_leading_);
  if (!is_ours_to_say) return;
  SetProblem(fmt::format("cannot {} {}/{}: {}", was_write ? "write" : "read", settings_.name_space,
                         settings_.name, ResultText(result)));
}

bool LeaderElection::IsLeading() const { return Clock::now() < leads_until_.load(); }

std::string LeaderElection::Path() const {
  return std::string(kLeases) + settings_.name_space + "/leases/" + settings_.name;
}

KubeRequest LeaderElection::Request(std::string method, std::string target,
                                    std::string body) const {
  return {.method = std::move(method),
          .target = std::move(target),
          .content_type = body.empty() ? "" : "application/json",
          .body = std::move(body),
          .timeout = std::chrono::floor<milliseconds>(settings_.renew_deadline / 2),
          .limit = KubeLimit::kNone};
}

// The leader writes at once, on the version that it wrote last; whoever is not looks first.
void LeaderElection::Try() {
  if (is_released_) return;
  const auto began = Clock::now();
  if (is_leading_ && lease_) {
    LeaseRecord record = *observed_;
    record.renew_time = MicroTimeText(std::chrono::system_clock::now());
    Write(record, began);
  } else {
    Read(began);
  }
}

void LeaderElection::Read(Clock::time_point began) {
  client_.Call(Request("GET", Path(), {}), [this, began](const KubeResult& result) {
    if (is_released_) return;
    if (result && result->status == 404) {
      Create(began);
    } else if (const auto lease = ObjectOf(result)) {
      Seen(*lease, began);
    } else {
      spdlog::warn("lease {}/{}: {}", settings_.name_space, settings_.name, ResultText(result));
      NoteFailure(result, /*was_write=*/false);
      TryLater();
    }
  });
}

void LeaderElection::Seen(const nlohmann::json& lease, Clock::time_point began) {
  const LeaseRecord record = *ReadLease(lease);
  if (record.holder != settings_.identity && !record.holder.empty() &&
      (!observed_ || observed_->holder != record.holder)) {
    spdlog::info("standing by: {} holds lease {}/{}", Printable(record.holder),
                 settings_.name_space, settings_.name);
  }
  if (observed_ != record) {
    observed_ = record;
    observed_at_ = Clock::now();
  }
  lease_ = lease;
  const bool is_ours = record.holder == settings_.identity;
  const bool is_free = record.holder.empty() || Clock::now() >= observed_at_ + record.duration;
  if (!is_ours && !is_free) {
    SetProblem({});
    StopLeading();  // somebody took it from us: there must not be two until our deadline
    TryLater();
    return;
  }
  LeaseRecord next = OurRecord();
  next.transitions = is_ours ? record.transitions : OneMore(record.transitions);
  if (is_ours) next.acquire_time = record.acquire_time;
  Write(next, began);
}

LeaseRecord LeaderElection::OurRecord() const {
  const std::string now = MicroTimeText(std::chrono::system_clock::now());
  return {.holder = settings_.identity,
          .duration = settings_.lease_duration,
          .renew_time = now,
          .acquire_time = now};
}

void LeaderElection::Create(Clock::time_point began) {
  const auto lease = NewLease(settings_.name_space, settings_.name, OurRecord());
  client_.Call(
      Request("POST", std::string(kLeases) + settings_.name_space + "/leases", lease.dump()),
      [this, began](const KubeResult& result) { Won(result, began); });
}

void LeaderElection::Write(const LeaseRecord& record, Clock::time_point began) {
  client_.Call(Request("PUT", Path(), WithRecord(*lease_, record).dump()),
               [this, began](const KubeResult& result) { Won(result, began); });
}

void LeaderElection::Won(const KubeResult& result, Clock::time_point began) {
  if (is_released_) return;
  const auto lease = ObjectOf(result);
  if (!lease) {
    lease_.reset();  // look before the next write; when it changed is known all the same
    const bool is_contested = result && (result->status == 404 || result->status == 409);
    // Who may not write it never leads, and nobody else would say why.
    spdlog::log(is_contested ? spdlog::level::debug : spdlog::level::warn, "lease {}/{}: {}",
                settings_.name_space, settings_.name, ResultText(result));
    if (!is_contested) NoteFailure(result, /*was_write=*/true);
    if (is_leading_ && is_contested) {
      Read(Clock::now());  // another may lead by now
    } else {
      TryLater();
    }
    return;
  }
  SetProblem({});
  observed_ = *ReadLease(*lease);
  observed_at_ = Clock::now();
  lease_ = *lease;
  leads_until_ = began + settings_.renew_deadline;
  client_.Cancel(fence_);
  const auto left = std::chrono::ceil<milliseconds>(leads_until_.load() - Clock::now());
  fence_ = client_.RunAfter(std::max(milliseconds{0}, left), [this] { StopLeading(); });
  if (!std::exchange(is_leading_, true)) {
    spdlog::info("leading: lease {}/{}", settings_.name_space, settings_.name);
    started_();
  }
  TryLater();
}

void LeaderElection::TryLater() {
  if (is_released_) return;
  client_.RunAfter(is_leading_ ? settings_.retry_period : StandbyDelay(), [this] { Try(); });
}

milliseconds LeaderElection::StandbyDelay() {
  const double factor = std::uniform_real_distribution<double>(1.0, 1.0 + kJitterFactor)(random_);
  const auto delay = std::chrono::duration_cast<milliseconds>(settings_.retry_period * factor);
  if (!observed_) return delay;
  const auto left =
      std::chrono::ceil<milliseconds>(observed_at_ + observed_->duration - Clock::now());
  return left > milliseconds{0} ? std::min(delay, left) : delay;
}

void LeaderElection::StopLeading() {
  if (!std::exchange(is_leading_, false)) return;
  leads_until_ = Clock::time_point::min();
  spdlog::warn("not leading any more: lease {}/{}", settings_.name_space, settings_.name);
  stopped_();
}

void LeaderElection::Release(std::function<void()> done) {
  is_released_ = true;
  client_.Cancel(fence_);
  const bool was_leading = is_leading_ && lease_;
  StopLeading();
  if (!was_leading) {
    done();
    return;
  }
  LeaseRecord record = OurRecord();
  record.holder.clear();
  record.duration = std::chrono::seconds{1};
  record.transitions = observed_->transitions;
  client_.Call(Request("PUT", Path(), WithRecord(*lease_, record).dump()),
               [done = std::move(done)](const KubeResult&) { done(); });
}

}  // namespace offcut::api
