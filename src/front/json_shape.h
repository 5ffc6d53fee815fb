/*
 * What a JSON text looks like, in a few words, without any of its values: "array of 2, each an
 * object with id, state".
 */
#ifndef FRONT_JSON_SHAPE_H
#define FRONT_JSON_SHAPE_H

#include "json/json.h"

void json_put_shape(struct buf *b, const struct json *d, int at);
/*
 * The elements of a list as masters answer them: an array, or an object with exactly one member
 * that is an array (sandbox-tools.md section 6.2). The array's index, or -1.
 */
int json_list_in(const struct json *d);

#endif
