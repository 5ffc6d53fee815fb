/*
 * `sandstorm-mcp cert --host NAMES DIR`: a private CA and a server certificate for a network that
 * no public CA can see.
 */
#ifndef FRONT_CERT_H
#define FRONT_CERT_H

struct cert_options {
	const char *hosts; /* comma list of names and addresses */
	const char *dir;
	unsigned port; /* for the commands that are told */
};

/*
 * Writes ca.pem, ca.key, server.pem and server.key into the directory, which is made where it is
 * missing; a CA that is there is used again, a server's pair is replaced. Tells the CA's
 * fingerprint and what to do next on standard output. Gives the exit code; complaints go to
 * standard error.
 */
int cert_run(const struct cert_options *o);

#endif
