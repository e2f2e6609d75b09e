// The text of docs/isa.md, generated from the tables: what an encoded program means, for those who write a machine.
#pragma once

#include <string>

namespace tilewright::isa {

std::string isa_markdown();

}  // namespace tilewright::isa
