// The initialisers as C++.
#include "header_init.c"
