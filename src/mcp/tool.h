/*
 * Tools: a row and a function each. The row gives listing, JSON Schema, argument checking, defaults
 * and docs.
 */
#ifndef MCP_TOOL_H
#define MCP_TOOL_H

#include "mcp/job.h"

enum arg_type {
	ARG_STR,
	ARG_INT,
	ARG_BOOL,
	ARG_SECONDS, /* a JSON number; bound as milliseconds */
	ARG_STRS,    /* an array of strings; bound as the text of a JSON array of them */
};

enum { /* flags of an argument */
	ARG_REQUIRED = 1,
	ARG_NULL = 2,   /* null is taken and means "not given"; the schema says anyOf [T, null],
			   default null */
	ARG_NUL = 4,    /* a string that may hold NUL (file content) */
	ARG_HIDDEN = 8, /* taken, but not told of in the schema */
};

struct arg {
	const char *name; /* NULL ends the array */
	enum arg_type type;
	unsigned flags;
	const char *desc;
	const char *dflt;    /* JSON text of the default; ARG_DEFAULT_ROOT: the workspace root */
	const char *choices; /* of a string: "a|b|c" are the ones taken; NULL: any */
	/*
	 * Of a number the least and the greatest value, of a string those of its bytes; max 0: no
	 * bound above, both 0: none. min 1 of ARG_STRS: not empty.
	 */
	int32_t min, max;
	const char *alias; /* another name it is taken by, or NULL */
};

/* The default of file_list's path: known at start only. */
extern const char ARG_DEFAULT_ROOT[];

enum {                       /* flags of a tool */
	TOOL_READS = 1,      /* readOnlyHint */
	TOOL_DESTROYS = 2,   /* destructiveHint */
	TOOL_IDEMPOTENT = 4, /* idempotentHint */
	TOOL_OPEN = 8,       /* openWorldHint */
	TOOL_SPAWNS = 16,    /* starts a child, or asks others for what takes long: takes none of
				the JOBS_KEPT slots */
	TOOL_JSON = 32,      /* answers with tool_json, always */
	TOOL_LIST = 64,      /* with TOOL_JSON: an array, which is structuredContent.result */
	TOOL_LENIENT = 128,  /* unknown arguments are ignored, null counts as not given, errors say
				"Error executing tool NAME" (decision 32) */
	TOOL_WAITS = 256,    /* waits for somebody else: ended when stdin ends (decision 48) */
};

struct tool {
	const char *name; /* NULL ends the array */
	const char *title;
	const char *desc;
	const struct arg *args; /* NULL: none */
	unsigned flags;
	enum step (*run)(struct job *j);
};

struct toolset {
	const char *name;
	const struct tool *const *groups; /* arrays of rows, ended by NULL; order of tools/list */
};

/* Arguments of the call, by position in tool->args. Strings are good until the job ends. */
struct slice arg_str(const struct job *j, int which); /* empty when not given */
int64_t arg_num(const struct job *j, int which);
bool arg_bool(const struct job *j, int which);
bool arg_given(const struct job *j, int which);
struct slice arg_raw(
	const struct job *j, int which); /* a number as the client wrote it; empty when not given */

/*
 * Answers. Exactly one of tool_text, tool_fail or tool_begin ... tool_end is used by a call;
 * tool_note may follow tool_text and tool_end, any number of times. All give STEP_DONE. What is
 * said goes straight into job->out, so none of it may lie there.
 */
enum step tool_text(struct job *j, struct slice text);
enum step tool_printf(struct job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The answer of a TOOL_JSON tool: compact JSON, as the one text block and as structuredContent. No
 * tool_note may follow. */
enum step tool_json(struct job *j, struct slice json);
/* Result with isError; what was begun is taken back. The text may hold any bytes. */
enum step tool_fail(struct job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same about an argument that binding could not judge: `rule` goes on after its name. */
enum step tool_refuse(struct job *j, struct slice arg, const char *rule);
/* A further text block, for what the server has to say about the first. */
enum step tool_note(struct job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same in parts: begin, then jw_text(&j->w, part) ..., then end. */
void tool_note_begin(struct job *j);
enum step tool_note_end(struct job *j);
/* Text in parts: begin, then jw_text(&j->w, part) ..., then end. failed: the result is an error all
 * the same. */
void tool_begin(struct job *j);
void tool_begin_failure(struct job *j); /* the same, behind what every error of the tool says */
enum step tool_end(struct job *j, bool failed);

/* Progress for calls whose client asked for it; paced by PROGRESS_FIRST_MS and PROGRESS_EVERY_MS,
 * else dropped. */
bool tool_wants_progress(const struct job *j);
void tool_progress(struct job *j, int64_t progress, int64_t total, struct slice message);

/*
 * The tools this process serves, chosen by a list such as "host,-terminal_exec" from the sets
 * (ended by a NULL name). 0 or -EINVAL with the offending word in *bad.
 */
int tools_choose(const struct toolset *sets, const char *list, bool read_only, struct slice *bad)
	__attribute__((warn_unused_result));
/* root: what ARG_DEFAULT_ROOT stands for. structured: decision 10. Both before the first message.
 */
void tools_setup(const char *root, bool structured);
const char *tools_root(void);
bool tools_structured(void);
const struct tool *tool_find(struct slice name);
/* Is a tool of that set served? */
bool tools_include(const struct toolset *s);
/* Binds the arguments (token of the object, or -1) and runs the tool. */
enum step tool_call(struct job *j, const struct tool *tool, int arguments);
/* One after the other, in order: from NULL to NULL. */
const struct tool *tool_next(const struct tool *t);
/* The array of tools/list. */
void tools_put(struct jw *w, const char *key);

#endif
