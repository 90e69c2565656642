// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registry: which CCs there are, and which families make more.
 */
#include <linux/kmod.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "base/contract.h"
#include "state/registry.h"

#define REFUSALS	16
#define REFUSAL_LEN	128

/* Protects tcon_cc_list and families; taken outside a namespace's lock. */
DEFINE_MUTEX(tcon_cc_lock);
LIST_HEAD(tcon_cc_list);
static LIST_HEAD(families);

/**
 * tcon_cc_find() - a CC by its name
 * @name: the name
 *
 * Context: tcon_cc_lock held, and as long as the result is used.
 * Return: the CC, or NULL.
 */
const struct tcon_cc_ops *tcon_cc_find(const char *name)
{
	const struct tcon_cc_ops *ops;

	lockdep_assert_held(&tcon_cc_lock);
	list_for_each_entry(ops, &tcon_cc_list, list)
		if (!strcmp(ops->name, name))
			return ops;
	return NULL;
}

/* The family before the first colon of @name, with a reference, or NULL. */
static struct tcon_cc_family *get_family(const char *name, size_t len)
{
	struct tcon_cc_family *family, *found = NULL;

	mutex_lock(&tcon_cc_lock);
	list_for_each_entry(family, &families, list)
		if (strlen(family->name) == len &&
		    !strncmp(family->name, name, len) &&
		    try_module_get(family->owner))
			found = family;
	mutex_unlock(&tcon_cc_lock);
	return found;
}

/* A sentence of a family's, as one that stays when the family's module goes: a reply may
 * be on its way then.  They are few, and constants.
 */
static const char *keep(const char *why)
{
	static char kept[REFUSALS][REFUSAL_LEN];
	unsigned int i;

	lockdep_assert_held(&tcon_cc_lock);
	for (i = 0; i < REFUSALS; i++) {
		if (!kept[i][0])
			strscpy(kept[i], why, REFUSAL_LEN);
		if (!strncmp(kept[i], why, REFUSAL_LEN - 1))
			return kept[i];
	}
	return "it is refused";
}

static const char *resolve(const char *name, size_t len)
{
	struct tcon_cc_family *family = get_family(name, len);
	const char *why;

	if (!family) {
		request_module("tcon-cc-%.*s", (int)len, name);
		family = get_family(name, len);
	}
	if (!family)
		return "there is no module for what stands before the colon";
	why = family->resolve(name + len + 1);
	if (why) {
		mutex_lock(&tcon_cc_lock);
		why = keep(why);
		mutex_unlock(&tcon_cc_lock);
	}
	module_put(family->owner);
	return why;
}

/**
 * tcon_cc_autoload() - see to it that a CC is registered, if there is one
 * @name: as a user wrote it
 *
 * Context: process context, no lock held.
 * Return: NULL, or a sentence of the CC's family that says why there is no such CC.
 */
const char *tcon_cc_autoload(const char *name)
{
	const char *colon = strchr(name, ':');
	bool known;

	if (colon)
		return resolve(name, colon - name);
	mutex_lock(&tcon_cc_lock);
	known = tcon_cc_find(name);
	mutex_unlock(&tcon_cc_lock);
	if (!known && strcmp(name, TCON_CC_OBSERVE))
		request_module("tcon-cc-%s", name);
	return NULL;
}

/**
 * tcon_cc_scan() - let every family register the CCs that there are
 *
 * Context: process context, no lock held.
 */
void tcon_cc_scan(void)
{
	struct tcon_cc_family *family, *done = NULL;

	mutex_lock(&tcon_cc_lock);
	list_for_each_entry(family, &families, list) {
		if (!try_module_get(family->owner))
			continue;
		mutex_unlock(&tcon_cc_lock);
		if (done)
			module_put(done->owner);
		family->scan();
		done = family;	/* it stays in the list until it is put */
		mutex_lock(&tcon_cc_lock);
	}
	mutex_unlock(&tcon_cc_lock);
	if (done)
		module_put(done->owner);
}

/**
 * tcon_cc_defaults() - a CC's parameters where a rule gives none
 * @ops: the CC
 * @params: room for %TCON_MAX_PARAMS values
 */
void tcon_cc_defaults(const struct tcon_cc_ops *ops, s64 *params)
{
	unsigned int i;

	for (i = 0; i < ops->n_params; i++)
		params[i] = ops->params[i].def;
}

/**
 * tcon_cc_param_index() - a parameter by its name
 * @ops: the CC
 * @name: the name
 *
 * Return: its index, or -ENOENT.
 */
int tcon_cc_param_index(const struct tcon_cc_ops *ops, const char *name)
{
	unsigned int i;

	for (i = 0; i < ops->n_params; i++)
		if (!strcmp(ops->params[i].name, name))
			return i;
	return -ENOENT;
}

/**
 * tcon_cc_register_family() - offer CCs that are made when they are asked for
 * @family: stays until tcon_cc_unregister_family()
 *
 * Context: process context.
 * Return: 0, or -EEXIST for a name that is taken.
 */
int tcon_cc_register_family(struct tcon_cc_family *family)
{
	struct tcon_cc_family *other;
	int err = 0;

	mutex_lock(&tcon_cc_lock);
	list_for_each_entry(other, &families, list)
		if (!strcmp(other->name, family->name))
			err = -EEXIST;
	if (!err)
		list_add_tail(&family->list, &families);
	mutex_unlock(&tcon_cc_lock);
	return err;
}
EXPORT_SYMBOL_GPL(tcon_cc_register_family);

/**
 * tcon_cc_unregister_family() - make no more CCs
 * @family: a registered one; its CCs are for the caller to unregister
 *
 * Context: process context of its owner's exit, so that no call is under way.
 */
void tcon_cc_unregister_family(struct tcon_cc_family *family)
{
	mutex_lock(&tcon_cc_lock);
	list_del(&family->list);
	mutex_unlock(&tcon_cc_lock);
}
EXPORT_SYMBOL_GPL(tcon_cc_unregister_family);
