// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* ---- What walkthroughs of RoCE get wrong ---- */

const roce = p => p.k === "roce" || p.k === "cm";
const op = (p, text) => (p.o || "").endsWith(text);

/* The packets of a message of several, of so many bytes, that came whole: the first there is */
function parts(size, first, middle, last) {
	for (let i = 0; i < packets.length; i++) {
		const p = packets[i];

		if (!op(p, first) || value(p, "infiniband.reth.dmalen") !== String(size))
			continue;
		const all = [p];
		for (let k = i + 1; k < packets.length; k++) {
			const next = packets[k];

			if (next.q !== p.q || next.d !== p.d || !(op(next, middle) || op(next, last)))
				continue;
			all.push(next);
			if (op(next, last))
				return all;
		}
	}
	return [];
}

/* said: by them; is: the truth; seen: packets that show it, none and the claim is not drawn */
const claims = [
	{
		said: "RoCEv2 data is EtherType 0x8915; only the connection manager uses UDP port 4791.",
		is: "Both are UDP to port 4791 in IP, and the EtherType is IP's. 0x8915 was RoCE v1.",
		seen: () => [packets.find(p => p.k === "cm"), packets.find(p => p.k === "roce" && has(p, "UDP"))],
	}, {
		said: "Each frame has LRH (8 bytes) and GRH (40 bytes).",
		is: "Neither. The BTH (12 bytes) directly follows UDP; IP replaces the GRH, Ethernet the LRH.",
		seen: () => [packets.find(p => p.k === "roce" && has(p, "BTH"))],
	}, {
		said: "Device discovery, queue pair creation and memory registration are exchanged as packets before the connection.",
		is: "No such packets exist. A connection is ConnectRequest, ConnectReply, ReadyToUse; each machine makes its queue pairs and " +
			"registers its memory locally.",
		seen: () => ["ConnectRequest", "ConnectReply", "ReadyToUse"].map((w, i) => packets.find(p => p.k === "cm" &&
			parseInt(value(p, "infiniband.mad.attributeid"), 16) === [0x10, 0x13, 0x14][i])),
		all: true,
	}, {
		said: "Connection messages are a protocol of their own.",
		is: "They are UD SENDs to queue pair 1 that carry a management datagram.",
		seen: () => [packets.find(p => p.k === "cm" && p.q === 1 && has(p, "DETH"))],
	}, {
		said: "SEND carries a DETH with a queue key.",
		is: "Only datagrams (UD) have one. Here is a SEND of a reliable connection: BTH, payload, ICRC.",
		seen: () => [packets.find(p => /^RC SEND/.test(p.o) && !has(p, "DETH"))],
	}, {
		said: "A WRITE of 4 KiB is one frame with all the data.",
		is: "A packet carries at most the path MTU. At 1024 bytes that is First, two Middle, Last; only the first has the " +
			"RETH with address, key and length.",
		seen: () => (found => found.length === 4 ? found : [])(parts(4096, "WRITE First", "WRITE Middle", "WRITE Last")),
	}, {
		said: "Every operation ends with a Completion packet.",
		is: "The device makes completions from acknowledgments; the wire has only the Acknowledge.",
		seen: () => [packets.find(p => op(p, "RC Acknowledge"))],
	}, {
		said: "An acknowledgment (AETH) carries address and key.",
		is: "An AETH has 4 bytes: a syndrome, and the number of completed messages.",
		seen: () => [packets.find(p => has(p, "AETH"))],
	}, {
		said: "A READ response carries a RETH with address and key.",
		is: "It carries an AETH. Only the request has a RETH: the requester knows where to store the data.",
		seen: () => [packets.find(p => /READ Response (First|Only)/.test(p.o) && !has(p, "RETH"))],
	}, {
		said: "An atomic operation carries its address in an AETH.",
		is: "It has an AtomicETH of 28 bytes; the response has AETH and AtomicAckETH, the 8 bytes that were there before.",
		seen: () => [packets.find(p => has(p, "AtomicETH")), packets.find(p => has(p, "AtomicAckETH"))],
	}, {
		said: "tcpdump -i eth0 port 4791 shows it from both ends of the port.",
		is: "Only the destination port is 4791; the source port differs by flow, so that routers can spread flows.",
		seen: () => [packets.find(p => roce(p) && value(p, "udp.srcport") !== "4791" && has(p, "UDP"))],
	},
];

function wrong() {
	const drawn = claims.map(c => ({ ...c, found: c.seen() }))
		.map(c => ({ ...c, found: c.all && c.found.some(p => !p) ? [] : c.found.filter(p => p) }))
		.filter(c => c.found.length);

	$("claims").append(...drawn.map(c => el("div", { class: "claim" },
		el("p", { class: "said" }, "“" + c.said + "”"), el("p", {}, c.is),
		el("p", { class: "seen" }, "Seen in ", c.found.slice(0, 8).flatMap((p, i) => [i ? ", " : "", link(p.n),
			` (${p.o || p.x}, ${plural(p.l, "byte")})`]), c.found.length > 8 ? " ..." : "", "."))));
	if (!drawn.length)
		$("claims").append(el("p", {}, "This capture has no frame that shows any of it."));
}

