#include "tilewright/graph/ops_doc.h"

#include "tilewright/graph/op.h"
#include "tilewright/graph/text/values.h"

namespace tilewright {
namespace {

struct Section {
  OpClass op_class;
  std::string_view text;
};

// In the order of reading, each with what holds for the whole class.
constexpr Section kSections[] = {
    {OpClass::kElementwise,
     "One result element per element. Inputs broadcast, aligned at the last axis, and have equal dtypes: promotion is "
     "the "
     "frontends' work."},
    {OpClass::kCreate, "A tensor out of attributes."},
    {OpClass::kMovement, "Elements in another place or shape; nothing is computed, so results are exact."},
    {OpClass::kIndexing,
     "Positions come from index tensors (i32 or i64). A negative index counts from the end; one out of range is an "
     "error "
     "that names it."},
    {OpClass::kReduce, "Axes folded into one element each."},
    {OpClass::kScan, "Running results along an axis."},
    {OpClass::kOrder, "Positions of extremes, and sorting. Equal elements keep their order."},
    {OpClass::kContraction, "Sums of products or extremes over windows."},
    {OpClass::kComposite,
     "Each has a definition by primitives in `graph/composites/`; a backend may lower it natively instead."},
    {OpClass::kRandom, "Counter-based: the same key gives the same numbers everywhere."},
    {OpClass::kLate, "A size or value that is known when the node has run: the symbol in the attribute is bound then."},
    {OpClass::kControl, "Nodes that own regions. A region sees values of the graphs around it through captures."},
    {OpClass::kEffect, "Applied exactly once, in the order of the graph."},
};

std::string inputs_text(const OpInfo& op) {
  if (op.min_inputs == op.max_inputs) return fmt::format("{}", op.min_inputs);
  if (op.max_inputs == SIZE_MAX) return fmt::format("{} or more", op.min_inputs);
  return fmt::format("{} to {}", op.min_inputs, op.max_inputs);
}

std::string attributes_text(const OpInfo& op) {
  std::string out;
  for (const AttrSpec& spec : op.attrs) {
    out += fmt::format("{}`{}`: {}", out.empty() ? "" : ", ", spec.name, to_string(spec.kind));
    if (spec.default_value) out += fmt::format(" = {}", text::print_value(*spec.default_value));
  }
  return out.empty() ? "-" : out;
}

// A bar would end the cell of the table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string ops_markdown() {
  std::string out =
      "# Operators\n\nGenerated from `tilewright/graph/ops.def` by `./dev docs`. Axes count from 0 and are never "
      "negative; "
      "sizes may be symbolic. An attribute with `=` may be left out.\n";
  for (const Section& section : kSections) {
    out +=
        fmt::format("\n## {}\n\n{}\n\n| operator | inputs | results | attributes | meaning |\n|---|---|---|---|---|\n",
                    to_string(section.op_class), section.text);
    for (const Op op : all_ops()) {
      const OpInfo& row = info(op);
      if (row.op_class != section.op_class) continue;
      out += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.text, inputs_text(row),
                         row.results < 0 ? "of the regions" : fmt::format("{}", row.results), attributes_text(row),
                         cell(row.meaning));
    }
  }
  return out;
}

}  // namespace tilewright
