/*
 * What only the start writes.
 */
#ifndef RELRO_H
#define RELRO_H

/*
 * Makes the tables with addresses in them read-only. A dynamic linker would do it once they are
 * relocated (PT_GNU_RELRO); a static program that moves itself, as musl's do, has to. Where the
 * kernel refuses all stays as it is.
 */
void relro_protect(void);

#endif
