// Special functions that the C++ library lacks or has with side effects, in double precision.
#pragma once

namespace tilewright {

double erfinv(double x);   // inverse of erf on [-1, 1]; nan outside, infinite at the ends
double lgamma(double x);   // log |gamma(x)|, without writing the global signgam
double digamma(double x);  // derivative of lgamma; infinite at 0, nan at negative integers

}  // namespace tilewright
