// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A place where others may connect.
 */
#ifndef CMD_LISTEN_H
#define CMD_LISTEN_H

#include "base/base.h"

/**
 * Listen.
 *
 * @param host  A name or an address.
 * @param port  A number; "0": one that is free.
 * @param ret   The listener, close(); set only on success.
 * @return ERR_USAGE (there is no such place), ERR_OS.
 */
struct err *cmd_listen(const char *host, const char *port, int *ret);

/** @return the port at which @p listener listens; 0: it is none. */
uint16_t cmd_listen_port(int listener);

#endif
