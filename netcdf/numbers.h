/* Real numbers as text, with a decimal point, whatever the locale that the program has set has for it. */
#ifndef OZARR_NETCDF_NUMBERS_H
#define OZARR_NETCDF_NUMBERS_H

#include <stddef.h>

double number_read(const char *text);
float number_read_float(const char *text);
/* Writes a finite number with so many digits at most, and as one that is no integer. */
void number_write(char *out, size_t size, int digits, double value);

#endif
