// SPDX-License-Identifier: GPL-2.0-only
/*
 * Modules that provide CCs come and go.
 *
 * A rule names its CC; it does not hold the module.  When a module goes, its
 * flows go back to observed and its rules stay: they take effect again when the
 * module returns, so that an operator may replace a CC under traffic.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "state/flow.h"
#include "state/policy.h"
#include "state/registry.h"

static const char *complaint(const struct tcon_cc_ops *ops)
{
	unsigned int i;

	if (!ops->name[0] || !strcmp(ops->name, TCON_CC_OBSERVE) ||
	    strnlen(ops->name, TCON_CC_NAME_MAX) == TCON_CC_NAME_MAX)
		return "name";
	if (!ops->category || !ops->source)
		return "category or source";
	if (!ops->init || !ops->cong_control || !ops->set_state ||
	    !ops->undo_cwnd)
		return "init, cong_control, set_state or undo_cwnd";
	if (ops->priv_bytes > TCON_CC_PRIV_BYTES)
		return "priv_bytes";
	if (ops->n_params > TCON_MAX_PARAMS)
		return "n_params";
	for (i = 0; i < ops->n_params; i++)
		if (strlen(ops->params[i].name) >= TCON_PARAM_NAME_MAX ||
		    ops->params[i].def < ops->params[i].min ||
		    ops->params[i].def > ops->params[i].max)
			return ops->params[i].name;
	return NULL;
}

/**
 * tcon_cc_register() - offer a CC
 * @ops: the CC; stays until tcon_cc_unregister()
 *
 * Context: process context.
 * Return: 0; -EINVAL, with the culprit in the log, where something required is
 *	missing or out of bounds; -EEXIST for a name that is taken.
 */
int tcon_cc_register(struct tcon_cc_ops *ops)
{
	const char *what = complaint(ops);
	int err = 0;

	if (what) {
		pr_err("tcon: CC %.16s refused: %s missing or out of bounds\n",
		       ops->name, what);
		return -EINVAL;
	}
	mutex_lock(&tcon_cc_lock);
	if (tcon_cc_find(ops->name)) {
		err = -EEXIST;
	} else {
		list_add_tail(&ops->list, &tcon_cc_list);
		tcon_policy_cc_come(ops);
		tcon_flow_reclassify_all();
	}
	mutex_unlock(&tcon_cc_lock);
	return err;
}
EXPORT_SYMBOL_GPL(tcon_cc_register);

/**
 * tcon_cc_unregister() - take a CC back
 * @ops: a registered CC
 *
 * When this returns no flow runs it.  Those that did are observed.
 *
 * Context: process context, may sleep.
 */
void tcon_cc_unregister(struct tcon_cc_ops *ops)
{
	mutex_lock(&tcon_cc_lock);
	list_del(&ops->list);
	tcon_policy_cc_gone(ops);
	synchronize_rcu();	/* nobody starts it on what it read before */
	tcon_flow_reclassify_all();
	mutex_unlock(&tcon_cc_lock);
}
EXPORT_SYMBOL_GPL(tcon_cc_unregister);
