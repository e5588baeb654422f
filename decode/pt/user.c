// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/pt/user.h"

#include <string.h>

enum { PACKET_BYTES_MAX = 32 }; ///< that is written

struct filter {
	struct dec_pt_user *user;
	struct pt_encoder *to;
	const uint8_t *bytes;
	uint64_t at; ///< the packet that is looked at
	uint64_t last_ip;
	struct pt_packet mode; ///< the last MODE.Exec
	bool is_kernel;
	bool is_in_group; ///< between PSB and PSBEND: what is told there was told before
};

bool dec_pt_user_ip(const struct pt_packet_ip *p, uint64_t *last_ip)
{
	static const uint8_t bits[] = {
		[pt_ipc_update_16] = 16, [pt_ipc_update_32] = 32, [pt_ipc_update_48] = 48
	};

	if (p->ipc == pt_ipc_suppressed)
		return false;
	if (p->ipc == pt_ipc_sext_48)
		*last_ip = (uint64_t)((int64_t)(p->ip << 16) >> 16);
	else if (p->ipc == pt_ipc_full)
		*last_ip = p->ip;
	else
		*last_ip = *last_ip >> bits[p->ipc] << bits[p->ipc] | p->ip;
	return true;
}

/* ---- writing ------------------------------------------------------------------------------- */

static size_t filter_written(const struct filter *f)
{
	uint64_t n = 0;

	pt_enc_get_offset(f->to, &n);
	return n;
}

static struct err *filter_mark(struct filter *f)
{
	return vec_add(&f->user->marks,
		       (struct dec_pt_user_mark){ filter_written(f), f->at });
}

static void filter_put(struct filter *f, const struct pt_packet *p)
{
	pt_enc_next(f->to, p);
}

static void filter_put_ip(struct filter *f, enum pt_packet_type type)
{
	struct pt_packet p = { .type = type };

	p.payload.ip.ipc = pt_ipc_full;
	p.payload.ip.ip = f->last_ip;
	filter_put(f, &p);
}

/* As it is: the library may have no encoding of it. */
static void filter_copy(struct filter *f, size_t n)
{
	size_t at = filter_written(f);

	memcpy(f->user->bytes + at, f->bytes + f->at, n);
	pt_enc_sync_set(f->to, at + n);
}

/* ---- packets ------------------------------------------------------------------------------- */

static void filter_enter(struct filter *f)
{
	f->is_kernel = true;
	f->user->n_visits += !f->is_in_group;
}

static void filter_tip(struct filter *f, bool has_ip)
{
	bool to_kernel = has_ip && dec_pt_user_is_kernel(f->last_ip);
	static const struct pt_packet off = { .type = ppt_tip_pgd };

	if (f->is_kernel && has_ip && !to_kernel) {
		filter_put(f, &f->mode);
		filter_put_ip(f, ppt_tip_pge);
		f->is_kernel = false;
	} else if (!f->is_kernel && to_kernel) {
		filter_put(f, &off);
		filter_enter(f);
	} else if (!f->is_kernel && has_ip) {
		filter_put_ip(f, ppt_tip);
	} else if (!f->is_kernel) {
		filter_put(f, &(struct pt_packet){ .type = ppt_tip });
	}
}

/* TIP.PGE, TIP.PGD and FUP. */
static void filter_ip(struct filter *f, const struct pt_packet *p, bool has_ip)
{
	bool is_kernel = has_ip && dec_pt_user_is_kernel(f->last_ip);

	if (p->type == ppt_tip_pgd && f->is_kernel) {
		f->is_kernel = false; // tracing is off as it seems to be already
	} else if (p->type != ppt_tip_pgd && is_kernel) {
		if (!f->is_kernel)
			filter_enter(f);
	} else if (p->type == ppt_fup && f->is_kernel) {
		// Where an overflow was over.
		filter_put_ip(f, ppt_fup);
		f->is_kernel = false;
	} else if (has_ip && !is_kernel) {
		filter_put_ip(f, p->type);
		f->is_kernel = false;
	} else {
		filter_put(f, &(struct pt_packet){ .type = p->type });
	}
}

