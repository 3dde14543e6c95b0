/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fuzz.h"

#include <sanitizer/allocator_interface.h>

static struct heap_use use;
static __thread bool counting; /* libFuzzer has a thread of its own: use is not touched there */

static void allocated(const volatile void *p, size_t size)
{
	(void)p;
	if (!counting)
		return;
	use.bytes += size;
	use.blocks++;
}

static void freed(const volatile void *p)
{
	if (counting && p)
		use.blocks--;
}

void heap_begin(void)
{
	static bool installed;

	if (!installed)
		installed = __sanitizer_install_malloc_and_free_hooks(allocated, freed);
	MUST(installed, "no hooks into the allocator");
	use = (struct heap_use){ 0 };
	counting = true;
}

struct heap_use heap_now(void)
{
	return use;
}

struct heap_use heap_end(void)
{
	counting = false;
	return use;
}
