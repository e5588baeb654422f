// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Is there Intel PT here, may we use it, and if not, why not: one line that says what to do.
 */
#define LOG_ROOM "record"
#include <cpuid.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pt-collect/pt/pt.h"

#define LEAF7_EBX_PT (1u << 25)
#define LEAF1_ECX_HYPERVISOR (1u << 31)

struct ptc_pt_machine ptc_pt_machine_here(void)
{
	struct ptc_pt_machine m = {
		.sysfs = secure_getenv("FAULTLINE_PT_SYSFS") ?: PTC_PT_SYSFS,
		.paranoid = "/proc/sys/kernel/perf_event_paranoid",
	};
	uint32_t eax, ebx, ecx, edx;
	char vendor[13] = "";

	if (__get_cpuid(0, &eax, &ebx, &ecx, &edx)) {
		memcpy(vendor, &ebx, 4);
		memcpy(vendor + 4, &edx, 4);
		memcpy(vendor + 8, &ecx, 4);
	}
	m.is_intel = !strcmp(vendor, "GenuineIntel");
	if (__get_cpuid(1, &eax, &ebx, &ecx, &edx))
		m.is_virtual = ecx & LEAF1_ECX_HYPERVISOR;
	if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
		m.has_pt = ebx & LEAF7_EBX_PT;
	return m;
}

/** The kernel has no such PMU. */
static const char *why_none(const struct ptc_pt_machine *m)
{
	if (!m->is_intel)
		return "this is not an Intel CPU";
	if (!m->has_pt && m->is_virtual)
		return "this virtual machine's CPU does not have it (CPUID.7.EBX[25] is 0: "
		       "the hypervisor hides it, or the host has none)";
	if (!m->has_pt)
		return "this CPU does not have it (CPUID.7.EBX[25] is 0)";
	if (m->is_virtual)
		return "the CPU has it, but this virtual machine's kernel has no intel_pt PMU "
		       "(see pt_mode of the host's kvm_intel)";
	return "the CPU has it, but the kernel has no intel_pt PMU (is it switched off in "
	       "the firmware, or taken by kvm_intel's pt_mode?)";
}

static long read_paranoid(const struct ptc_pt_machine *m)
{
	_cleanup_fclose_ FILE *f = fopen(m->paranoid, "re");
	long v = 2;

	if (f && fscanf(f, "%ld", &v) != 1)
		v = 2;
	return v;
}

struct err *ptc_pt_explain(const struct ptc_pt_machine *machine, const char *what,
			   int saved_errno)
{
	long paranoid = read_paranoid(machine);

	errno = saved_errno;
	switch (saved_errno) {
	case EACCES:
	case EPERM:
		return err_new(ERR_PERMISSION,
			       "%s: %s (kernel.perf_event_paranoid is %ld; needs "
			       "CAP_PERFMON, or `sysctl kernel.perf_event_paranoid=%d')",
			       what, strerror(saved_errno), paranoid,
			       paranoid > 2 ? 2 : -1);
	case EBUSY:
		return err_new(ERR_OS,
			       "%s: somebody else traces with it (perf, another "
			       "faultline, or the hypervisor)",
			       what);
	case ENOMEM:
		return err_new(ERR_OS,
			       "%s: no memory for its ring (a smaller one: "
			       "--pt-buffer=SIZE)",
			       what);
	case EOPNOTSUPP:
	case ENODEV:
	case ENOENT:
	case EINVAL:
		return err_new(ERR_UNSUPPORTED, "%s: this kernel refuses it: %s", what,
			       strerror(saved_errno));
	}
	return err_errno("%s", what);
}

struct err *ptc_pt_setup_init(const struct ptc_pt_options *o,
			      const struct ptc_pt_machine *machine,
			      struct ptc_pt_setup *ret, char **why_not)
{
	struct err *err;

	*why_not = NULL;
	*ret = (struct ptc_pt_setup){ .o = o, .machine = *machine };
	err = ptc_pt_pmu_read(machine->sysfs, &ret->pmu);
	if (err && err->code == ERR_NOT_FOUND) {
		err_destroy(err);
		*why_not = strdup(why_none(machine));
		return *why_not ? NULL : &err_nomem;
	}
	if (err) {
		*why_not = strdup(err->message);
		err_destroy(err);
		return *why_not ? NULL : &err_nomem;
	}
	err = ptc_pt_pmu_configure(&ret->pmu, o->terms, ret->config);
	if (!err && o->filters.size && !ret->pmu.n_filters)
		err = err_new(ERR_USAGE, "this CPU's Intel PT has no address filters");
	if (err)
		ptc_pt_setup_deinit(ret);
	return err;
}

void ptc_pt_setup_deinit(struct ptc_pt_setup *s)
{
	ptc_pt_pmu_deinit(&s->pmu);
}
