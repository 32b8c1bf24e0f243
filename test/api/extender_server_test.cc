// Cases of the protocol through a real listener: what the server hands over is what the routes
// take.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <nlohmann/json.hpp>

#include "api/server.h"
#include "test/api/extender_world.h"
#include "test/testing/worlds.h"

namespace offcut::api {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using testing::SnapshotOf;
using testing::WholeInventory;

class ExtenderServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = Server::Start({}, [this](const HttpRequest& request, const Respond& respond) {
      AnswerExtender(world_.Context(), request, respond);
    });
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    client_ = std::make_unique<httplib::Client>("127.0.0.1", server_->Port());
    client_->set_keep_alive(true);
  }

  ExtenderWorld world_{SnapshotOf({WholeInventory("one", 1), WholeInventory("two", 2)})};
  std::unique_ptr<Server> server_;
  std::unique_ptr<httplib::Client> client_;
};

TEST_F(ExtenderServerTest, Case2PathMethodAndTypeDecideBeforeTheBody) {
  EXPECT_EQ(client_->Post("/v1/nothing", "{}", "application/json")->status, 404);
  EXPECT_EQ(client_->Post("/v1/filter", "{}", "text/plain")->status, 415);
  const auto answer = client_->Get("/v1/filter");
  EXPECT_EQ(answer->status, 405);
  EXPECT_EQ(answer->get_header_value("Allow"), "POST");
  EXPECT_EQ(client_->Post("/v1/filter", "{", "application/json")->status, 400);
}

// One connection, as kube-scheduler keeps it: a large request, then small ones. The buffer of the
// large one must not show through.
TEST_F(ExtenderServerTest, Case3And4FilterPrioritizeAndBindShareAConnection) {
  json pod = PodJson("p nvidia.com/gpu=2");
  pod["metadata"]["annotations"]["note"] = std::string(std::size_t{1} << 20, '}');
  auto answer = client_->Post("/v1/filter", NodesBody(pod, {"one", "two"}), "application/json");
  ASSERT_EQ(answer->status, 200);
  EXPECT_EQ(json::parse(answer->body)["Nodes"]["items"].size(), 1U);
  pod = PodJson("p nvidia.com/gpu=2");
  answer = client_->Post("/filter", NamesBody(pod, {"one", "two"}), "application/json");
  EXPECT_THAT(json::parse(answer->body)["NodeNames"], ElementsAre("two"));
  answer = client_->Post("/v1/prioritize", NamesBody(pod, {"one", "two"}), "application/json");
  EXPECT_EQ(answer->body, R"([{"Host":"one","Score":0},{"Host":"two","Score":10}])");
  answer = client_->Post("/v1/bind", BindBody("p", "uid-p", "two"), "application/json");
  EXPECT_EQ(answer->body, R"({"Error":""})");
  answer = client_->Post("/v1/filter", "{\"Pod\":", "application/json");
  EXPECT_EQ(answer->status, 400);
}

}  // namespace
}  // namespace offcut::api
