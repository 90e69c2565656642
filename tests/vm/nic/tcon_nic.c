// SPDX-License-Identifier: GPL-2.0-only
/*
 * For tests only: nic0, a network device with hardware behind it, which drops what it is given.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/platform_device.h>

static struct platform_device *hardware;
static struct net_device *nic;

static netdev_tx_t nic_xmit(struct sk_buff *skb, struct net_device *dev)
{
	consume_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops nic_ops = { .ndo_start_xmit = nic_xmit };

static int __init nic_init(void)
{
	int err = -ENOMEM;

	hardware = platform_device_register_simple("tcon-nic", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(hardware))
		return PTR_ERR(hardware);
	nic = alloc_netdev(0, "nic%d", NET_NAME_ENUM, ether_setup);
	if (nic) {
		nic->netdev_ops = &nic_ops;
		eth_hw_addr_random(nic);
		SET_NETDEV_DEV(nic, &hardware->dev);
		err = register_netdev(nic);
	}
	if (err) {
		if (nic)
			free_netdev(nic);
		platform_device_unregister(hardware);
	}
	return err;
}

static void __exit nic_exit(void)
{
	unregister_netdev(nic);
	free_netdev(nic);
	platform_device_unregister(hardware);
}

module_init(nic_init);
module_exit(nic_exit);

MODULE_DESCRIPTION("A NIC for tests");
MODULE_LICENSE("GPL");
