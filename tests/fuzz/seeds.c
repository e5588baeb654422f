// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A fuzz target without libFuzzer: `seeds_NAME SEED...` gives it each seed (what was found once
 * is among them), and each as its mutator changes it, always in the same ways.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX 16384 ///< as in tools/fuzz.sh
#define CHANGES 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
						     size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
	(void)max_size;
	for (size_t i = size / 3; i < size; i += size / 2 + 1)
		data[i] += 77;
	return size;
}

/* The target gets just so many bytes, so that a checker sees what it reads behind them. */
static void try(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void try_seed(const char *path)
{
	static uint8_t data[INPUT_MAX];
	FILE *f = fopen(path, "re");
	size_t size;

	if (!f) {
		fprintf(stderr, "cannot open seed '%s'\n", path);
		exit(2);
	}
	size = fread(data, 1, sizeof(data), f);
	fclose(f);
	try(data, size);
	for (unsigned i = 0; i < CHANGES; i++) {
		size = LLVMFuzzerCustomMutator ?
			       LLVMFuzzerCustomMutator(data, size, sizeof(data), i) :
			       LLVMFuzzerMutate(data, size, sizeof(data));
		try(data, size);
	}
}

int main(int argc, char **argv)
{
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	try((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++)
		try_seed(argv[i]);
	return 0;
}
