/*
 * `doctor --probe`: each route that only reads, with what it answers.
 */
#ifndef FRONT_DOCTOR_PROBE_H
#define FRONT_DOCTOR_PROBE_H

void doctor_probe(void);

#endif
