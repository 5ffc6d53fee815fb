/*
 * The command line of process 1, for who is asked about it from inside the same container.
 */
#ifndef BOOT_WORDS_H
#define BOOT_WORDS_H

/*
 * The words process 1 was started with, its own name first, when it is this same program; NULL
 * behind them. Gives their number, 0 when it is another program, or nothing can be known of it. At
 * most max words are looked at; they are static.
 */
int boot_words(char **argv, int max);

#endif
