#include "api/policy_schema.h"

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/policy_file.h"
#include "api/state_files.h"
#include "scheduler/policy.h"

namespace offcut::api {
namespace {

using Json = nlohmann::json;

std::string FileText(const std::string& path) {
  std::ifstream in(OFFCUT_SOURCE_DIR "/" + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The policy that the `default`s of a schema's properties make together.
Json DefaultsOf(const Json& schema) {
  Json defaults = Json::object();
  for (const auto& [name, property] : schema.at("properties").items()) {
    if (property.contains("default")) {
      defaults[name] = property.at("default");
    } else if (property.contains("properties")) {
      defaults[name] = DefaultsOf(property);
    } else if (property.contains("enum")) {
      defaults[name] = property.at("enum").at(0);
    }
  }
  return defaults;
}

TEST(PolicySchemaTest, IsTheFileThatIsPublished) {
  EXPECT_EQ(PolicySchema(), FileText("deploy/policy.schema.json"));
}

TEST(PolicySchemaTest, NamesTheStrategiesThatThereAre) {
  const Json schema = Json::parse(PolicySchema());
  EXPECT_EQ(schema["properties"]["packing"]["properties"]["strategy"]["enum"],
            Json(StrategyNames()));
}

TEST(PolicySchemaTest, HasTheDefaultsOfThePolicy) {
  EXPECT_EQ(DefaultsOf(Json::parse(PolicySchema())), Json::parse(PrintPolicy({})));
}

// The schema's half of these two is policy_schema_test.py.
TEST(PolicySchemaTest, TakesNoValidCaseThatTheReaderRefuses) {
  const Json cases = Json::parse(FileText("test/api/policy_cases.json"));
  for (const auto& [name, policy] : cases.at("valid").items()) {
    EXPECT_TRUE(ReadPolicy(policy.dump(), "case", StrategyNames())) << name;
  }
}

TEST(PolicySchemaTest, RefusesNoInvalidCaseThatTheReaderTakes) {
  const Json cases = Json::parse(FileText("test/api/policy_cases.json"));
  for (const char* kind : {"invalid", "schemaCannotTell"}) {
    for (const auto& [name, policy] : cases.at(kind).items()) {
      const auto read = ReadPolicy(policy.dump(), "case", StrategyNames());
      ASSERT_FALSE(read) << name;
      EXPECT_EQ(read.error().size(), 1U) << name << ": each case has one fault";
    }
  }
}

}  // namespace
}  // namespace offcut::api
