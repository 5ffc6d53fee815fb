/*
 * The machine we run on.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <stddef.h>

/*
 * Bytes that messages may take (decision 28): the smallest of MEM_BUDGET_MAX, a quarter of the
 * memory and a quarter of the control group's limit, but at least MEM_BUDGET_MIN.
 */
size_t machine_budget(void);
/* The name of the processor this binary was built for, as in the names of the release files. */
const char *machine_arch(void);

#endif
