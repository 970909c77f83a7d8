#include "app/certificate.h"
#include "app/commands.h"
#include "app/output_files.h"
#include "app/planning.h"
#include "app/progress.h"
#include "planner/language/matrix_backend.h"
#include "planner/layer/choose_layer.h"
#include "report/text_table.h"
#include "schema/place.h"
#include "tilebeat/error.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fnmatch.h>

namespace tilebeat {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Layers of equal sizes, of which the first one is certified.
struct EqualLayers {
  std::vector<const Layer*> layers;
  std::optional<AskedMapping> asked;
};

class Certify {
 public:
  explicit Certify(const CertifyCommand& command)
      : command_(command),
        began_(Clock::now()),
        hardware_(load_hardware(command.config)),
        workload_(load_workload(command.layer)) {
    if (!hardware_.chip) Place(command.config).key("chip").fail("is not there: a board has no mappings");
    std::vector<std::string> read = files_read(command.config, command.layer);
    if (!command.mapping.empty()) read.push_back(command.mapping);
    note_inputs(read);
    if (!command.mapping.empty()) find_asked();
    find_layers();
    for (const std::string& file : {csv(), mapping()}) check_not_read("--out", file);
    std::error_code error;
    fs::create_directories(command.out, error);
    if (error) throw UserError(fmt::format("--out {}: {}", command.out, error.message()));
  }

  int run() {
    PointProgress progress("layers", layers_.size(), 0);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      progress(i, 1);
      const EqualLayers& equal = layers_[i];
      Certificate made =
          certificate_of(workload_of(workload_, *equal.layers.front()), hardware_, equal.asked,
                         command_.layer, {jobs_of(command_.jobs), deadline(layers_.size() - i)});
      made.layers.clear();
      for (const Layer* layer : equal.layers) made.layers.push_back(layer->name);
      certificates_.push_back(std::move(made));
    }
    progress(layers_.size(), 0);
    return write();
  }

 private:
  std::string csv() const { return command_.out + "/certificate.csv"; }
  std::string mapping() const { return command_.out + "/best_mapping.json"; }

