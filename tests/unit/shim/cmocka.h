/* SPDX-License-Identifier: GPL-2.0-only */
/* cmocka, with all that it needs; numbers that differ are shown with what they are of, in decimal. */
#ifndef _SHIM_CMOCKA_H
#define _SHIM_CMOCKA_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include_next <cmocka.h>

/* Where @wanted_of says no more than its value, that is enough. */
static inline void shim_int_equal(uintmax_t came, uintmax_t wanted, const char *of,
				  const char *wanted_of, const char *file, int line)
{
	char *end;

	if (came == wanted)
		return;
	if (strtoumax(wanted_of, &end, 10) == wanted && !*end)
		print_error("%s: wanted %jd, came %jd\n", of, (intmax_t)wanted, (intmax_t)came);
	else
		print_error("%s: wanted %s = %jd, came %jd\n", of, wanted_of, (intmax_t)wanted,
			    (intmax_t)came);
	_fail(file, line);
}

#undef assert_int_equal
#define assert_int_equal(a, b)						\
	shim_int_equal(cast_to_largest_integral_type(a),		\
		       cast_to_largest_integral_type(b), #a, #b, __FILE__, __LINE__)

#endif /* _SHIM_CMOCKA_H */
