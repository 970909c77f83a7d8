// docs/conformance.md, which scripts/conformance writes from all backend tests of ONNX (SPEC RN_4): its rows
// sum to its totals, and at least 95 % of what is in scope passes.
#include "tilebeat_command.h"

#include <regex>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

int count_in(const std::string& cell) {
  return cell.find_first_of("0123456789") == std::string::npos ? 0 : std::stoi(cell);
}

TEST(Conformance, RN_4_at_least_95_percent_of_the_tests_in_scope_pass) {
  const std::string page = read_bytes(source_path("docs/conformance.md"));
  int pass = 0, fail = 0, refused = 0;
  std::istringstream lines(page);
  const std::regex row(R"(^\| [^|]+ \|([ 0-9]*)\|([ 0-9]*)\|([ 0-9]*)\| (.*) ?\|$)");
  for (std::string line; std::getline(lines, line);) {
    std::smatch cells;
    if (!std::regex_match(line, cells, row)) continue;
    pass += count_in(cells[1]), fail += count_in(cells[2]), refused += count_in(cells[3]);
    EXPECT_TRUE(count_in(cells[3]) == 0 || cells[4].length() > 3) << "why: " << line;
  }
  EXPECT_GE(pass + fail + refused, 1000) << "all tests of the package";
  EXPECT_GT(pass, 150);
  EXPECT_GE(pass * 100, 95 * (pass + fail));
  EXPECT_NE(page.find("The " + std::to_string(pass + fail + refused) + " backend tests"), std::string::npos);
}

}  // namespace
}  // namespace tilebeat::testing