  // What is left of the budget is divided evenly among the layers that are left.
  std::optional<Clock::time_point> deadline(std::size_t layers_left) const {
    if (command_.budget <= 0) return {};
    const auto whole =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(command_.budget));
    const Clock::time_point now = Clock::now();
    return now + (began_ + whole - now) / to_signed(layers_left);
  }

  // Reads the mapping file; requests for fusion groups do not matter to layers by themselves.
  void find_asked() {
    const std::vector<MappingRequest> requests = load_mapping(command_.mapping).layers;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const Place place = Place(command_.mapping).key("layers").item(i);
      const auto layer = std::find_if(workload_.layers.begin(), workload_.layers.end(),
                                      [&](const Layer& l) { return l.name == requests[i].layer; });
      if (layer == workload_.layers.end() || !std::holds_alternative<Conv2d>(layer->operation))
        place.fail(fmt::format("{} has no layer '{}' on matrix units", command_.layer, requests[i].layer));
      asked_.emplace(requests[i].layer, AskedMapping{requests[i], place});
    }
  }

  bool is_chosen(const std::string& name) {
    if (command_.layers.empty()) return true;
    bool chosen = false;
    for (std::size_t i = 0; i < command_.layers.size(); ++i) {
      if (fnmatch(command_.layers[i].c_str(), name.c_str(), 0) != 0) continue;
      chosen = met_[i] = true;
    }
    return chosen;
  }

  void find_layers() {
    met_.assign(command_.layers.size(), false);
    std::map<std::vector<int>, std::size_t> known;  // by sizes
    for (const Layer& layer : workload_.layers) {
      const auto* conv = std::get_if<Conv2d>(&layer.operation);
      if (!is_chosen(layer.name) || conv == nullptr) continue;
      const auto asked = asked_.find(layer.name);
      const bool free = asked == asked_.end();
      if (free && conv->kernels == KernelSource::kWeights && conv->pixels == PixelAxes::kMap) {
        const auto matrix = make_matrix_layer(workload_, layer, hardware_);
        const auto [same, first] =
            known.try_emplace(sizes_of(workload_, layer, matrix->problem()), layers_.size());
        if (!first) {
          layers_[same->second].layers.push_back(&layer);
          continue;
        }
      }
      layers_.push_back({{&layer}, free ? std::nullopt : std::optional(asked->second)});
    }
    for (std::size_t i = 0; i < met_.size(); ++i) {
      if (!met_[i])
        throw UserError(
            fmt::format("--layers {}: no layer of {} has this name", command_.layers[i], command_.layer));
    }
    if (layers_.empty())
      throw UserError(fmt::format("{}: no such layer runs on matrix units", command_.layer));
  }

  int write() const {
    OutputFiles files;
    files.write(csv(), table_of_all());
    std::vector<LayerMapping> best;
    for (const Certificate& c : certificates_) {
      for (const std::string& layer : c.layers) best.push_back(c.best), best.back().layer = layer;
    }
    files.write(mapping(), mapping_text(best));
    files.commit();
    fmt::print("{}\n{}\nWrote {}, {}\n", text_of_all(), summary(), csv(), mapping());
    return 0;
  }

  std::string table_of_all() const {
    std::string text =
        csv_line({"layer", "layers", "chosen_cycles", "best_cycles", "least_cycles", "gap_percent",
                  "most_gap_percent", "mappings", "simulated", "bounded", "unfit", "open"});
    for (const Certificate& c : certificates_) {
      const bool known = c.certified();
      const auto number = [&](std::int64_t value) { return known ? fmt::format("{}", value) : ""; };
      text += csv_line({c.layers.front(), fmt::format("{}", c.layers.size()),
                        fmt::format("{}", c.chosen_cycles), number(c.best_cycles),
                        known ? fmt::format("{}", *c.least) : "", known ? fmt::format("{:.3f}", c.gap()) : "",
                        known ? fmt::format("{:.3f}", c.most_gap()) : "", fmt::format("{}", c.set),
                        number(c.simulated), number(c.bounded), number(c.unfit), number(c.open)});
    }
    return text;
  }

  std::string text_of_all() const {
    std::vector<std::vector<std::string>> rows{
        {"layer", "cycles", "best", "gap", "at most", "mappings", "simulated", "bounded", "open"}};
    for (const Certificate& c : certificates_) {
      const std::size_t more = c.layers.size() - 1;
      std::vector<std::string> row{
          more == 0 ? c.layers.front() : fmt::format("{} and {} more", c.layers.front(), more),
          grouped(c.chosen_cycles)};
      if (c.certified()) {
        row.insert(row.end(), {grouped(c.best_cycles), fmt::format("{:.2f} %", c.gap()),
                               fmt::format("{:.2f} %", c.most_gap()), grouped(c.set), grouped(c.simulated),
                               grouped(c.bounded), grouped(c.open)});
      } else {
        row.insert(row.end(), {"", "", "", grouped(c.set), "", "", ""});
      }
      rows.push_back(std::move(row));
    }
    return format_rows(rows);
  }

  // Every layer counts, also those of equal sizes.
  std::string summary() const {
    std::vector<double> gaps;
    std::size_t too_many = 0;
    for (const Certificate& c : certificates_) {
      if (c.certified())
        gaps.insert(gaps.end(), c.layers.size(), c.most_gap());
      else
        too_many += c.layers.size();
    }
    std::string text;
    if (!gaps.empty()) {
      std::sort(gaps.begin(), gaps.end());
      const double median = (gaps[(gaps.size() - 1) / 2] + gaps[gaps.size() / 2]) / 2;
      text = fmt::format("Of {} layers the median gap is at most {:.2f} %, the largest {:.2f} %\n",
                         gaps.size(), median, gaps.back());
    }
    if (too_many > 0)
      text += fmt::format("Not certified: {} layers with {} mappings or more\n", too_many, kMostMappings);
    return text;
  }

  const CertifyCommand& command_;
  Clock::time_point began_;
  HardwareConfig hardware_;
  Workload workload_;
  std::map<std::string, AskedMapping> asked_;  // by layer
  std::vector<EqualLayers> layers_;
  std::vector<bool> met_;  // by pattern of --layers
  std::vector<Certificate> certificates_;
};

}  // namespace

int certify(const CertifyCommand& command) {
  return Certify(command).run();
}

}  // namespace tilebeat
