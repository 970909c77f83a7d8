// Between modules there are sockets and nothing else (SPEC HI-9): no member of a module points at another
// module or calls back into one.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tilebeat::testing::modules {
namespace {

namespace fs = std::filesystem;

struct Line {
  std::string file, text;
  int number = 0;
};
struct Member {
  Line line;
  std::string in;  ///< the class, or the class around it
};
struct Class {
  std::vector<std::string> bases;
  std::vector<Member> members;
};
using Classes = std::map<std::string, Class>;

/// Code without comments, texts and the space at its end.
std::string code_of(const std::string& line) {
  static const std::regex text(R"("(\\.|[^"\\])*")");
  std::string code = line.find('"') == std::string::npos ? line : std::regex_replace(line, text, "\"\"");
  code.erase(std::min(code.find("//"), code.size()));
  code.erase(code.find_last_not_of(' ') + 1);
  return code;
}

/// Adds the classes of a file. Formatted code has a class' head and its members one step further to the
/// right, and the brace that ends it below its head; a member that takes several lines is joined.
void add_classes(const std::string& file, const std::vector<std::string>& lines, Classes& classes) {
  static const std::regex head(
      R"(^\s*(?:template <.*>)?\s*(?:class|struct) (?:\w+::)*(\w+)( final)?( : .*|,.*)? \{$)");
  static const std::regex base(R"((?:public|private|protected)?\s*(?:\w+::)*(\w+)(<[^{]*>)?\s*(,|\{|$))");
  static const std::regex begin(R"(^ *(class|struct) )");
  struct Open {
    std::string name;
    std::size_t indent;
  };
  std::vector<Open> open;
  std::string statement;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string code = code_of(lines[i]);
    const std::size_t indent = code.find_first_not_of(' ');
    if (indent == std::string::npos) continue;
    if (!open.empty() && indent == open.back().indent && code[indent] == '}') {
      open.pop_back();
      statement.clear();
      continue;
    }
    if (std::smatch match; std::regex_search(code, begin)) {
      std::string joined = code;  // a head may go over several lines
      for (std::size_t next = i + 1; joined.find_first_of("{;") == std::string::npos && next < lines.size();
           ++next)
        joined += " " + code_of(lines[next]);
      if (std::regex_match(joined, match, head)) {
        const std::string bases = match[3];
        Class& made = classes[match[1]];
        for (auto at = bases.begin(); at != bases.end();) {
          std::smatch one;
          if (!std::regex_search(at, bases.end(), one, base)) break;
          made.bases.push_back(one[1]);
          at = one[0].second;
        }
        open.push_back({match[1], indent});
        statement.clear();
        continue;
      }
    }
    if (open.empty() || indent < open.back().indent + 2) continue;
    if (indent == open.back().indent + 2 || !statement.empty()) statement += code.substr(indent);
    if (statement.empty() || statement.back() == ':') {
      statement.clear();
    } else if (statement.back() == ';') {
      classes[open.back().name].members.push_back(
          {{file, statement, static_cast<int>(i + 1)}, open.front().name});
      statement.clear();
    } else if (statement.back() == '{' || statement.back() == '}') {
      statement.clear();  // the body of a function
    }
  }
}

Classes product_classes() {
  Classes classes;
  for (const char* folder : {"include", "src"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(TILEBEAT_SOURCE_DIR) / folder)) {
      const std::string ending = entry.path().extension().string();
      if (ending != ".h" && ending != ".cpp") continue;
      std::vector<std::string> lines;
      std::ifstream stream(entry.path());
      for (std::string line; std::getline(stream, line);) lines.push_back(line);
      add_classes(fs::relative(entry.path(), TILEBEAT_SOURCE_DIR).string(), lines, classes);
    }
  }
  return classes;
}

/// Modules, and what stands for one in its owner: a MatrixUnit.
std::set<std::string> modules_of(const Classes& classes) {
  std::set<std::string> modules{"sc_module", "MatrixUnit"};
  for (std::size_t before = 0; before < modules.size();) {
    before = modules.size();
    for (const auto& [name, one] : classes) {
      for (const std::string& base : one.bases) {
        if (modules.count(base) != 0) modules.insert(name);
      }
    }
  }
  return modules;
}

/// The members of modules, and of what modules are made of, that lead to other modules: each with the reason.
std::vector<std::string> leads(const Classes& classes) {
  const std::set<std::string> modules = modules_of(classes);
  std::string names;
  for (const std::string& module : modules) names += (names.empty() ? "" : "|") + module;
  const std::regex function(R"(\bstd::function<|\(\*\w*\)\()");
  const std::regex pointer("\\b(?:shared_ptr|weak_ptr|reference_wrapper)<(?:const )?(?:\\w+::)*(" + names +
                           ")\\b|\\b(" + names + ")(?: const)?\\s*[*&]");
  // A member: a type, a name, perhaps a value. Functions, types and friends are none.
  const std::regex no_member(
      R"(^(using|friend|static|typedef|template|explicit|virtual|enum|SC_HAS|\[\[)|\)( const)?( noexcept)?( override)?( = (0|default|delete))?;$)");
  const std::regex value(R"(^(using \w+ = .*;)$|( = [^;]*|\{[^;]*\})?;$)");
  // Everything that a module has as a member, however deep.
  std::set<std::string> parts;
  std::vector<std::string> next(modules.begin(), modules.end());
  while (!next.empty()) {
    const std::string name = next.back();
    next.pop_back();
    const auto one = classes.find(name);
    if (one == classes.end() || !parts.insert(name).second) continue;
    for (const Member& member : one->second.members) {
      if (std::regex_search(member.line.text, no_member)) continue;
      const std::regex word("\\w+");
      for (std::sregex_iterator at(member.line.text.begin(), member.line.text.end(), word), end; at != end;
           ++at)
        next.push_back(at->str());
    }
  }
  std::vector<std::string> found;
  for (const std::string& name : parts) {
    for (const Member& member : classes.at(name).members) {
      const bool alias = member.line.text.compare(0, 6, "using ") == 0;
      if (!alias && std::regex_search(member.line.text, no_member)) continue;
      const std::string type = std::regex_replace(member.line.text, value, "$1");
      std::smatch match;
      const std::string place = member.line.file + ":" + std::to_string(member.line.number) + ": ";
      if (modules.count(name) != 0 && std::regex_search(type, function))
        found.push_back(place + name + " calls back: " + member.line.text);
      if (!std::regex_search(type, match, pointer)) continue;
      const std::string to = match[1].matched ? match[1] : match[2];
      // What a module is made of may know the module.
      if (to != name && to != member.in)
        found.push_back(place + name + " points at " + to + ": " + member.line.text);
    }
  }
  return found;
}

TEST(House, HI_9_no_member_of_a_module_points_at_another_one_or_calls_back) {
  const Classes classes = product_classes();
  const std::set<std::string> modules = modules_of(classes);
  for (const char* known : {"Scratchpad", "SramBank", "SwitchNetwork", "ReadChannel", "WfoldMaster",
                            "RollingUnit", "Core", "Chip", "Accelerator", "WfoldUnit"})
    EXPECT_EQ(modules.count(known), 1U) << known << " was not found";
  std::size_t members = 0;
  for (const auto& [name, one] : classes) members += modules.count(name) != 0 ? one.members.size() : 0;
  EXPECT_GT(members, 400U) << "they were found";
  for (const std::string& lead : leads(classes)) ADD_FAILURE() << lead;
}

TEST(House, HI_9_members_that_lead_to_other_modules_are_found) {
  const std::vector<std::string> lines{
      "class Bank : public sc_core::sc_module {",
      "  struct Port {",
      "    Bank* bank = nullptr;",  // of its own module
      "  };",
      "};",
      "class Unit final : public sc_core::sc_module,",
      "                   private Watch {",
      " public:",
      "  void bind(Bank& bank, int port);",
      "  Bank* bank() const { return nullptr; }",
      "  std::function<void(int)> on_end;",
      "",
      " private:",
      "  std::unique_ptr<Bank> own_;",
      "  Watch* watch_;",
      "  Bank* bank_ = nullptr;",
      "  const Bank& other_;",
      "  std::vector<Bank*> banks_;",
      "  std::shared_ptr<const Bank> shared_;",
      "  Port port_;  // comment",
      "  using Router = std::function<int(int)>;",
      "};",
      "class Derived : public Unit {",
      "  Unit* twin_;",
      "};",
      "struct Port {",
      "  Bank* target_ = nullptr;",
      "};",
      "struct Stranger {",
      "  Bank* bank = nullptr;",
      "};",
  };
  Classes classes;
  add_classes("f.h", lines, classes);
  EXPECT_EQ(leads(classes),
            (std::vector<std::string>{"f.h:24: Derived points at Unit: Unit* twin_;",
                                      "f.h:27: Port points at Bank: Bank* target_ = nullptr;",
                                      "f.h:11: Unit calls back: std::function<void(int)> on_end;",
                                      "f.h:16: Unit points at Bank: Bank* bank_ = nullptr;",
                                      "f.h:17: Unit points at Bank: const Bank& other_;",
                                      "f.h:18: Unit points at Bank: std::vector<Bank*> banks_;",
                                      "f.h:19: Unit points at Bank: std::shared_ptr<const Bank> shared_;",
                                      "f.h:21: Unit calls back: using Router = std::function<int(int)>;"}));
}

TEST(House, HI_9_messages_are_no_commands_of_the_base_protocol) {
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(TILEBEAT_SOURCE_DIR) / "src")) {
    const std::string ending = entry.path().extension().string();
    if (ending != ".h" && ending != ".cpp") continue;
    ++files;
    // The chip's outward port answers whatever another simulation sends.
    if (entry.path().filename() == "accelerator.cpp") continue;
    std::ifstream stream(entry.path());
    for (std::string line; std::getline(stream, line);)
      EXPECT_EQ(line.find("TLM_IGNORE_COMMAND"), std::string::npos) << entry.path() << ": " << line;
  }
  EXPECT_GT(files, 100) << "the files were found";
}

}  // namespace
}  // namespace tilebeat::testing::modules
