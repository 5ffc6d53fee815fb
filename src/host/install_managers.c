#include "host/install_managers.h"

#include <limits.h>

#include "loop/child.h"

/* Without it Debian's packages ask questions. */
static const char *const apt_env[] = { "DEBIAN_FRONTEND=noninteractive", NULL };

/* Packages never begin with '-', so no manager needs a "--" before them, which not all take. */
// clang-format off
static const struct install_manager managers[] = {
	{ "npm", WORLD_NPM, { { { "npm", "install" } } }, false, NULL, NULL },
	{ "bun", WORLD_NPM, { { { "bun", "add" } } }, false, NULL, NULL },
	{ "pip", WORLD_PIP, { { { "pip", "install" } }, { { "pip3", "install" } },
			      { { "python3", "-m", "pip", "install" } } }, false, NULL, NULL },
	{ "pip3", WORLD_PIP, { { { "pip3", "install" } }, { { "python3", "-m", "pip", "install" } } }, false, NULL, NULL },
	{ "dnf", WORLD_DNF, { { { "dnf", "install", "-y" } } }, true, NULL, NULL },
	{ "apt", WORLD_APT, { { { "apt-get", "install", "-y" } } }, true, "apt-get update", apt_env },
	{ "opkg", WORLD_OPKG, { { { "opkg", "install" } } }, true, "opkg update", NULL },
	{ "apk", WORLD_APK, { { { "apk", "add" } } }, true, "apk update", NULL },
	{ 0 },
};
// clang-format on

const struct install_manager *install_manager(struct slice name)
{
	for (const struct install_manager *m = managers; m->name; m++)
		if (slice_is(name, m->name))
			return m;
	return NULL;
}

const struct install_way *install_way(const struct install_manager *m)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < INSTALL_WAYS_MAX && m->ways[i].words[0]; i++)
		if (child_find(m->ways[i].words[0], path, sizeof(path)) == 0)
			return &m->ways[i];
	return NULL;
}
