// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Draws the page from the data it carries: rtgt report put in the packets of one capture
 * (steps), figures of the whole wire (wire) and the JSON documents of the directory (docs).
 * Whatever is not there is left out, and the section says how to get it.  Nothing is loaded,
 * and what a packet says is only ever text.
 */
"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const docs = data.docs || {};
const packets = data.steps ? data.steps.list : [];
const byNumber = new Map(packets.map((p, i) => [p.n, i]));
const $ = id => document.getElementById(id);

/* An element with attributes and children; text is text */
function el(tag, attrs, ...children) {
	const node = document.createElement(tag);

	for (const [name, value] of Object.entries(attrs || {})) {
		if (value !== undefined && value !== false)
			node.setAttribute(name, value === true ? "" : value);
	}
	node.append(...children.flat(2).filter(c => c !== undefined && c !== null && c !== ""));
	return node;
}

const number = (x, digits = 0) => x.toLocaleString("en", { maximumFractionDigits: digits });
const plural = (n, word) => `${number(n)} ${word}${n === 1 ? "" : "s"}`;
const link = n => byNumber.has(n) ? el("a", { href: "#packet-" + n }, "packet " + n) : "packet " + n;

function bytes(n) {
	const units = ["B", "KiB", "MiB", "GiB"];
	let u = 0;

	for (; n >= 1024 && u < units.length - 1; u++)
		n /= 1024;
	return `${number(n, u ? 1 : 0)} ${units[u]}`;
}

function table(head, rows, attrs) {
	const cell = (tag, c) => el(tag, { class: typeof c === "number" ? "n" : undefined },
				    typeof c === "number" ? number(c, 1) : c);
	const first = rows[0] || [];

	return el("table", attrs,
		el("thead", {}, el("tr", {}, head.map((h, i) =>
			el("th", { scope: "col", class: typeof first[i] === "number" ? "n" : undefined }, h)))),
		el("tbody", {}, rows.map(r => el("tr", {}, r.map(c => cell("td", c))))));
}

/* Buttons of which one is pressed */
function choose(where, names, picked) {
	const buttons = names.map(name => el("button", { type: "button" }, name));
	const press = which => {
		buttons.forEach((b, i) => b.setAttribute("aria-pressed", i === which));
		picked(names[which]);
	};

	buttons.forEach((b, i) => b.addEventListener("click", () => press(i)));
	where.append(...buttons);
	if (names.length)
		press(0);
}

/* Of many parts one is a stop of the tabulator; the arrow keys go among them */
function rove(parts) {
	parts.forEach((part, i) => {
		part.tabIndex = i ? -1 : 0;
		part.addEventListener("keydown", e => {
			const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[e.key];
			const to = e.key === "Home" ? 0 : e.key === "End" ? parts.length - 1 :
				step ? i + step : -1;

			if (!step && e.key !== "Home" && e.key !== "End")
				return;
			e.preventDefault();
			if (parts[to]) {
				part.tabIndex = -1;
				parts[to].tabIndex = 0;
				parts[to].focus();
			}
		});
	});
}

/* ---- What was run ---- */

