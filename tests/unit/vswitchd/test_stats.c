// SPDX-License-Identifier: GPL-2.0-only
/* Means and intervals (userspace/vswitchd/tcon-stats.c).  Expected values come from SciPy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "userspace/vswitchd/tcon-stats.c"

static void near(double got, double wanted, double part)
{
	assert_true(fabs(got - wanted) <= part * fabs(wanted));
}

/* scipy.stats.t.ppf(0.975, v) */
static void quantiles(void **state)
{
	near(tcon_t_quantile(9), 2.26215716, 1e-4);
	near(tcon_t_quantile(12.5), 2.16918594, 1e-4);
	near(tcon_t_quantile(30), 2.04227246, 1e-6);
	near(tcon_t_quantile(1e9), 1.959963984540054, 1e-8);
}

static const uint64_t a[] = { 30, 33, 28, 31, 35, 29, 30, 32, 34, 31, 27, 33 };
static const uint64_t b[] = { 20, 44, 25, 31, 18, 50, 22, 29, 40, 35 };

static void sum_up(const uint64_t *x, uint64_t n, uint64_t *sum, uint64_t *sum_sq)
{
	*sum = *sum_sq = 0;
	for (uint64_t i = 0; i < n; i++) {
		*sum += x[i];
		*sum_sq += x[i] * x[i];
	}
}

/* scipy.stats.t.interval(0.95, 11, a.mean(), scipy.stats.sem(a)) */
static void one_mean(void **state)
{
	struct tcon_interval i;
	uint64_t sum, sum_sq;

	sum_up(a, 12, &sum, &sum_sq);
	assert_true(tcon_mean_interval(12, sum, sum_sq, &i));
	near(i.mean, 31.083333333333332, 1e-9);
	near(i.low, 29.53982757303998, 1e-5);
	near(i.high, 32.626839093626685, 1e-5);
}

/* scipy.stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95) */
static void two_means(void **state)
{
	uint64_t n[] = { 12, 10 }, sum[2], sum_sq[2];
	struct tcon_interval i;

	sum_up(a, 12, &sum[0], &sum_sq[0]);
	sum_up(b, 10, &sum[1], &sum_sq[1]);
	assert_true(tcon_difference_interval(n, sum, sum_sq, &i));
	near(i.mean, -0.31666666666666643, 1e-9);
	near(i.low, -8.062175913710913, 1e-4);
	near(i.high, 7.42884258037758, 1e-4);
}

static void few_or_equal(void **state)
{
	uint64_t n[] = { 9, 100 }, sum[] = { 9, 100 }, sum_sq[] = { 9, 100 };
	struct tcon_interval i;

	assert_false(tcon_mean_interval(9, 9, 9, &i));
	assert_false(tcon_difference_interval(n, sum, sum_sq, &i));
	n[0] = sum[0] = sum_sq[0] = 10;
	assert_true(tcon_difference_interval(n, sum, sum_sq, &i));
	assert_true(i.mean == 0 && i.low == 0 && i.high == 0);
}

/* A million flows that differ by little: the squares do not swallow that. */
static void many(void **state)
{
	uint64_t n = 1000000, x = 40000, sum, sum_sq;
	struct tcon_interval i;

	sum = n * x + n / 2;	/* half of them one more */
	sum_sq = n / 2 * x * x + n / 2 * (x + 1) * (x + 1);
	assert_true(tcon_mean_interval(n, sum, sum_sq, &i));
	near(i.mean, x + 0.5, 1e-12);
	near(i.high - i.mean, 1.96 * 0.5 / 1000, 1e-3);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles),
		cmocka_unit_test(one_mean),
		cmocka_unit_test(two_means),
		cmocka_unit_test(few_or_equal),
		cmocka_unit_test(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
