/*
 * `sandstorm-mcp ca URL [FILE]`: the CA certificate of a master, held against a fingerprint that
 * came another way.
 */
#ifndef FRONT_CA_H
#define FRONT_CA_H

#include <stdbool.h>

struct ca_options {
	const char *url;
	const char *file;        /* where the certificate goes; NULL: standard output */
	const char *fingerprint; /* NULL: none was given */
	bool print;              /* without a fingerprint, standard output is what was wanted */
};

/*
 * Prints subject, validity and fingerprints of what the master sends as /ca.pem. With a fingerprint
 * the certificate that has it goes to the file, or behind the rest to standard output. Without one,
 * all of them go to standard output, none into a file, and the exit code is 1 unless print is set.
 * Gives the exit code; complaints go to standard error.
 */
int ca_run(const struct ca_options *o);

#endif