function facts() {
	const found = Object.values(docs).find(d => d && d.facts);
	const f = found ? found.facts : {};
	const versions = f.versions || {};
	const rows = [
		["Kernel of the guests", f.kernel && `${f.kernel} (${f.machine})`],
		["Processors each", f.cpus],
		["Accelerator", f.accelerator && (f.accelerator === "tcg" ?
			"tcg: emulated, far slower than a real machine" : f.accelerator)],
		["Clock", f.time && (f.time === "virtual" ? "virtual: counts instructions" :
			"wall: what else ran on the host shows in the figures")],
		["RDMA device", f.device && `${f.device}, ${f.transport} over ${f.link_layer}`],
		["Network interface", f.netdev && `${f.netdev}, MTU ${f.netdev_mtu}`],
		["Path MTU", f.path_mtu && `${f.path_mtu} bytes of data a packet`],
		["Topology", f.topology && `${f.topology}: ${f.source} to ${f.destination}`],
		["rtgt", versions.rtgt && `${versions.rtgt}, protocol ${versions.protocol}`],
		["libibverbs", versions.libibverbs],
	].filter(r => r[1]);

	$("facts").append(...rows.map(r => el("div", {}, el("dt", {}, r[0]), el("dd", {}, String(r[1])))));
	if (!rows.length)
		$("facts").replaceWith(el("p", {}, "No document in this directory carries facts: rtgt -j ping " +
			"and rtgt -j lat print them."));
	const lines = data.commands || [];
	if (lines.length)
		$("commands").append(el("details", {}, el("summary", {}, `The command lines (${lines.length})`),
			el("pre", { tabindex: 0 }, lines.join("\n"))));
	$("lede").textContent = `${data.directory}: ` + [
		data.steps && `${plural(packets.length, "packet")} to step through`,
		data.wire && `${number(data.wire.packets)} on the wire`,
		f.device && `${f.device} on Linux ${f.kernel}`].filter(x => x).join(", ") + ".";
	$("made").textContent = `Made ${data.made} by rtgt report ${data.version}. The page is complete in itself ` +
		"and loads nothing.";
}

/* ---- The ladder ---- */

function kind(p) {
	const o = p.o || "";

	if (p.k === "cm")
		return "cm";
	if (/Compare|Fetch|[Aa]tomic|ATOMIC/.test(o))
		return "atomic";
	for (const word of ["WRITE", "READ", "SEND"]) {
		if (o.includes(word))
			return word.toLowerCase();
	}
	if (o.includes("Acknowledge"))
		return "ack";
	return p.k === "tcp" || p.k === "iwarp" ? "tcp" : "other";
}

const colour = p => `--c: var(--${kind(p)})`;

function value(p, name) {
	for (const h of p.h || []) {
		for (const [f, v] of h[4]) {
			if (data.steps.fields[f][0] === name)
				return v;
		}
	}
}

const messages = new Map(((data.steps || {}).messages || []).map(m => [m.id, m]));
const conns = new Map(((data.steps || {}).connections || []).map(c => [c.id, c]));
const broken = new Map();
for (const b of (data.steps || {}).broken || [])
	broken.set(b.packet, [...broken.get(b.packet) || [], b]);

/* The end that asked for the connection is on the left */
const asked = packets.find(p => p.k === "cm") || packets.find(p => p.k === "roce" || p.k === "tcp") || packets[0];
const station = (p, side) => value(p, "eth." + side) || (side === "src" ? p.s : p.d);
const left = asked && station(asked, "src"), right = asked && station(asked, "dst");

function direction(p) {
	const from = station(p, "src"), to = station(p, "dst");

	if (from === left)
		return to === right ? "r" : "r o";
	return from === right && to === left ? "l" : "l o";
}

function drawList() {
	$("ends").append(el("div", {}, el("span", {}, `${asked.s || ""} (client)`), el("span", {}, `${asked.d || ""} (server)`)));
	$("list").append(...packets.map((p, i) => el("li", {
		role: "option", id: "packet-" + p.n, "aria-selected": false, "data-i": i, style: colour(p),
		class: broken.has(p.n) ? "broken" : undefined,
	},
	el("span", { class: "when" }, el("b", {}, String(p.n)), el("i", {}, p.t.toFixed(6))),
	el("span", { class: "lane " + direction(p) }, el("span", { title: p.x }, p.x || p.o || p.k)))));
	$("steps-p").textContent = `From ${data.steps.file}: ${plural(packets.length, "packet")}` +
		(data.steps.more ? ", the first of more; the rest is in the figures below" : "") + ". Pick one; beside it stand what it is for and each byte of its headers.";
}

let current = -1;

/* @how: "near": far enough that it is seen; "show": with some before it; otherwise not at all */
function scrollTo(list, item, how) {
	const end = item.offsetTop + item.offsetHeight;

	if (how === "show")
		list.scrollTop = item.offsetTop - list.clientHeight / 4;
	else if (how === "near" && item.offsetTop < list.scrollTop)
		list.scrollTop = item.offsetTop;
	else if (how === "near" && end > list.scrollTop + list.clientHeight)
		list.scrollTop = end - list.clientHeight;
}

