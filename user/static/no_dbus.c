// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The static programs do without libpcap's capture from D-Bus: it needs libdbus and, behind
 * that, libsystemd, of which Debian 12 has no archive.  libpcap asks each kind of device in
 * turn whether a name is its own, and these answer in place of pcap-dbus.c's, which the
 * linker then leaves out of libpcap.a (libpcap 1.10, pcap-dbus.h).  Should libpcap rename
 * them, the link fails.
 */
#include <stddef.h>

#include <pcap/pcap.h>

struct pcap_if_list;

pcap_t *dbus_create(const char *device, char *ebuf, int *is_ours);
int dbus_findalldevs(struct pcap_if_list *devices, char *ebuf);

pcap_t *dbus_create(const char *device, char *ebuf, int *is_ours)
{
	(void)device;
	(void)ebuf;
	*is_ours = 0;
	return NULL;
}

int dbus_findalldevs(struct pcap_if_list *devices, char *ebuf)
{
	(void)devices;
	(void)ebuf;
	return 0;
}
