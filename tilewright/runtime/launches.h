// Parallel stacking: which steps may share a launch. The plan says which neighbours do not depend on each other; when
// sizes are known, Launches joins those that turned out to be one instruction each, and keeps memory that one of them
// releases until the launch ends.
#pragma once

#include <vector>

#include "tilewright/isa/program.h"
#include "tilewright/runtime/plan.h"

namespace tilewright::runtime {

// Sets Step::beside: the step reads nothing that the steps before it in its launch write, and writes nothing they
// touch.
void find_launches(Plan& plan);

class Launches {
 public:
  explicit Launches(std::int64_t kept_limit) : kept_limit_(kept_limit) {}

  void reset();
  // Before a step is bound. True: the launch has ended: what kept() lists may be released, then reset.
  bool ends_before(const Step& step) const { return !step.beside || count_ == 0 || kept_bytes_ > kept_limit_; }
  // After it was bound: its words start at `begin`. True: it runs in an open launch, so what it releases is to be kept.
  bool add(const Step& step, std::size_t begin, bool has_temps, std::vector<isa::Word>& words);
  void keep(ValueId root, std::int64_t bytes);
  const std::vector<ValueId>& kept() const { return kept_; }

 private:
  std::int64_t kept_limit_, kept_bytes_ = 0;
  std::vector<ValueId> kept_;
  int count_ = 0;  // instructions of the launch; 0: none may join
  int streams_ = 0;
};

}  // namespace tilewright::runtime
