#include "tilebeat/base/activity.h"
#include "tilebeat/observe/statistics.h"

#include <string_view>

#include "sections.h"

namespace tilebeat::page {
namespace {

Activity activity_of(const std::string& cause) {
  for (int i = 0; i < kActivityCount; ++i) {
    if (activity_name(static_cast<Activity>(i)) == cause) return static_cast<Activity>(i);
  }
  return Activity::kBusy;
}

bool is_fused(const RunFacts& run) {
  const Json& configuration = run.cited.report()["configuration"];
  return configuration.contains("fused") && configuration["fused"] == true;
}

}  // namespace

std::string help_against_waiting(const RunFacts& run) {
  if (run.causes.empty()) return "Work that overlaps better would help.";
  switch (activity_of(run.causes.front().name)) {
    case Activity::kHost:
      return "The network does not give every core a program, or is too short for its start: fewer cores "
             "would do "
             "nearly as much, a larger batch or network would use them.";
    case Activity::kBarrier:
    case Activity::kPeer:
      return "The cores' shares of a layer end at different times: fewer cores, larger layers or layers "
             "fused into "
             "units would help.";
    case Activity::kLayerEnd:
      return is_fused(run) ? "A layer or unit ends when DRAM has all of its results: longer units (larger "
                             "memories on the "
                             "chip) or a faster DRAM would help."
                           : "A layer ends when DRAM has all of its results, and the next one reads them "
                             "back: fused layers "
                             "(\"fused\": true) or a faster DRAM would help.";
    case Activity::kInputLoad:
    case Activity::kMapLoad:
      return "Maps arrive too late: more bandwidth on their way or larger buffers for what is loaded ahead "
             "would help.";
    case Activity::kWeightLoad:
    case Activity::kKernelLoad:
      return "Kernels arrive too late: more bandwidth on their way, a larger WRAM for what is loaded ahead "
             "or a larger batch, which uses them more often, would help.";
    case Activity::kOutputSpace:
    case Activity::kOutputDrain:
    case Activity::kOutputReady:
    case Activity::kWriteQueue:
      return "Results leave too slowly: more bandwidth on their way or a larger output buffer would help.";
    case Activity::kBankConflict:
      return "Lanes want the same bank at a time: more banks or another shape of tiles would help.";
    case Activity::kInstructionFetch:
    case Activity::kQueueFull:
      return "Instructions arrive or leave too slowly: larger tiles or longer queues would help.";
    default:
      return "Work that overlaps better would help.";
  }
}

std::string help_against_losses(const RunFacts& run) {
  const Json& total = run.cited.report()["total"];
  if (!total.contains("lost_macs")) return "A dataflow or an array whose lanes these layers fill would help.";
  const std::string_view loss = largest_loss_name(total);
  if (loss == kMacLossNames[static_cast<std::size_t>(MacLoss::kNoPixel)])
    return "Most of what the schedule loses is <b>no_pixel</b>: an array with fewer lanes or tiles of "
           "another shape, "
           "which the rows of these maps fill, or a larger batch would help.";
  if (loss == kMacLossNames[static_cast<std::size_t>(MacLoss::kNoKernel)])
    return "Most of what the schedule loses is <b>no_kernel</b>: an array with fewer columns, which the "
           "kernels of "
           "these layers fill, would help.";
  return "Most of what the schedule loses is <b>no_channel</b>: another dataflow, or words of fewer "
         "channels, would "
         "help.";
}

}  // namespace tilebeat::page
