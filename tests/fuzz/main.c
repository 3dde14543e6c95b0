/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * usage: fuzz --target=NAME [libFuzzer's options] [CORPUS...]
 *        fuzz --list                     the targets
 *        fuzz --write-corpus=DIR         DIR/TARGET/valid-N, by the program's own writers
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "control/frame.h"
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

static const struct kind *kind; /* NULL: frames */
static const char *target;
static unsigned long tried, taken;

void broken(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "broken: %s: ", target);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}

static void usage(const char *what)
{
	fprintf(stderr, "fuzz: %s; --list names the targets\n", what);
	exit(2);
}

static void list(void)
{
	puts("frame");
	for (size_t i = 0; i < kind_count; i++)
		puts(kinds[i].name);
	exit(0);
}

/* before is what an input has in front of the text. */
static void write_sample(const char *dir, const char *name, unsigned int number, json_t *json,
			 const void *before, size_t size)
{
	char path[4096], *text = json_dumps(json, JSON_COMPACT);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (mkdir(path, 0777) && errno != EEXIST)
		usage("the directory cannot be made");
	snprintf(path, sizeof(path), "%s/%s/valid-%u", dir, name, number);
	f = fopen(path, "w");
	if (!f || !text || fwrite(before, 1, size, f) != size || fputs(text, f) < 0 || fclose(f))
		usage("a file cannot be written");
	free(text);
	json_decref(json);
}

static void write_corpus(const char *dir)
{
	json_t *json;
	char text[64];

	for (size_t i = 0; i < kind_count; i++)
		for (unsigned int n = 0; (json = kind_sample(&kinds[i], n)); n++)
			write_sample(dir, kinds[i].name, n, json, "", 0);
	/* A byte that says how the stream is cut, the magic word, a length. */
	for (unsigned int n = 0; (json = frame_sample(n)); n++) {
		size_t length = json_dumpb(json, NULL, 0, JSON_COMPACT);

		text[0] = (char)n;
		memcpy(text + 1, FRAME_MAGIC, FRAME_MAGIC_SIZE);
		for (int i = 0; i < 4; i++)
			text[1 + FRAME_MAGIC_SIZE + i] = (char)(length >> (24 - 8 * i));
		write_sample(dir, "frame", n, json, text, 1 + FRAME_MAGIC_SIZE + 4);
	}
	exit(0);
}

static void choose(const char *name)
{
	target = name;
	for (size_t i = 0; i < kind_count; i++)
		if (!strcmp(kinds[i].name, name))
			kind = &kinds[i];
	if (!kind && strcmp(name, "frame"))
		usage("there is no such target");
}

static void tell(void)
{
	printf("fuzz %s: %lu inputs, %lu taken\n", target, tried, taken);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	for (int i = 1; i < *argc; i++) {
		const char *arg = (*argv)[i];

		if (!strcmp(arg, "--list"))
			list();
		if (!strncmp(arg, "--write-corpus=", 15))
			write_corpus(arg + 15);
		if (!strncmp(arg, "--target=", 9))
			choose(arg + 9);
	}
	if (!target)
		usage("--target=NAME is missing");
	if (kind)
		message_begin(kind);
	atexit(tell);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct heap_use use;

	heap_begin();
	taken += kind ? message_try(kind, data, size) : frame_try(data, size);
	use = heap_end();
	tried++;
	/* LeakSanitizer would find it too, but not at once, and not where ptrace is forbidden. */
	MUST(!use.blocks, "%ld blocks of memory are lost", use.blocks);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	size_t changed = kind && seed % 4 ? mutate_json(kind, data, size, max, seed / 4) : 0;

	if (changed)
		return changed;
	changed = LLVMFuzzerMutate(data, size, max);
	/* A large frame takes as long as a hundred others. */
	if (!kind && data[0] == FRAME_LARGE && seed % 256)
		data[0] = (uint8_t)(seed % 256 - 1);
	return changed;
}
