#pragma once

// Validation of a document by a JSON Schema with valijson: what breaks it, one line each.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

// valijson's own code is not held to this project's warnings.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
#pragma GCC diagnostic pop

namespace tilebeat::testing {

inline std::vector<std::string> schema_violations(const nlohmann::json& schema_document,
                                                  const nlohmann::json& document) {
  valijson::Schema schema;
  valijson::SchemaParser parser;
  valijson::adapters::NlohmannJsonAdapter schema_adapter(schema_document), document_adapter(document);
  parser.populateSchema(schema_adapter, schema);
  valijson::Validator validator;
  valijson::ValidationResults results;
  std::vector<std::string> lines;
  if (validator.validate(schema, document_adapter, &results)) return lines;
  for (valijson::ValidationResults::Error error; results.popError(error);) {
    std::string line;
    for (const std::string& part : error.context) line += part;
    lines.push_back(line + ": " + error.description);
  }
  return lines;
}

}  // namespace tilebeat::testing
