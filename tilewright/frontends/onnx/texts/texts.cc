#include "tilewright/frontends/onnx/texts/texts.h"

namespace tilewright::onnx {
namespace {

template <typename T>
const std::vector<T>& list(const std::map<std::string, std::vector<T>, std::less<>>& lists, std::string_view name) {
  static const std::vector<T> none;
  const auto found = lists.find(name);
  return found == lists.end() ? none : found->second;
}

}  // namespace

StringTable::StringTable(std::shared_ptr<const StringTable> base) : base_(std::move(base)) {
  if (base_ != nullptr) {
    first_ = base_->size();
  } else {
    number_of("");
  }
}

std::int64_t StringTable::find(std::string_view text) const {
  if (base_ != nullptr) {
    if (const std::int64_t number = base_->find(text); number >= 0) return number;
  }
  const auto found = numbers_.find(text);
  return found == numbers_.end() ? -1 : found->second;
}

std::int64_t StringTable::number_of(std::string_view text) {
  if (const std::int64_t number = find(text); number >= 0) return number;
  const auto [place, is_new] = numbers_.emplace(text, size());
  texts_.push_back(&place->first);
  return place->second;
}

const std::string* StringTable::text_of(std::int64_t number) const {
  if (number < first_) return base_ == nullptr ? nullptr : base_->text_of(number);
  return number < size() ? texts_[static_cast<std::size_t>(number - first_)] : nullptr;
}

std::int64_t TextAttributes::integer(std::string_view name, std::int64_t missing) const {
  const auto& found = integers_of(name);
  return found.empty() ? missing : found.front();
}

std::string_view TextAttributes::text(std::string_view name, std::string_view missing) const {
  const auto& found = texts_of(name);
  return found.empty() ? missing : std::string_view(found.front());
}

const std::vector<std::int64_t>& TextAttributes::integers_of(std::string_view name) const {
  return list(integers, name);
}
const std::vector<double>& TextAttributes::reals_of(std::string_view name) const {
  return list(reals, name);
}
const std::vector<std::string>& TextAttributes::texts_of(std::string_view name) const {
  return list(texts, name);
}

}  // namespace tilewright::onnx
