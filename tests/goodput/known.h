/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cells that are beyond a bound for a known reason: elements of known[] in goodput.c.  The first one
 * that fits counts.  Each .most is at least half as much again as was seen with 24 seeds.
 */
#define TIMELY	"timely takes a delayed ACK for a queue, and while the guest has little to send its rate only falls"
#define VIVACE	"vivace ignores intervals that the guest limits, and those whose ACKs come late or together"
#define BACKOFF	"of all ACKs in many round trips none comes; if TCon gives up, the guest's own time-out is a long one"
#define REPEATS	"without SACK a hole is filled in each round trip, and the rate of that is taken for the path's"
#define BURST	"a burst into a queue of ten segments ends in a time-out, natively in a probe"
#define GUEST	"the guest's own time-out leaves it a cwnd of Reno, which is smaller than the CC's"
#define COPA	"copa takes a delayed ACK for a queue"
	{ .cc = "timely", .class = "bulk", .than = PLAIN, .most = 2100, .why = TIMELY },
	{ .cc = "timely", .class = "bulk-loss", .than = PLAIN, .most = 2000, .why = TIMELY },
	{ .cc = "timely", .class = "both", .than = PLAIN, .most = 3200, .why = TIMELY },
	{ .cc = "timely", .class = "both-loss", .than = PLAIN, .most = 2500, .why = TIMELY },
	{ .cc = "timely", .class = "ask", .than = PLAIN, .most = 10100, .why = TIMELY },
	{ .cc = "timely", .class = "ask-loss", .than = PLAIN, .most = 7500, .why = TIMELY },
	{ .cc = "timely", .class = "pause", .than = PLAIN, .most = 5200, .why = TIMELY },
	{ .cc = "timely", .class = "pause-loss", .than = PLAIN, .most = 4300, .why = TIMELY },
	{ .cc = "timely", .class = "thin-acks", .than = PLAIN, .most = 3900, .why = TIMELY },
	{ .cc = "timely", .class = "thin-acks", .than = NATIVE, .most = 1000, .rare = true, .why = TIMELY },
	{ .cc = "timely", .class = "next-hop", .than = NATIVE, .most = 12400, .why = TIMELY },
	{ .cc = "timely", .class = "next-hop", .than = PLAIN, .most = 29700, .why = TIMELY },
	{ .cc = "timely", .class = "prunes", .than = PLAIN, .most = 1800, .why = TIMELY },
	{ .cc = "timely", .class = "lost-acks", .than = PLAIN, .most = 5200, .why = TIMELY },
	{ .cc = "timely", .class = "lost-acks", .than = NATIVE, .most = 2100, .rare = true, .why = TIMELY },
	{ .cc = "timely", .class = "lost-acks-no-sack", .than = PLAIN, .most = 6000, .why = TIMELY },
	{ .cc = "timely", .class = "lost-acks-no-sack", .than = NATIVE, .most = 1570, .rare = true, .why = TIMELY },
	{ .cc = "timely", .class = "doubled-acks", .than = PLAIN, .most = 2550, .why = TIMELY },
	{ .cc = "timely", .class = "doubled-acks", .than = NATIVE, .most = 1200, .rare = true, .why = TIMELY },
	{ .cc = "timely", .class = "no-sack", .than = PLAIN, .most = 2150, .why = TIMELY },
	{ .cc = "timely", .class = "no-sack", .than = NATIVE, .most = 1200, .rare = true, .why = TIMELY },
	{ .cc = "timely", .class = "ask", .than = NATIVE, .most = 1000, .why = TIMELY },
	{ .cc = "timely", .class = "ask-loss", .than = NATIVE, .most = 900, .rare = true, .why = TIMELY },
	{ .cc = "vivace", .class = "bulk-loss", .mbps = 20, .rtt_us = 150000, .than = NATIVE, .most = 550, .rare = true, .why = VIVACE },
	{ .cc = "vivace", .class = "both", .than = PLAIN, .most = 1300, .why = VIVACE },
	{ .cc = "vivace", .class = "thin-acks", .than = NATIVE, .most = 900, .rare = true, .why = VIVACE },
	{ .cc = "vivace", .class = "thin-acks", .than = PLAIN, .most = 1100, .rare = true, .why = VIVACE },
	{ .class = "lost-acks", .than = NATIVE, .most = 1300, .why = BACKOFF },
	{ .class = "lost-acks", .than = PLAIN, .most = 780, .rare = true, .why = BACKOFF },
	{ .class = "lost-acks-no-sack", .than = NATIVE, .most = 620, .why = BACKOFF },
	{ .class = "lost-acks-no-sack", .than = PLAIN, .most = 1500, .rare = true, .why = BACKOFF },
	{ .class = "doubled-acks", .than = NATIVE, .most = 370, .why = REPEATS },
	{ .class = "doubled-acks", .than = PLAIN, .most = 600, .rare = true, .why = REPEATS },
	{ .class = "no-sack", .than = NATIVE, .most = 370, .why = REPEATS },
	{ .class = "no-sack", .than = PLAIN, .most = 570, .rare = true, .why = REPEATS },
	{ .cc = "bbr2", .class = "ask", .mbps = 1000, .rtt_us = 200, .than = NATIVE, .most = 1800, .rare = true, .why = BURST },
	{ .cc = "bbr2", .class = "ask", .mbps = 1000, .rtt_us = 200, .than = PLAIN, .most = 1700, .rare = true, .why = BURST },
	{ .cc = "bbr2", .class = "ask-loss", .mbps = 1000, .rtt_us = 200, .than = NATIVE, .most = 1800, .rare = true, .why = BURST },
	{ .cc = "bbr2", .class = "ask-loss", .mbps = 1000, .rtt_us = 200, .than = PLAIN, .most = 1600, .rare = true, .why = BURST },
	{ .cc = "bbr3", .class = "ask", .mbps = 1000, .rtt_us = 200, .than = NATIVE, .most = 1800, .why = BURST },
	{ .cc = "bbr3", .class = "ask", .mbps = 1000, .rtt_us = 200, .than = PLAIN, .most = 1700, .rare = true, .why = BURST },
	{ .cc = "bbr3", .class = "ask-loss", .mbps = 1000, .rtt_us = 200, .than = NATIVE, .most = 1800, .rare = true, .why = BURST },
	{ .cc = "bbr3", .class = "ask-loss", .mbps = 1000, .rtt_us = 200, .than = PLAIN, .most = 1600, .rare = true, .why = BURST },
	{ .cc = "copa", .class = "ask", .mbps = 1000, .rtt_us = 200, .than = NATIVE, .most = 600, .rare = true, .why = COPA },
	{ .cc = "copa", .class = "ask", .mbps = 1000, .rtt_us = 200, .than = PLAIN, .most = 2400, .why = COPA },
	{ .class = "next-hop", .mbps = 20, .rtt_us = 150000, .than = NATIVE, .most = 500, .why = GUEST },
	{ .cc = "timely", .class = "step", .than = PLAIN, .most = 2300, .why = TIMELY },
	{ .cc = "timely", .class = "codel", .than = PLAIN, .most = 2300, .why = TIMELY },
