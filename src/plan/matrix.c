/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "plan/matrix.h"

#include "engine/ops.h"
#include "verbs/transport.h"

/* Every operation has both tests wherever there is the operation. */
static const char *cell(const struct op *op, uint64_t transport)
{
	return op_runs_on(op, transport) ? "lat bw" : "-";
}

static void print_rows(FILE *out)
{
	fprintf(out, "  %-12s", "");
	for (uint64_t t = 0; t < TRANSPORTS; t++)
		fprintf(out, t + 1 < TRANSPORTS ? "%-9s" : "%s\n", transport_get(t)->name);
	for (size_t i = 0; i < op_count; i++) {
		if (op_is_local(&ops[i]))
			continue;
		fprintf(out, "  %-12s", ops[i].name);
		for (uint64_t t = 0; t < TRANSPORTS; t++)
			fprintf(out, t + 1 < TRANSPORTS ? "%-9s" : "%s\n", cell(&ops[i], t));
	}
	for (uint64_t t = 0; t < TRANSPORTS; t++)
		if (transport_get(t)->lacks)
			fprintf(out, "  - on %s: %s\n", transport_get(t)->name,
				transport_get(t)->lacks);
}

void matrix_print(FILE *out)
{
	fputs("\nOperations, and the tests that they have on each transport:\n", out);
	print_rows(out);
}

void matrix_print_manual(FILE *out)
{
	fputs(".Ss Operations and transports\n.Bd -literal\n", out);
	print_rows(out);
	fputs(".Ed\n", out);
}
