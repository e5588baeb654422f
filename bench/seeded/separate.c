// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Two aeroplanes come near to each other: shall ours climb or descend? After Siemens' tcas. Reads
 * situations of 11 numbers and prints an advice for each.
 */
#include <stdio.h>

#define CLIMB 300
#define MIN_SEPARATION 600
#define FAR 900
#define SLOW 10

enum { NONE, UPWARD, DOWNWARD };
enum { NO_INTENT, WILL_NOT_CLIMB, WILL_NOT_DESCEND };

struct situation {
	int separation; ///< now
	int is_confident, has_two_reports;
	int own_altitude, own_rate, other_altitude;
	int layer; ///< 0 to 3: how high
	int up, down; ///< separation if we climbed, descended
	int intent, is_inhibited;
};

static struct situation now;

static int alarm_limit(void)
{
	if (now.layer == 0)
		return 400;
	if (now.layer == 1)
		return 500;
	if (now.layer == 2)
		return 640;
	return 740;
}

static int biased_climb(void)
{
	int ret = now.up;

	if (now.is_inhibited)
		ret = now.up + CLIMB;
	return ret;
}

static int own_is_below(void)
{
	return now.own_altitude < now.other_altitude;
}

static int own_is_above(void)
{
	return now.other_altitude < now.own_altitude;
}

static int may_climb(void)
{
	int prefers_up = biased_climb() > now.down;
	int result;

	if (prefers_up)
		result = !own_is_below() || !(now.down >= alarm_limit());
	else
		result = own_is_above() && now.separation >= MIN_SEPARATION &&
			 now.up >= alarm_limit();
	return result;
}

static int may_descend(void)
{
	int prefers_up = biased_climb() > now.down;
	int result;

	if (prefers_up)
		result = own_is_below() && now.separation >= MIN_SEPARATION &&
			 now.down >= alarm_limit();
	else
		result = !own_is_above() || now.up >= alarm_limit();
	return result;
}

static int is_a_threat(void)
{
	int is_steady = now.own_rate <= FAR;
	int is_near = now.separation > MIN_SEPARATION - CLIMB;

	return now.is_confident && is_steady && is_near;
}

static int advise(void)
{
	int is_equipped = now.intent != NO_INTENT;
	int advice = NONE;
	int goes_up, goes_down;

	if (!is_a_threat())
		return NONE;
	if (!now.has_two_reports && is_equipped)
		return NONE;
	goes_up = may_climb() && own_is_below();
	goes_down = may_descend() && own_is_above();
	if (now.intent == WILL_NOT_CLIMB)
		goes_down = goes_down && now.down > CLIMB;
	if (now.intent == WILL_NOT_DESCEND)
		goes_up = goes_up && now.up > CLIMB;
	if (goes_up && goes_down)
		advice = NONE;
	else if (goes_up)
		advice = UPWARD;
	else if (goes_down)
		advice = DOWNWARD;
	return advice;
}

static int urgency(int advice)
{
	int room = advice == UPWARD ? now.up : now.down;
	int steps = 0;

	if (advice == NONE)
		return 0;
	while (room > SLOW) {
		room = room / 2;
		steps = steps + 1;
	}
	if (now.own_rate < 0)
		steps = steps + 2;
	return 12 - steps;
}

static int read_situation(void)
{
	int n = scanf("%d %d %d %d %d %d %d %d %d %d %d", &now.separation,
		      &now.is_confident, &now.has_two_reports, &now.own_altitude,
		      &now.own_rate, &now.other_altitude, &now.layer, &now.up, &now.down,
		      &now.intent, &now.is_inhibited);

	return n == 11;
}

static const char *name_of(int advice)
{
	if (advice == UPWARD)
		return "climb";
	if (advice == DOWNWARD)
		return "descend";
	return "nothing";
}

int main(void)
{
	int n = 0, n_alarms = 0;

	while (read_situation()) {
		int advice = advise();

		n++;
		if (advice != NONE)
			n_alarms++;
		printf("%d: %s, urgency %d\n", n, name_of(advice), urgency(advice));
	}
	printf("%d of %d\n", n_alarms, n);
	return 0;
}
