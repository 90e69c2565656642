// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registry of CCs, and of families that make CCs when they are asked for.
 */
#include <linux/kmod.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "base/contract.h"
#include "state/registry.h"

#define REFUSALS	16
#define REFUSAL_LEN	128

/* Protects tcon_cc_list, how often it has changed, and families; taken outside a namespace's
 * lock.
 */
DEFINE_MUTEX(tcon_cc_lock);
LIST_HEAD(tcon_cc_list);
u32 tcon_cc_changes;
static LIST_HEAD(families);

/**
 * tcon_cc_find() - a CC by its name
 * @name: the name
 *
 * Context: tcon_cc_lock held, as long as the result is used.
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

/* A copy of a module's sentence.  A reply may still use it when the module has been removed.
 * The modules have few such constants, so the copies are kept.
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
 * tcon_cc_autoload() - have a CC registered, if there is one
 * @name: as a user wrote it
 *
 * Context: process context, no lock held.
 * Return: NULL, or a sentence of the CC's family: why there is no such CC.
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
 * tcon_cc_defaults() - get the defaults of a CC's parameters
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
 * tcon_cc_param_index() - find a parameter by its name
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
 * tcon_cc_complaint() - do values of a CC's parameters go together?
 * @ops: the CC
 * @params: the values, each within its bounds
 *
 * Context: tcon_cc_lock held.
 * Return: NULL, or why not.
 */
const char *tcon_cc_complaint(const struct tcon_cc_ops *ops, const s64 *params)
{
	const char *why = ops->complaint ? ops->complaint(params) : NULL;

	lockdep_assert_held(&tcon_cc_lock);
	return why ? keep(why) : NULL;
}

/**
 * tcon_cc_register_family() - offer CCs that are made when they are asked for
 * @family: the family; it must stay until tcon_cc_unregister_family()
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
 * tcon_cc_unregister_family() - ask a family for no more CCs
 * @family: a registered family; the caller unregisters its CCs
 *
 * Context: process context, in the exit of the owner's module, so that no call of the family
 *	is running.
 */
void tcon_cc_unregister_family(struct tcon_cc_family *family)
{
	mutex_lock(&tcon_cc_lock);
	list_del(&family->list);
	mutex_unlock(&tcon_cc_lock);
}
EXPORT_SYMBOL_GPL(tcon_cc_unregister_family);
