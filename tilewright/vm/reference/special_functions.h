// Functions that <cmath> lacks, or whose version there keeps global state, to nearly full f64 accuracy.
#pragma once

namespace tilewright::vm::reference {

double inverse_erf(double y);  // +-inf at +-1, nan beyond
double log_gamma(double x);    // log |gamma(x)|; +inf at 0 and the negative integers
double digamma(double x);      // nan at the negative integers; -inf at +0, +inf at -0

}  // namespace tilewright::vm::reference
