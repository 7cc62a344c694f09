#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# siw-read-sink.sh: an NVMe target on siw READs what its initiator writes.  Prints the
# tagged offsets in its READ requests; exits 1 if one is an address of the kernel.
#
#	vm/lab fast bash -s <Documentation/findings/siw-read-sink.sh

suite=/opt/rtgt/selftests/rtgt
nvmet=/sys/kernel/config/nvmet
subsystem=$nvmet/subsystems/findings

wait_ms() {
	read -r -t "$(($1 / 1000)).$(($1 % 1000))" <> <(:)
}

"$suite/topology.sh" up
modprobe null_blk nr_devices=1
modprobe -a siw nvmet_rdma nvme_rdma || exit
for end in "t va" "c vb"; do
	rdma link del "rxe_${end% *}"
	rdma link add "siw_${end% *}" type siw netdev "${end#* }"
done
mkdir "$subsystem" "$subsystem/namespaces/1" "$nvmet/ports/1"
echo 1 >"$subsystem/attr_allow_any_host"
echo /dev/nullb0 >"$subsystem/namespaces/1/device_path"
echo 1 >"$subsystem/namespaces/1/enable"
for attr in trtype=rdma adrfam=ipv4 traddr=198.51.100.1 trsvcid=4420; do
	echo "${attr#*=}" >"$nvmet/ports/1/addr_${attr%%=*}"
done
ln -s "$subsystem" "$nvmet/ports/1/subsystems/"

rm -f /tmp/siw.pcap
tcpdump -U -i va -w /tmp/siw.pcap tcp port 4420 2>/dev/null &
until [[ -s /tmp/siw.pcap ]]; do wait_ms 20; done
echo "transport=rdma,traddr=198.51.100.1,host_traddr=198.51.100.2,trsvcid=4420,nqn=findings" \
	>/dev/nvme-fabrics || exit
until [[ -b /dev/nvme0n1 ]]; do wait_ms 20; done
dd if=/dev/zero of=/dev/nvme0n1 bs=64k count=1 oflag=direct status=none || exit
wait_ms 500
kill %1
wait
# A response begins where the request said
sinks=$(rtgt explain /tmp/siw.pcap | awk '/READ Response/ && !seen[$4]++ { print $5 }' | cut -d = -f 2)
echo "tagged offsets of the sinks: ${sinks//$'\n'/ }"
[[ $sinks && $sinks != *0xffff* ]]