function select(i, how) {
	const list = $("list");
	const item = list.children[i];

	if (!item)
		return;
	if (list.children[current])
		list.children[current].setAttribute("aria-selected", false);
	current = i;
	item.setAttribute("aria-selected", true);
	list.setAttribute("aria-activedescendant", item.id);
	scrollTo(list, item, how);
	$("position").textContent = `packet ${packets[i].n}, ${i + 1} of ${packets.length}`;
	$("words").replaceChildren(...words(packets[i]));
	$("words").setAttribute("style", colour(packets[i]));
	$("detail").scrollTop = 0;
	$("headers").replaceChildren(...(packets[i].h || []).filter(h => h[2]).map(drawHeader));
}

/* What it is, in short: of connection messages their own name, not that of the SEND that carries them */
function title(p) {
	if (p.k === "cm")
		return (/^CM \S+/.exec(p.x) || ["CM"])[0];
	return p.o || p.x;
}

/* The packet in words */
function words(p) {
	const m = messages.get(p.m), c = conns.get(p.c), out = [];

	out.push(el("h3", {}, `${p.n}. ${title(p)}`));
	if (p.w)
		out.push(el("p", {}, p.w[0].toUpperCase() + p.w.slice(1) + (p.w.endsWith(".") ? "" : ".")));
	out.push(el("p", { class: "mono" }, p.s ? `${p.s} → ${p.d}  ${p.x}` : p.x));
	if (p.r && p.r !== "new")
		out.push(el("p", { class: "bad" }, `Not for the first time: ${p.r}.`));
	for (const b of broken.get(p.n) || [])
		out.push(el("p", { class: "bad" }, `A rule is broken (${b.rule}): ${b.words}`));
	if (p.i === "bad")
		out.push(el("p", { class: "bad" }, "Its ICRC is wrong: the receiver drops it silently."));
	if (m && m.packets)
		out.push(el("p", { class: "hint" }, "The message: ", `${m.op} of ${plural(m.bytes || 0, "byte")} in ` +
			`${plural(m.packets, "packet")}, `, m.first_packet === m.last_packet ? "asked for in " : "from ",
			link(m.first_packet), m.first_packet === m.last_packet ? "" : [" to ", link(m.last_packet)],
			m.answer_packet && m.answer_packet !== m.last_packet ? ["; answered by ", link(m.answer_packet)] : "",
			m.rtt_us ? ` after ${number(m.rtt_us, 1)} µs` : "",
			m.status && m.status !== "ok" ? `; ${m.status}` : "",
			m.retransmitted ? `; ${number(m.retransmitted)} sent again` : "", "."));
	if (c && c.client && c.server)
		out.push(el("p", { class: "hint" }, `Connection ${c.id}: QP ${c.client.qpn} of ${c.client.addr}, ` +
			`QP ${c.server.qpn} of ${c.server.addr}.`));
	return out;
}

/* What a header is for */
const purpose = {
	Ethernet: "to which card on this wire; type 0x0800 is IPv4",
	ARP: "who has this IP address?",
	IPv4: "to which machine; RoCE v2 is an ordinary datagram and can be routed",
	IPv6: "to which machine; RoCE v2 is an ordinary datagram and can be routed",
	UDP: "destination port 4791 says RoCE v2; the source port only spreads flows over paths",
	TCP: "a reliable stream of bytes",
	BTH: "base transport header, in every RoCE packet: which operation, which queue pair, which place in the sequence",
	DETH: "datagrams only: who sends, and a key that shows it may",
	RETH: "RDMA: the address there, the key to it, and how many bytes the whole message has",
	AETH: "an answer: accepted or refused, and how many messages are done. No address, no key",
	AtomicETH: "the address, the key, and the operands",
	AtomicAckETH: "what was there before",
	ImmDt: "32 bits the receiver's completion will carry",
	IETH: "the key that the receiver shall make invalid",
	MAD: "management datagram: the frame of the connection manager's messages",
	CM: "connection manager: queue pairs, first sequence numbers, timeouts, path MTU",
	"RDMA IP CM": "rdma_cm: whose IP addresses and ports these are",
	"private data": "the application's own bytes within the connection message",
	"rtgt REQ": "rtgt's own: which version the client speaks",
	"rtgt REP": "rtgt's own: the capability, that is address, key (rkey) and length of the memory exposed",
	capability: "address and key of the memory exposed",
	payload: "the data itself",
	padding: "fills up to a multiple of four bytes",
	ICRC: "checks everything that no router may change",
	MPA: "finds the frames in a TCP stream",
	DDP: "places the data: into which memory, where",
	RDMAP: "which operation",
};

