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

TEST(Conformance, RN_4_at_least_600_tests_pass_and_few_differ) {
  const std::string page = read_bytes(source_path("docs/conformance.md"));
  int pass = 0, differ = 0, refused = 0;
  std::istringstream lines(page);
  const std::regex row(R"(^\| [^|]+ \|([ 0-9]*)\|([ 0-9]*)\|([ 0-9]*)\| (.*) ?\|$)");
  for (std::string line; std::getline(lines, line);) {
    std::smatch cells;
    if (!std::regex_match(line, cells, row)) continue;
    pass += count_in(cells[1]), differ += count_in(cells[2]), refused += count_in(cells[3]);
    EXPECT_TRUE(count_in(cells[3]) == 0 || cells[4].length() > 3) << "why: " << line;
  }
  EXPECT_GE(pass + differ + refused, 1000) << "all tests of the package";
  EXPECT_GE(pass, 600) << "nothing is out of scope by name";
  EXPECT_GE(pass * 100, 95 * (pass + differ));
  EXPECT_NE(page.find("The " + std::to_string(pass + differ + refused) + " backend tests"),
            std::string::npos);
}

}  // namespace
}  // namespace tilebeat::testing
