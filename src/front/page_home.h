/*
 * The page at "/".
 */
#ifndef FRONT_PAGE_HOME_H
#define FRONT_PAGE_HOME_H

#include "http/server.h"

void page_home_serve(struct http_request *r); /* GET */

#endif