/* What the kernel's flow consists of, besides addresses. */
static bool is_flow(enum pt_packet_type type)
{
	switch (type) {
	case ppt_tnt_8:
	case ppt_tnt_64:
	case ppt_pip:
	case ppt_vmcs:
	case ppt_ptw:
	case ppt_exstop:
	case ppt_mwait:
	case ppt_pwre:
	case ppt_pwrx:
		return true;
	default:
		return false;
	}
}

static struct err *filter_packet(struct filter *f, const struct pt_packet *p)
{
	bool is_mode = p->type == ppt_mode && p->payload.mode.leaf == pt_mol_exec;

	switch (p->type) {
	case ppt_psb:
		f->last_ip = 0;
		f->is_in_group = true;
		filter_copy(f, p->size);
		return NULL;
	case ppt_tip:
		filter_tip(f, dec_pt_user_ip(&p->payload.ip, &f->last_ip));
		break;
	case ppt_tip_pge:
	case ppt_tip_pgd:
	case ppt_fup:
		filter_ip(f, p, dec_pt_user_ip(&p->payload.ip, &f->last_ip));
		break;
	default:
		f->is_in_group &= p->type != ppt_psbend && p->type != ppt_ovf;
		if (is_mode)
			f->mode = *p;
		if (!f->is_kernel || (!is_flow(p->type) && !is_mode)) {
			filter_copy(f, p->size);
			return NULL;
		}
	}
	f->at += p->size;
	return filter_mark(f);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static struct err *filter_packets(struct filter *f, struct pt_packet_decoder *from,
				  size_t n)
{
	struct err *err = filter_mark(f);
	struct pt_packet p;

	while (!err && pt_pkt_next(from, &p, sizeof(p)) > 0) {
		err = filter_packet(f, &p);
		pt_pkt_get_offset(from, &f->at);
	}
	if (!err)
		err = filter_mark(f);
	if (!err)
		filter_copy(f, n - f->at);
	f->user->n = filter_written(f);
	return err;
}

/* A packet of one byte may become MODE.Exec and TIP.PGE only where TIP had an address. */
static struct err *filter_room(struct dec_pt_user *u, size_t n)
{
	size_t room = 4 * n + PACKET_BYTES_MAX;

	if (u->n_max >= room)
		return NULL;
	free(u->bytes);
	u->n_max = 0;
	u->bytes = malloc(room);
	if (!u->bytes)
		return &err_nomem;
	u->n_max = room;
	return NULL;
}

struct err *dec_pt_user_filter(struct dec_pt_user *u, const struct pt_config *config,
			       const uint8_t *bytes, size_t n)
{
	struct filter f = { .user = u, .bytes = bytes, .mode = { .type = ppt_mode } };
	struct pt_config from = *config, to = *config;
	struct pt_packet_decoder *packets = NULL;
	struct err *err = filter_room(u, n);

	if (err)
		return err;
	u->marks.size = u->n = u->n_visits = 0;
	f.mode.payload.mode.leaf = pt_mol_exec;
	f.mode.payload.mode.bits.exec = pt_set_exec_mode(ptem_64bit);
	from.begin = (uint8_t *)bytes;
	from.end = from.begin + n;
	to.begin = u->bytes;
	to.end = to.begin + u->n_max;
	f.to = pt_alloc_encoder(&to);
	packets = pt_pkt_alloc_decoder(&from);
	err = f.to && packets && pt_pkt_sync_set(packets, 0) >= 0 ?
		      filter_packets(&f, packets, n) :
		      &err_nomem;
	pt_pkt_free_decoder(packets);
	pt_free_encoder(f.to);
	return err;
}

void dec_pt_user_deinit(struct dec_pt_user *u)
{
	free(u->bytes);
	vec_deinit(&u->marks);
}

uint64_t dec_pt_user_offset(const struct dec_pt_user *u, uint64_t at)
{
	size_t i = vec_rank(u->marks.size, k, u->marks.data[k].to <= at);
	const struct dec_pt_user_mark *m = i ? &u->marks.data[i - 1] : NULL;
	uint64_t next = i < u->marks.size ? u->marks.data[i].from : UINT64_MAX, from;

	from = m ? m->from + (at - m->to) : at;
	// Within a packet that has grown.
	return from < next ? from : next;
}
