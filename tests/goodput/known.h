/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cells that are beyond a bound for a known reason: elements of known[] in goodput.c.  The first one
 * that fits counts.  Each .most is at least half as much again as was seen with 24 seeds, or, of the
 * classes for which goodput.c says so, with fewer.
 */
#define TIMELY	"timely takes a delayed ACK for a queue, and while the guest has little to send its rate only falls"
#define VIVACE	"vivace ignores intervals that the guest limits, and those whose ACKs come late or together"
#define BACKOFF	"of all ACKs in many round trips none comes; if TCon gives up, the guest's own time-out is a long one"
#define BURST	"a burst into a queue of ten segments ends in a time-out, natively in a probe"
#define ANEW	"tahoe begins anew after a loss, and keeps the rate that it has just then"
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
	{ .cc = "timely", .class = "thin-acks", .than = NATIVE, .most = 2640, .rare = true, .why = TIMELY },
	{ .cc = "timely", .class = "next-hop", .than = NATIVE, .most = 2490, .why = TIMELY },
	{ .cc = "timely", .class = "next-hop", .than = PLAIN, .most = 2840, .why = TIMELY },
	{ .cc = "timely", .class = "prunes", .than = PLAIN, .most = 1800, .why = TIMELY },
	{ .cc = "timely", .class = "astray", .than = PLAIN, .most = 2200, .why = TIMELY },
	{ .cc = "timely", .class = "astray-loss", .than = PLAIN, .most = 2190, .why = TIMELY },
	{ .cc = "timely", .class = "lost-acks", .than = PLAIN, .most = 5200, .why = TIMELY },
	{ .cc = "timely", .class = "lost-acks-no-sack", .than = PLAIN, .most = 6000, .why = TIMELY },
	{ .cc = "timely", .class = "doubled-acks", .than = PLAIN, .most = 2570, .why = TIMELY },
	{ .cc = "timely", .class = "doubled-acks", .than = NATIVE, .most = 1980, .rare = true, .why = TIMELY },
	{ .cc = "timely", .class = "no-sack", .than = PLAIN, .most = 2150, .why = TIMELY },
	{ .cc = "timely", .class = "no-sack", .than = NATIVE, .most = 2210, .rare = true, .why = TIMELY },
	{ .cc = "timely", .class = "ask", .than = NATIVE, .most = 1000, .rare = true, .why = TIMELY },
	{ .cc = "timely", .class = "ask-loss", .than = NATIVE, .most = 900, .rare = true, .why = TIMELY },
	{ .cc = "vivace", .class = "bulk-loss", .mbps = 20, .rtt_us = 150000, .than = NATIVE, .most = 550, .rare = true, .why = VIVACE },
	{ .cc = "vivace", .class = "both", .than = PLAIN, .most = 1300, .why = VIVACE },
	{ .cc = "vivace", .class = "thin-acks", .than = NATIVE, .most = 900, .rare = true, .why = VIVACE },
	{ .cc = "vivace", .class = "thin-acks", .than = PLAIN, .most = 1100, .rare = true, .why = VIVACE },
	{ .cc = "tahoe", .class = "astray", .than = NATIVE, .most = 810, .why = ANEW },
	{ .cc = "tahoe", .class = "astray", .than = PLAIN, .most = 890, .why = ANEW },
	{ .cc = "tahoe", .class = "astray-loss", .than = NATIVE, .most = 1260, .why = ANEW },
	{ .cc = "tahoe", .class = "astray-loss", .than = PLAIN, .most = 1650, .why = ANEW },
	{ .class = "lost-acks-no-sack", .than = NATIVE, .most = 670, .rare = true, .why = BACKOFF },
	{ .class = "lost-acks-no-sack", .than = PLAIN, .most = 1250, .rare = true, .why = BACKOFF },
	{ .cc = "bbr2", .class = "ask", .mbps = 1000, .rtt_us = 200, .than = NATIVE, .most = 1800, .rare = true, .why = BURST },
	{ .cc = "bbr2", .class = "ask", .mbps = 1000, .rtt_us = 200, .than = PLAIN, .most = 2250, .rare = true, .why = BURST },
	{ .cc = "bbr2", .class = "ask-loss", .mbps = 1000, .rtt_us = 200, .than = NATIVE, .most = 1800, .rare = true, .why = BURST },
	{ .cc = "bbr2", .class = "ask-loss", .mbps = 1000, .rtt_us = 200, .than = PLAIN, .most = 1600, .rare = true, .why = BURST },
	{ .cc = "bbr3", .class = "ask", .mbps = 1000, .rtt_us = 200, .than = NATIVE, .most = 1800, .why = BURST },
	{ .cc = "bbr3", .class = "ask", .mbps = 1000, .rtt_us = 200, .than = PLAIN, .most = 1700, .rare = true, .why = BURST },
	{ .cc = "bbr3", .class = "ask-loss", .mbps = 1000, .rtt_us = 200, .than = NATIVE, .most = 1800, .rare = true, .why = BURST },
	{ .cc = "bbr3", .class = "ask-loss", .mbps = 1000, .rtt_us = 200, .than = PLAIN, .most = 1600, .rare = true, .why = BURST },
	{ .cc = "copa", .class = "ask", .mbps = 200, .rtt_us = 200, .than = PLAIN, .most = 510, .rare = true, .why = COPA },
	{ .cc = "copa", .class = "ask-loss", .mbps = 200, .rtt_us = 200, .than = PLAIN, .most = 490, .rare = true, .why = COPA },
	{ .cc = "copa", .class = "ask", .mbps = 1000, .rtt_us = 200, .than = NATIVE, .most = 600, .rare = true, .why = COPA },
	{ .cc = "copa", .class = "ask", .mbps = 1000, .rtt_us = 200, .than = PLAIN, .most = 2400, .why = COPA },
	{ .cc = "timely", .class = "step", .than = PLAIN, .most = 2300, .why = TIMELY },
	{ .cc = "timely", .class = "codel", .than = PLAIN, .most = 2300, .why = TIMELY },
