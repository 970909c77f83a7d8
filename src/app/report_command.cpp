#include "tilebeat/base/error.h"
#include "tilebeat/report/page.h"

#include <filesystem>

#include <fmt/format.h>

#include "commands.h"
#include "output_files.h"
#include "report_file.h"

namespace tilebeat {

int report(const ReportCommand& command) {
  std::vector<PageReport> reports;
  for (const std::string& path : command.reports) {
    std::error_code ignored;
    if (std::filesystem::equivalent(path, command.html, ignored))
      throw UserError(fmt::format("--html {}: is read by this command, it cannot be written", command.html));
    reports.push_back({path, read_report(path)});
  }
  const std::string page = report_page(reports);
  OutputFiles files;
  files.write(command.html, page);
  files.commit();
  fmt::print("Wrote {}\n", command.html);
  return 0;
}

}  // namespace tilebeat
