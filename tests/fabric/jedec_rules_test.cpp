// That the checker of the JEDEC rules finds what it is there for: for every preset and rule a log that keeps
// the rule to the cycle, and the same log with its last command one cycle too early (SPEC HI-6).
#include "jedec_rules.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing {
namespace {

using Kind = DramCommandKind;
using Log = std::vector<DramCommand>;

struct Planted {
  std::string rule;
  Log log;  // its last command as early as the rule allows
};

DramCommand command(Kind kind, int bank, Cycle at, std::int64_t row = 5) {
  return {at, 0, kind, bank, row};
}

class Plants {
 public:
  explicit Plants(const DramConfig& config) : c_(config), rules_(config) {
    const Cycle t = 10000;  // rows are open long since
    const Cycle rcd = of(c_.tRCD_ps), ras = of(c_.tRAS_ps), rp = of(c_.tRP_ps), rrd = of(c_.tRRD_ps);
    const int other = c_.bank_groups > 1 ? 1 : 2,
              same = c_.bank_groups;  // banks: of another group, of that of 0
    plant("tRCD", {command(Kind::kActivate, 0, 9), command(Kind::kRead, 0, 9 + rcd)});
    plant("tRCD", {command(Kind::kActivate, 0, 9), command(Kind::kWrite, 0, 9 + rcd)});
    plant("tRCD", {command(Kind::kActivate, 0, 9), command(Kind::kPrecharge, 0, 500),
                   command(Kind::kActivate, 0, 900), command(Kind::kRead, 0, 900 + rcd)});
    plant("tRAS", {command(Kind::kActivate, 0, 9), command(Kind::kPrecharge, 0, 9 + ras)});
    plant("tRAS", {command(Kind::kActivate, 0, 9), command(Kind::kPrechargeAll, -1, 9 + ras)});
    plant("tRP", {command(Kind::kActivate, 0, 9), command(Kind::kPrecharge, 0, 9 + ras),
                  command(Kind::kActivate, 0, 9 + ras + rp)});
    plant("tRP", {command(Kind::kActivate, 0, 9), command(Kind::kPrechargeAll, -1, 9 + ras),
                  command(Kind::kActivate, 0, 9 + ras + rp)});
    plant("tRRD", {command(Kind::kActivate, 0, 9), command(Kind::kActivate, other, 9 + rrd)});
    plant("tRRD_L", {command(Kind::kActivate, 0, 9), command(Kind::kActivate, same, 9 + of(c_.tRRD_L_ps))});
    if (of(c_.tFAW_ps) > 4 * rrd) {
      Log window;
      for (int i = 0; i < 4; ++i) window.push_back(command(Kind::kActivate, i, 9 + i * rrd));
      window.push_back(command(Kind::kActivate, 4, 9 + of(c_.tFAW_ps)));
      plant("tFAW", window);
    }
    const Cycle ccd = std::max(of(c_.tCCD_ps), rules_.data());
    for (const Kind kind : {Kind::kRead, Kind::kWrite}) {
      plant("tCCD", open({0, other}, {command(kind, 0, t), command(kind, other, t + ccd)}));
      const Cycle apart = of(kind == Kind::kRead ? c_.tCCD_L_ps : c_.tCCD_L_WR_ps);
      if (apart > ccd)
        plant(kind == Kind::kRead ? "tCCD_L" : "tCCD_L_WR",
              open({0, same}, {command(kind, 0, t), command(kind, same, t + apart)}));
    }
    plant("tWTR", open({0, other}, {command(Kind::kWrite, 0, t),
                                    command(Kind::kRead, other, t + rules_.behind_write(c_.tWTR_ps))}));
    plant("tWTR_L", open({0}, {command(Kind::kWrite, 0, t),
                               command(Kind::kRead, 0, t + rules_.behind_write(c_.tWTR_L_ps))}));
    plant("read to write", open({0, other}, {command(Kind::kRead, 0, t),
                                             command(Kind::kWrite, other, t + rules_.read_to_write())}));
    plant("tWR", open({0}, {command(Kind::kWrite, 0, t),
                            command(Kind::kPrecharge, 0, t + rules_.behind_write(c_.tWR_ps))}));
    plant("tRTP", open({0}, {command(Kind::kRead, 0, t), command(Kind::kPrecharge, 0, t + of(c_.tRTP_ps))}));
    const Cycle due = of(c_.tREFI_ps);
    plant("REF before it is due", {command(Kind::kRefresh, -1, due)});
    plant("tRFC", {command(Kind::kRefresh, -1, due), command(Kind::kActivate, 0, due + of(c_.tRFC_ps))});
    plant("tRP before REF",
          open({0}, {command(Kind::kPrecharge, 0, due), command(Kind::kRefresh, -1, due + rp)}));
    plant("one command a cycle", {command(Kind::kActivate, 0, 9), command(Kind::kActivate, other, 9 + rrd),
                                  command(Kind::kPrecharge, 0, 900), command(Kind::kPrecharge, other, 901)});
  }
  const std::vector<Planted>& planted() const { return planted_; }

