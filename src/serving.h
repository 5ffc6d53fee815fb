/*
 * The commands that serve: over stdio and over HTTP.
 */
#ifndef SERVING_H
#define SERVING_H

/* argv without program name and subcommand. The exit code. */
int cmd_stdio(int argc, char **argv); /* no subcommand: stdio, the sandbox tools or those named */
int cmd_serve(int argc, char **argv); /* HTTP, or with --stdio the same tools over stdio */

#endif
