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

// They are not printed where no tenants are said, and so stand in definitions.
TEST(PolicySchemaTest, HasTheDefaultsOfTenants) {
  const Json definitions = Json::parse(PolicySchema()).at("definitions");
  const auto policy = ReadPolicy(
      "{\"apiVersion\": \"offcut.dev/v1alpha1\", \"kind\": \"Policy\", "
      "\"tenantSource\": \"kueue\", \"tenants\": [{\"name\": \"a\"}]}",
      "p", StrategyNames());
  ASSERT_TRUE(policy);
  const Json printed = Json::parse(PrintPolicy(*policy));
  const Json& tenant = definitions.at("tenant").at("properties");
  for (const char* field : {"weight", "queues", "minIsolation", "spot", "quotas"}) {
    EXPECT_EQ(printed["tenants"][0][field], tenant.at(field).at("default")) << field;
  }
  for (const char* field : {"namespaces", "labelNamespaces"}) {
    EXPECT_EQ(printed["tenants"][0][field], definitions.at("namespaces").at("default")) << field;
  }
  const Json rule = DefaultsOf(definitions.at("sharingRule"));
  EXPECT_EQ(
      printed["isolation"],
      (Json{{"timeSlicing", rule}, {"mps", rule}, {"hami", rule}, {"memoryOvercommit", false}}));
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
