// StepAttrs: the attributes of a step with its dims evaluated, for kernels.
#pragma once

#include "tilewright/runtime/plan.h"

namespace tilewright::runtime {

class StepAttrs final : public compiler::BoundAttrs {
 public:
  StepAttrs(const std::vector<PlanAttr>& attrs, const DimProgram& program, std::span<const DimValue> dims)
      : attrs_(attrs), program_(program), dims_(dims) {}

  std::int64_t integer(std::string_view name) const override {
    const PlanAttr& attr = find(name);
    if (attr.slots.empty()) return attr.integers.empty() ? 0 : attr.integers[0];
    const DimValue value = dims_[attr.slots[0]];
    return program_.dim(attr.slots[0]).is_float() ? static_cast<std::int64_t>(value.real) : value.integer;
  }

  double real(std::string_view name) const override {
    const PlanAttr& attr = find(name);
    if (attr.slots.empty()) return attr.integers.empty() ? attr.real : static_cast<double>(attr.integers[0]);
    const DimValue value = dims_[attr.slots[0]];
    return program_.dim(attr.slots[0]).is_float() ? value.real : static_cast<double>(value.integer);
  }

  std::span<const std::int64_t> integers(std::string_view name) const override {
    const PlanAttr& attr = find(name);
    if (attr.kind == AttrKind::kInts) return attr.integers;
    for (std::size_t i = 0; i < attr.slots.size(); ++i) evaluated_[i] = dims_[attr.slots[i]].integer;
    return {evaluated_.data(), attr.slots.size()};
  }

  const std::string& text(std::string_view name) const override { return find(name).text; }

 private:
  const PlanAttr& find(std::string_view name) const {
    for (const PlanAttr& attr : attrs_) {
      if (attr.name == name) return attr;
    }
    TW_CHECK(false, name);
  }

  const std::vector<PlanAttr>& attrs_;
  const DimProgram& program_;
  std::span<const DimValue> dims_;
  mutable std::array<std::int64_t, compiler::kMaxTensorRank> evaluated_{};
};

}  // namespace tilewright::runtime
