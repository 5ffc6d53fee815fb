/*
 * Which of a name's addresses to try first.
 */
#ifndef LOOP_PREFER_H
#define LOOP_PREFER_H

/*
 * What RFC 6724 comes to for one machine: addresses that there is a way to come first, then those
 * that we would speak to from an address of the same kind, then kinds in the order of its table;
 * else they stay as they are.
 */
void prefer_sort(unsigned char (*address)[16], int count);

#endif
