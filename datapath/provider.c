// SPDX-License-Identifier: GPL-2.0-only
/*
 * Modules with CCs are loaded and removed.
 *
 * A rule names its CC; it does not hold the module.  When a module is removed, its flows are
 * observed and its rules stay.  The rules take effect again when the module comes back.  So an
 * operator can replace a CC under traffic.
 */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "state/policy.h"
#include "state/registry.h"
#include "state/walk.h"

static bool param_valid(const struct tcon_cc_param *param)
{
	return strlen(param->name) < TCON_PARAM_NAME_MAX && param->def >= param->min &&
	       param->def <= param->max;
}

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
		if (!param_valid(&ops->params[i]))
			return ops->params[i].name;
	return NULL;
}

/**
 * tcon_cc_register() - register a CC
 * @ops: the CC; it must stay until tcon_cc_unregister()
 *
 * Context: process context.
 * Return: 0; -EINVAL if something required is missing or out of bounds, which the log
 *	names; -EEXIST if the name is taken.
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
		tcon_cc_changes++;
		tcon_policy_cc_come(ops);
		tcon_walk_spread_all();
	}
	mutex_unlock(&tcon_cc_lock);
	return err;
}
EXPORT_SYMBOL_GPL(tcon_cc_register);

/**
 * tcon_cc_unregister() - unregister a CC
 * @ops: a registered CC
 *
 * When this returns no flow runs the CC.  Flows that did are observed.
 *
 * Context: process context, may sleep.
 */
void tcon_cc_unregister(struct tcon_cc_ops *ops)
{
	mutex_lock(&tcon_cc_lock);
	list_del(&ops->list);
	tcon_cc_changes++;
	tcon_policy_cc_gone(ops);
	synchronize_rcu();	/* after this nobody starts it by an old rule->ops */
	tcon_walk_reclassify_all();
	synchronize_rcu();	/* a flow that was just ending was left out, and releases it */
	mutex_unlock(&tcon_cc_lock);
}
EXPORT_SYMBOL_GPL(tcon_cc_unregister);