/* Bytes in the colours of the fields they belong to, by the bit */
function paint(fields, at) {
	const stops = [];

	for (let bit = 0; bit < 8; bit++) {
		const f = fields.findIndex(x => 8 * at + bit >= x.bit && 8 * at + bit < x.bit + x.bits);
		stops.push(f < 0 ? "transparent" : `var(--f${f % 8})`);
	}
	if (stops.every(s => s === stops[0]))
		return stops[0];
	return `linear-gradient(90deg, ${stops.map((s, i) => `${s} ${i * 12.5}% ${i * 12.5 + 12.5}%`).join(", ")})`;
}

/* The fields of these are shown when asked for, and then for every packet */
const closed = new Set(["Ethernet", "IPv4", "IPv6", "UDP", "TCP"]);

function fieldTable(name, rows) {
	const box = el("details", { open: !closed.has(name) }, el("summary", { class: "hint" }, plural(rows.length, "field")),
		el("table", { class: "fields", "aria-label": `Fields of ${name}` }, el("tbody", {}, rows)));

	box.addEventListener("toggle", () => box.open ? closed.delete(name) : closed.add(name));
	return box;
}

function drawHeader([name, off, len, hex, values]) {
	const fields = values.map(([f, v, w]) => {
		const [tshark, label, bit, bits] = data.steps.fields[f];
		return { tshark, label, bit, bits: bits || 8 * len - bit, value: String(v), words: w };
	}).filter(f => f.bit < 8 * len);
	const shown = hex ? hex.length / 2 : 0;
	const cells = [];
	const light = (wanted) => {
		rows.forEach((r, i) => r.classList.toggle("on", wanted.includes(i)));
		cells.forEach(c => c.classList.toggle("on", wanted.some(i => c.fields.includes(i))));
	};

	for (let at = 0; at < shown; at++) {
		const cell = el("span", { style: `--b: ${paint(fields, at)}` }, hex.substr(2 * at, 2));

		cell.fields = fields.flatMap((f, i) => f.bit < 8 * at + 8 && f.bit + f.bits > 8 * at ? [i] : []);
		cell.title = [`byte ${off + at}`, ...cell.fields.map(i => fields[i].label)].join(": ");
		cell.setAttribute("aria-label", `${hex.substr(2 * at, 2)}, ${cell.title}`);
		cell.setAttribute("role", "img");
		cells.push(cell);
	}
	const rows = fields.map((f, i) => el("tr", { style: `--b: var(--f${i % 8})` },
		el("td", {}, el("abbr", { title: f.tshark }, f.label)),
		el("td", {}, el("code", {}, f.value.length > 96 ? f.value.slice(0, 96) + "…" : f.value), " ",
			f.words ? el("em", {}, f.words) : "")));
	for (const part of [...cells, ...rows]) {
		const mine = part.fields || [rows.indexOf(part)];

		part.addEventListener("pointerenter", () => light(mine));
		part.addEventListener("pointerleave", () => light([]));
		part.addEventListener("focus", () => light(mine));
		part.addEventListener("blur", () => light([]));
	}
	rove(cells);
	rove(rows);
	return el("section", { class: "header", "data-header": name, "aria-label": name, style: "border:0;padding:0" },
		el("h4", {}, name + " ", el("small", {}, `${plural(len, "byte")} from byte ${off}`)),
		purpose[name] ? el("p", {}, purpose[name]) : "",
		el("div", { class: "bytes", role: "group", "aria-label": `Bytes of ${name}` }, cells),
		shown < len ? el("p", { class: "hint" }, `${plural(len - shown, "further byte")} not shown`) : "",
		rows.length ? fieldTable(name, rows) : "");
}