 private:
  Cycle of(Picoseconds duration) const { return rules_.clocks(duration); }
  void plant(const std::string& rule, const Log& log) { planted_.push_back({rule, log}); }
  // With these banks opened in time before.
  static Log open(const std::vector<int>& banks, const Log& log) {
    Log all;
    for (std::size_t i = 0; i < banks.size(); ++i)
      all.push_back(command(Kind::kActivate, banks[i], 9 + static_cast<Cycle>(i) * 100));
    all.insert(all.end(), log.begin(), log.end());
    return all;
  }

  DramConfig c_;
  JedecRules rules_;
  std::vector<Planted> planted_;
};

std::string broken(const DramConfig& config, const Log& log) {
  JedecRules rules(config);
  for (const DramCommand& c : log) {
    const std::string rule = rules.broken_by(c);
    if (!rule.empty()) return rule;
  }
  return "";
}

class JedecRulesTest : public ::testing::TestWithParam<int> {
 protected:
  DramConfig config_ = dram_preset(static_cast<DramPreset>(GetParam()));
};

TEST_P(JedecRulesTest, HI_6_the_checker_finds_every_command_that_is_one_cycle_early) {
  const Plants plants(config_);
  std::set<std::string> found;
  for (const Planted& planted : plants.planted()) {
    EXPECT_EQ(broken(config_, planted.log), "") << planted.rule << " is kept to the cycle";
    Log early = planted.log;
    --early.back().cycle;
    // Where two rules end in the same cycle the first that is looked at is named.
    const std::string rule = broken(config_, early);
    EXPECT_NE(rule, "") << planted.rule << " one cycle too early";
    found.insert(planted.rule);
  }
  EXPECT_GE(plants.planted().size(), 20U);
  EXPECT_GE(found.size(), 14U);
}

TEST_P(JedecRulesTest, HI_6_the_checker_finds_banks_in_the_wrong_state) {
  const DramCommand activate = command(Kind::kActivate, 0, 9);
  const Cycle due = JedecRules(config_).clocks(config_.tREFI_ps);
  EXPECT_EQ(broken(config_, {command(Kind::kRead, 0, 9)}), "access to a closed bank");
  EXPECT_EQ(broken(config_, {activate, command(Kind::kRead, 0, 900, 6)}), "access to another row");
  EXPECT_EQ(broken(config_, {activate, command(Kind::kWrite, 0, 900, 6)}), "access to another row");
  EXPECT_EQ(broken(config_, {activate, command(Kind::kActivate, 0, 900)}), "ACT of an open bank");
  EXPECT_EQ(broken(config_, {command(Kind::kPrecharge, 0, 900)}), "PRE of a closed bank");
  EXPECT_EQ(broken(config_, {activate, command(Kind::kRefresh, -1, due)}), "REF with an open bank");
  EXPECT_EQ(broken(config_, {command(Kind::kNone, 0, 9)}), "not a command");
}

INSTANTIATE_TEST_SUITE_P(Presets, JedecRulesTest,
                         ::testing::Range(0, static_cast<int>(kDramPresetNames.size())),
                         [](const auto& test) {
                           return std::string(kDramPresetNames[static_cast<std::size_t>(test.param)]);
                         });

// With the seven banks in the wrong state these are thirty violations.
TEST(JedecRules, HI_6_each_violation_of_ddr4_is_named) {
  const DramConfig config = dram_preset(DramPreset::kDdr4_2400);
  const Plants plants(config);
  EXPECT_EQ(plants.planted().size(), 23U);
  for (const Planted& planted : plants.planted()) {
    Log early = planted.log;
    --early.back().cycle;
    EXPECT_EQ(broken(config, early), planted.rule);
  }
}

}  // namespace
}  // namespace tilebeat::testing
