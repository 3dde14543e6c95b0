/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Valid messages, each a struct that is all zeros or has been prepared when it gets here. They
 * return whether there is one of that number.
 */
#ifndef TESTS_FUZZ_SAMPLES_H
#define TESTS_FUZZ_SAMPLES_H

#include <stdbool.h>

bool sample_greeting(void *at, unsigned int number);
bool sample_facts(void *at, unsigned int number);
bool sample_devices(void *at, unsigned int number);
bool sample_point(void *at, unsigned int number);
bool sample_accept(void *at, unsigned int number);
bool sample_endpoints(void *at, unsigned int number);
bool sample_ready(void *at, unsigned int number);
bool sample_beat(void *at, unsigned int number);
bool sample_sent(void *at, unsigned int number);
bool sample_abort(void *at, unsigned int number);
bool sample_result(void *at, unsigned int number);

#endif