function stepper() {
	const list = $("list");
	const page = () => Math.max(1, Math.floor(list.clientHeight / list.children[0].offsetHeight) - 1);
	const to = {
		first: () => 0, last: () => packets.length - 1,
		prev: () => Math.max(0, current - 1), next: () => Math.min(packets.length - 1, current + 1),
		up: () => Math.max(0, current - page()), down: () => Math.min(packets.length - 1, current + page()),
	};
	const keys = {
		ArrowDown: "next", ArrowRight: "next", ArrowUp: "prev", ArrowLeft: "prev", Home: "first", End: "last",
		PageDown: "down", PageUp: "up",
	};
	const follow = () => {
		const n = Number((/^#packet-(\d+)$/.exec(location.hash) || [])[1]);

		if (byNumber.has(n)) {
			select(byNumber.get(n), "show");
			list.focus({ preventScroll: true });
			$("steps").scrollIntoView();
		}
	};

	if (!packets.length) {
		$("steps").querySelector(".stepper").replaceWith(el("p", {}, "There is no capture in this directory: " +
			"rtgt report looks for steps.pcap, then wire.pcap."));
		return;
	}
	drawList();
	list.addEventListener("keydown", e => {
		if (keys[e.key] && !e.ctrlKey && !e.altKey && !e.metaKey) {
			e.preventDefault();
			select(to[keys[e.key]](), "near");
		}
	});
	list.addEventListener("click", e => {
		const item = e.target.closest("li");

		if (item)
			select(Number(item.dataset.i));
	});
	for (const button of document.querySelectorAll("[data-go]"))
		button.addEventListener("click", () => select(to[button.dataset.go](), "near"));
	window.addEventListener("hashchange", follow);
	select(packets.indexOf(asked), "show");
	follow();
}

/* ---- What walkthroughs of RoCE get wrong ---- */

const has = (p, name) => (p.h || []).some(h => h[0] === name);
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
		is: "Neither. Behind UDP comes the BTH of 12 bytes at once; IP has taken the GRH's place, Ethernet the LRH's.",
		seen: () => [packets.find(p => p.k === "roce" && has(p, "BTH"))],
	}, {
		said: "Device discovery, queue pair creation and memory registration are exchanged as packets before the connection.",
		is: "Nothing of the kind is sent. A connection is ConnectRequest, ConnectReply, ReadyToUse; queue pairs are made and " +
			"memory is registered within each machine.",
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
		is: "Completions are made by the device out of acknowledgments; on the wire there is only the Acknowledge.",
		seen: () => [packets.find(p => op(p, "RC Acknowledge"))],
	}, {
		said: "An acknowledgment (AETH) carries address and key.",
		is: "An AETH has 4 bytes: a syndrome, and how many messages are done.",
		seen: () => [packets.find(p => has(p, "AETH"))],
	}, {
		said: "A READ response carries a RETH with address and key.",
		is: "It carries an AETH. Only the request has a RETH: the requester knows where the data shall go.",
		seen: () => [packets.find(p => /READ Response (First|Only)/.test(p.o) && !has(p, "RETH"))],
	}, {
		said: "An atomic operation carries its address in an AETH.",
		is: "It has an AtomicETH of 28 bytes; the answer has AETH and AtomicAckETH, 8 bytes that were there before.",
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

/* ---- The wire as a whole ---- */

const svgNs = "http://www.w3.org/2000/svg";

function svg(tag, attrs, text) {
	const node = document.createElementNS(svgNs, tag);

	for (const [name, v] of Object.entries(attrs))
		node.setAttribute(name, v);
	if (text !== undefined)
		node.textContent = text;
	return node;
}

/* Drawn at the width it has, and again when that changes */
function chart(where, label, draw) {
	const redraw = () => {
		const width = Math.max(260, where.clientWidth), height = 240;
		const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": label });

		draw(root, { x: 58, y: 12, w: width - 70, h: height - 46 });
		where.replaceChildren(root);
	};

	if (where.watch)
		where.watch.disconnect();
	redraw();
	where.watch = new ResizeObserver(redraw);
	where.watch.observe(where);
}

function axes(root, box, x, y) {
	const line = (x1, y1, x2, y2) => root.append(svg("line", { x1, y1, x2, y2, stroke: "var(--line)" }));

	for (const [at, text] of y) {
		line(box.x, box.y + box.h * (1 - at), box.x + box.w, box.y + box.h * (1 - at));
		root.append(svg("text", { x: box.x - 6, y: box.y + box.h * (1 - at) + 4, "text-anchor": "end" }, text));
	}
	for (const [at, text] of x) {
		line(box.x + box.w * at, box.y + box.h, box.x + box.w * at, box.y + box.h + 4);
		root.append(svg("text", { x: box.x + box.w * at, y: box.y + box.h + 18, "text-anchor":
			at > 0.95 ? "end" : "middle" }, text));
	}
}

const classes = ["cm", "write", "read", "send", "atomic", "ack", "tcp", "other"];
const classNames = {
	cm: "connection manager", write: "WRITE", read: "READ", send: "SEND", atomic: "atomic", ack: "acknowledgment",
	tcp: "TCP", other: "other",
};
const key = c => el("span", { class: "key", style: `--c: var(--${c})` }, classNames[c]);

function drawIo(what) {
	const w = data.wire, column = what === "Packets" ? 2 : 3;
	const bins = Math.max(1, ...w.io.map(r => r[0] + 1));
	const sums = new Array(bins).fill(0);
	const unit = column === 3 ? 8 / w.bin : 1 / w.bin;

	for (const r of w.io)
		sums[r[0]] += r[column] * unit;
	const top = Math.max(...sums) || 1;
	const rate = v => column === 3 ? (v >= 1e6 ? `${number(v / 1e6, 1)} Mb/s` : `${number(v / 1e3, 1)} kb/s`) :
		`${number(v)}/s`;

	chart($("io"), `${what} over time, at most ${rate(top)}`, (root, box) => {
		const base = new Array(bins).fill(0), wide = box.w / bins;

		axes(root, box, [0, 0.25, 0.5, 0.75, 1].map(a => [a, `${number(a * bins * w.bin, 1)} s`]),
			[0, 0.5, 1].map(a => [a, rate(a * top)]));
		for (const c of classes) {
			let path = "";

			for (const r of w.io.filter(r => w.classes[r[1]] === c)) {
				const h = r[column] * unit / top * box.h;

				path += `M${(box.x + r[0] * wide).toFixed(1)} ${(box.y + box.h - base[r[0]]).toFixed(1)}` +
					`h${Math.max(wide, 1).toFixed(2)}v${(-h).toFixed(2)}h${(-Math.max(wide, 1)).toFixed(2)}z`;
				base[r[0]] += h;
			}
			if (path)
				root.append(svg("path", { d: path, fill: `var(--${c})`, "data-class": c }));
		}
	});
	$("io-c").replaceChildren(...classes.filter(c => w.io.some(r => w.classes[r[1]] === c)).map(key),
		` Columns of ${number(w.bin * 1000, 1)} ms; at most ${rate(top)}.`);
}

function wire() {
	const w = data.wire;
	const sorted = (w ? w.conversations : []).slice()
		.sort((a, b) => b.bytes[0] + b.bytes[1] - a.bytes[0] - a.bytes[1]);

	if (!w || !w.packets) {
		$("wire").hidden = true;
		return;
	}
	$("wire-p").textContent = `All of ${w.file}: ${plural(w.packets, "packet")}, ${bytes(w.bytes)}, in ` +
		`${number(w.seconds, 1)} s.` + (w.note ? " " + w.note : "");
	choose($("io-choose"), ["Bits", "Packets"], drawIo);
	$("conversations").append(table(["A", "B", "what", "packets A to B", "bytes A to B", "packets B to A",
		"bytes B to A", "seconds", "kb/s"], sorted.map(c => [c.a, c.b, c.what, c.packets[0], c.bytes[0],
		c.packets[1], c.bytes[1], c.seconds, c.seconds ? (c.bytes[0] + c.bytes[1]) * 8 / c.seconds / 1000 : "-"])));
	if (w.conversations_left_out)
		$("conversations").append(el("p", { class: "hint" }, `${number(w.conversations_left_out)} packets of further ones.`));
	$("hierarchy").append(table(["protocol", "packets", "bytes", "share of the bytes"], w.tree.map(t => [
		el("span", { style: `padding-left: ${t.depth * 1.1}em` }, t.name), t.packets, t.bytes,
		el("span", {}, el("span", { class: "share", style: `width: ${(t.bytes / w.bytes * 6).toFixed(2)}rem` }),
			` ${number(t.bytes / w.bytes * 100, 1)} %`)]), { class: "bars" }));
}

/* ---- Queue pairs ---- */

/* What was recorded knows its own packets; without it, the CM's of the capture */
function recorded(found) {
	return found.connections.map(c => ({
		title: `QP ${c.client.qpn} of ${c.client.addr}, QP ${c.target.qpn} of ${c.target.addr}`,
		rows: c.events.map(e => ({ time: e.time, [e.end]: e.what })),
	})).concat(found.operations.map(o => ({
		title: `${o.op} of ${bytes(o.bytes)}`,
		rows: o.events.map(e => ({ time: e.time, [e.end]: e.what })),
	})));
}

function captured() {
	return [...conns.values()].map(c => ({
		title: c.client && c.server ? `QP ${c.client.qpn} of ${c.client.addr}, QP ${c.server.qpn} of ${c.server.addr}` :
			`Connection ${c.id}`,
		rows: (c.steps || []).map(s => ({ time: s.time, wire: el("span", {}, s.name + ", ", link(s.packet)) })),
	}));
}

function timeline() {
	const found = Object.values(docs).find(d => d && d.schema === "rtgt-timeline-1");
	const all = (found ? recorded(found) : captured()).filter(t => t.rows.length);

	$("timeline").append(el("p", {}, found ?
		"Recorded by rtgt timeline while an operation was done: a connection, then what was done over it." +
			(found.missing.length ? ` Not told by this kernel: ${found.missing.join("; ")}.` : "") :
		"The states of queue pairs are not on the wire: rtgt timeline record takes them from the kernel's tracepoints and " +
			"leaves timeline.json. There is none; below are the connection manager's packets alone."));
	if (!all.length)
		$("timeline").append(el("p", {}, "No connection was found."));
	for (const t of all.slice(0, 8)) {
		const rows = t.rows.sort((a, b) => a.time - b.time);

		$("timeline").append(el("h3", {}, t.title),
			el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": t.title },
				table(["milliseconds", "client", "on the wire", "target"], rows.map(r => [
					(r.time - rows[0].time) * 1000, r.client || "", r.wire || "", r.target || ""]))));
	}
	if (all.length > 8)
		$("timeline").append(el("p", { class: "hint" }, `And ${number(all.length - 8)} further ones.`));
}

/* ---- Latency ---- */

function measured() {
	return Object.entries(docs).filter(([, d]) => d && d.schema === "rtgt-lat-1")
		.flatMap(([file, d]) => d.results.filter(r => r.histogram).map(r => ({ ...r, file })));
}

/* The line of a result: [microseconds, share of all] */
function cumulative(result) {
	let sum = 0;

	return result.histogram.map(b => {
		sum += b.count;
		return [b.below, sum / result.count];
	});
}

const hues = ["--send", "--write", "--read", "--cm", "--atomic", "--tcp"];
const seriesName = r => `${r.from}, ${r.over}, ${r.completions}`;

function drawCdf(results, name) {
	const series = results.filter(r => `${r.op}, ${r.size} B` === name);
	const low = Math.log10(Math.min(...series.map(r => r.us.min || 0.1)));
	const high = Math.log10(Math.max(...series.map(r => r.us.max)) * 1.05);
	const x = us => Math.min(1, Math.max(0, (Math.log10(us) - low) / (high - low || 1)));
	const ticks = [];

	for (let e = Math.floor(low); e <= high; e++) {
		for (const m of high - low > 2.2 ? [1] : [1, 2, 5]) {
			const us = m * 10 ** e;
			if (Math.log10(us) >= low && Math.log10(us) <= high)
				ticks.push([x(us), us >= 1000 ? `${number(us / 1000, 1)} ms` : `${number(us, 1)} µs`]);
		}
	}
	chart($("cdf"), `Share of ${name} done within a time: ` + series.map(r =>
		`${seriesName(r)} half within ${number(r.us.p50, 1)} µs`).join("; "), (root, box) => {
		axes(root, box, ticks, [0, 0.25, 0.5, 0.75, 1].map(a => [a, `${a * 100} %`]));
		series.forEach((r, i) => {
			let d = "", y = box.y + box.h;

			for (const [us, share] of [[r.us.min, 0], ...cumulative(r)]) {
				const at = (box.x + x(us) * box.w).toFixed(1);
				d += `${d ? "L" : "M"}${at} ${y.toFixed(1)}`;
				y = box.y + box.h * (1 - share);
				d += `L${at} ${y.toFixed(1)}`;
			}
			root.append(svg("path", { d, fill: "none", stroke: `var(${hues[i % hues.length]})`, "stroke-width": 2,
				"stroke-dasharray": i < hues.length ? "none" : "4 3" }));
		});
	});
	$("cdf-c").replaceChildren(...series.map((r, i) =>
		el("span", { class: "key", style: `--c: var(${hues[i % hues.length]})` }, seriesName(r))));
	$("percentiles").replaceChildren(table(["from", "over", "completions", "operations", "p50 µs", "p90", "p99", "max"],
		series.map(r => [r.from, r.over, r.completions, r.count, r.us.p50, r.us.p90, r.us.p99, r.us.max])));
}

function latency() {
	const results = measured();

	if (!results.length) {
		$("latency").querySelectorAll("figure, .choose, .scroll").forEach(n => n.remove());
		$("latency").append(el("p", {}, "No document of rtgt -j lat is in this directory; each one found is drawn."));
		return;
	}
	choose($("cdf-choose"), [...new Set(results.map(r => `${r.op}, ${r.size} B`))], name => drawCdf(results, name));
}

/* ---- Counters ---- */

/* All numbers below a document, by their name; of the target's document the counters alone */
function numbers(value, name, into) {
	if (typeof value === "number" && name !== "port")
		into.set(name, value);
	else if (value && typeof value === "object")
		for (const [k, v] of Object.entries(value.ports ? value.ports.map(p => p.counters) : value))
			numbers(v, k, into);
	return into;
}

function counters() {
	let drawn = 0;

	for (const [name, before] of Object.entries(docs)) {
		const stem = /^(.*)-before\.json$/.exec(name);
		const after = stem && docs[stem[1] + "-after.json"];

		if (!after)
			continue;
		const then = numbers(before, "", new Map()), now = numbers(after, "", new Map());
		const rows = [...now].filter(([k, v]) => v || then.get(k))
			.map(([k, v]) => [k, then.get(k) || 0, v, v - (then.get(k) || 0)]);

		drawn++;
		$("counted").append(el("h3", {}, stem[1].replace(/-/g, ", ")),
			rows.length ? el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": stem[1] },
				table(["counter", "before", "after", "difference"], rows)) : el("p", {}, "All zero."));
	}
	if (!drawn)
		$("counted").append(el("p", {}, "Pairs of documents NAME-before.json and NAME-after.json in this directory are " +
			"compared here: rdma -j statistic show, rtgt -j show."));
}

/* ---- All of it ---- */

facts();
stepper();
wrong();
wire();
timeline();
latency();
counters();
for (const s of document.querySelectorAll("main > section:not([hidden])"))
	$("contents").append(el("li", {}, el("a", { href: "#" + s.id }, s.querySelector("h2").textContent)));
document.documentElement.dataset.drawn = "yes";
})();
