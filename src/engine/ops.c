/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "engine/ops.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const struct op ops[] = {
#define OP(id_, name_, opcode_, flow_, receives_, reply_, divisor_, min_, max_, traits_, summary_, \
	   is_)                                                                                   \
	{                                                                                         \
		.name = name_, .summary = summary_, .latency_is = is_, .opcode = opcode_,         \
		.flow = flow_, .reply = reply_, .divisor = divisor_, .min_size = min_,            \
		.max_size = max_, .receives = receives_, .traits = traits_,                       \
	},
#include "engine/ops.def"
#undef OP
};

const size_t op_count = sizeof(ops) / sizeof(ops[0]);

const struct op *op_find(const char *name)
{
	for (size_t i = 0; i < op_count; i++)
		if (!strcasecmp(ops[i].name, name))
			return &ops[i];
	return NULL;
}

void op_names(char *out, size_t size)
{
	out[0] = '\0';
	for (size_t i = 0; i < op_count; i++) {
		size_t used = strlen(out);

		snprintf(out + used, size - used, "%s%s", used ? ", " : "", ops[i].name);
	}
}
