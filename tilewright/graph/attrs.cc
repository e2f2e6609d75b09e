#include "tilewright/graph/attrs.h"

namespace tilewright {

const AttrValue* Attrs::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return &entry.value;
  }
  return nullptr;
}

void Attrs::set(std::string_view name, AttrValue value) {
  for (Entry& entry : entries_) {
    if (entry.name == name) {
      entry.value = std::move(value);
      return;
    }
  }
  entries_.push_back({std::string(name), std::move(value)});
}

}  // namespace tilewright
