/* The whole table of conversions through the library, for programs that have floating-point traps on. */
#ifndef NUMBERS_H
#define NUMBERS_H

/* Writes and reads arrays of every type of number as every type, any bits, with every policy and several threads, in the working
 * folder. The number of failures; each is printed. */
int conversion_table(void);

#endif
