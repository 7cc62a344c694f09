// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The ladder of packets with its chapters, the packet chosen, and both ends of its step */

/* ---- Chapters: the first step of each kind that the capture has ---- */

const toc = chapters.map(([id, name, is, course, text]) => {
	const step = steps.find(is), other = step && step.iwarp && iwarpChapters[id];

	return { id, name, course: other ? "RoCE and iWARP" : course, text: other || text, step };
}).filter(c => c.step);
/* An end of iWARP has a TCP port; its queue pair has a number that is not on the wire */
const qpName = end => end.qpn === undefined ? `port ${end.port}` : `QP ${end.qpn}`;
/* A step without a chapter of its own is of that of another of its kind */
const chapterOf = step => step && (toc.find(c => c.step === step) ||
	toc.find(c => c.step.kind === step.kind && (c.step.good || !step.m) && (step.good || !step.m)));

/* ---- The ladder ---- */

const colour = p => `--c: var(--${isNak(p) ? "bad" : kind(p)})`;

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

/* What it is, in short: of connection messages their own name, not that of the SEND that carries them */
function title(p) {
	const answer = /RNR NAK|NAK [A-Za-z ]+?(?= msn)|ACK/.exec(p.x || "");

	if (p.k === "cm")
		return (/^CM \S+/.exec(p.x) || ["CM"])[0];
	return /Acknowledge/.test(p.o || "") && answer ? answer[0] : p.o || p.x;
}

/* What Wireshark calls it */
const cmNames = {
	REQ: "ConnectRequest", REP: "ConnectReply", RTU: "ReadyToUse", REJ: "ConnectReject", DREQ: "DisconnectRequest",
	DREP: "DisconnectReply",
};

function wiresharkName(p) {
	const cm = p.k === "cm" && cmNames[title(p).slice(3)];

	return cm ? "CM: " + cm : p.k !== "roce" ? "" : p.o.replace(/\b(WRITE|READ|SEND)\b/g, w => w[0] + w.slice(1).toLowerCase())
		.replace("with Immediate", "Immediate");
}

/* What the arrow says */
function brief(p) {
	const text = title(p).replace(/^RC (RDMA )?/, ""), size = /payload=(\d+)/.exec(p.x || "");
	const wait = /wait=([\d.]+ .?s)/.exec(p.x || ""), qp = /\bqp=(\d+)/.exec(p.x || "");

	if (p.k === "cm")
		return text + (qp ? `, QP ${qp[1]}` : "");
	if (p.k !== "roce")
		return tcpName(p) || p.x || p.o || p.k;
	return `${text}, PSN ${p.p}` + (wait ? `, wait ${wait[1]}` : size ? `, ${size[1]} B` : "");
}

/* explain's line with our notation of numbers */
function line(p) {
	return (p.x || "").split(/(\b(?:remote_|from_)?qp=\d+|\bpsn=\d+)/).map(part => {
		const [, name, n] = /^((?:remote_|from_)?qp|psn)=(\d+)$/.exec(part) || [];

		return name ? el("span", {}, name + "=", both(Number(n))) : part;
	});
}

function drawList() {
	$("ends").append(el("div", {}, el("span", {}, `client ${asked.s || ""}`), el("span", {}, `target ${asked.d || ""}`)));
	$("list").append(...packets.map((p, i) => el("li", {
		role: "option", id: "packet-" + p.n, "aria-selected": false, "data-i": i, style: colour(p),
		class: [broken.has(p.n) && "broken", lost.has(p.n) && "lost"].filter(x => x).join(" ") || undefined,
	},
	el("span", { class: "when" }, el("b", {}, String(p.n)), el("i", {}, p.t.toFixed(6))),
	el("span", { class: "lane " + direction(p) }, el("span", { title: p.x }, lost.has(p.n) ? "lost: " : "", brief(p))))));
	$("steps-p").append(`From ${data.steps.file}: ${plural(packets.length, "packet")}` +
		(data.steps.more ? ", the first of more; the rest is in the figures below" : "") +
		". Choose a chapter or a packet: beside the ladder stands what it is for, with each byte of its headers, and below it " +
		"what both ends did meanwhile.");
}

/* A field's name, or NAME == VALUE as in a display filter, or words that all must be there */
function matches(p, text) {
	const equal = /^([\w.]+\.[\w.]+)(?:\s*==\s*(\S+))?$/.exec(text);
	const all = [p.x, p.w, p.o, "packet " + p.n, p.s, p.d].join(" ").toLowerCase();

	if (equal) {
		const v = value(p, equal[1]);
		return v !== undefined && (equal[2] === undefined || v === equal[2] || Number(v) === Number(equal[2]));
	}
	return text.toLowerCase().split(/\s+/).every(word => all.includes(word));
}

function filter() {
	const text = $("filter").value.trim();
	const list = [...$("list").children];
	let shown = 0;

	for (const [i, item] of list.entries()) {
		item.hidden = text !== "" && !matches(packets[i], text);
		shown += !item.hidden;
	}
	$("filtered").textContent = text ? `${shown} of ${packets.length}` : "";
	if (shown && list[current] && list[current].hidden)
		select(list.findIndex(item => !item.hidden), "near");
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
	const list = $("list"), item = list.children[i];

	if (!item)
		return;
	if (list.children[current])
		list.children[current].setAttribute("aria-selected", false);
	current = i;
	item.hidden = false;
	item.setAttribute("aria-selected", true);
	list.setAttribute("aria-activedescendant", item.id);
	scrollTo(list, item, how);
	const p = packets[i], step = stepOf.get(p.n), chapter = chapterOf(step);
	for (const [k, other] of packets.entries())
		list.children[k].classList.toggle("step", step !== undefined && stepOf.get(other.n) === step);
	for (const button of $("chapters").children)
		button.setAttribute("aria-current", chapter !== undefined && button.id === "chapter-" + chapter.id);
	$("position").textContent = `packet ${p.n}, ${i + 1} of ${packets.length}`;
	$("words").replaceChildren(...words(p), chapter ? el("p", { class: "chapter" }, el("b", {}, chapter.name + ". "), linked(chapter.text),
		el("small", {}, " In Documentation/course.rst: ", el("cite", {}, section("course", chapter.course)), ".")) : "");
	$("words").setAttribute("style", colour(p));
	$("detail").scrollTop = 0;
	$("headers").replaceChildren(...(p.h || []).filter(h => h[2]).map(drawHeader), dump(p));
	drawEnds(step, p, i);
}

/* The packet in words */
function words(p) {
	const m = messages.get(p.m), c = conns.get(p.c), out = [];
	const ours = (p.w || "").replace(/\bserver\b/g, "target").replace(/(?<!queue )\bkey\b/g, "rkey");

	out.push(el("h3", {}, `${p.n}. ${title(p)}`));
	if (p.w)
		out.push(el("p", {}, linked(ours[0].toUpperCase() + ours.slice(1) + (ours.endsWith(".") ? "" : "."))));
	out.push(el("p", { class: "mono" }, p.s ? `${p.s} → ${p.d}  ` : "", line(p)));
	if (wiresharkName(p))
		out.push(el("p", { class: "hint" }, "Wireshark calls it ", el("code", { class: "wireshark" }, wiresharkName(p)), "."));
	if (lost.has(p.n))
		out.push(el("p", { class: "bad" }, "This packet did not arrive: a later NAK asks for its PSN."));
	if (p.r && p.r !== "new")
		out.push(el("p", { class: "bad" }, `Not for the first time: ${p.r}.`));
	for (const b of broken.get(p.n) || [])
		out.push(el("p", { class: "bad" }, `A rule is broken (${b.rule}): ${b.words}`));
	if (p.i === "bad")
		out.push(el("p", { class: "bad" }, "Its ICRC is wrong: the receiver drops it silently."));
	if (m && m.packets)
		out.push(el("p", { class: "hint" }, "The message: ", linked(`${m.op} of ${plural(m.bytes || 0, "byte")} in ` +
			`${plural(m.packets, "packet")}`), m.first_packet === m.last_packet ? ", asked for in " : ", from ",
			link(m.first_packet), m.first_packet === m.last_packet ? "" : [" to ", link(m.last_packet)],
			m.answer_packet && m.answer_packet !== m.last_packet ? ["; answered by ", link(m.answer_packet)] : "",
			m.rtt_us ? ` after ${number(m.rtt_us, 1)} µs` : "",
			m.status && m.status !== "ok" ? `; ${m.status}` : "",
			m.retransmitted ? `; ${plural(m.retransmitted, "packet")} sent again` : "", "."));
	if (c && c.client && c.server)
		out.push(el("p", { class: "hint" }, `Connection ${c.id}: `, linked(`${qpName(c.client)} of the client`), ", ",
			linked(`${qpName(c.server)} of the target`), ". ", stepOf.has(p.n) ? el("a", { href: "#ends-of" }, "Both ends of this step") : ""));
	return out;
}

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
const closed = new Set(["Ethernet", "IPv4", "IPv6", "UDP", "TCP", "alternate path", "hex"]);

function fold(name, summary, ...content) {
	const box = el("details", { open: !closed.has(name), "data-fold": name }, el("summary", { class: "hint" }, summary), ...content);

	box.addEventListener("toggle", () => box.open ? closed.delete(name) : closed.add(name));
	return box;
}

function fieldTable(name, rows) {
	const list = shown => el("table", { class: "fields", "aria-label": `Fields of ${name}` }, el("tbody", {}, shown));
	const rare = rows.filter(r => r.rare);

	return [fold(name, plural(rows.length - rare.length, "field"), list(rows.filter(r => !r.rare))),
		rare.length ? fold("alternate path", `${plural(rare.length, "field")} of an alternate path`, list(rare)) : ""];
}

/* The value in our notation */
function fieldValue(f) {
	const text = f.value.length > 96 ? f.value.slice(0, 96) + "…" : f.value;

	return /(destqp|srcqp|qpn|psn|remoteqpneecn)$/.test(f.tshark) && !Number.isNaN(Number(text)) ? both(Number(text)) : text;
}

function drawHeader([name, off, len, hexText, values, inner]) {
	const fields = values.map(([f, v, w]) => {
		const [tshark, label, bit, bits] = data.steps.fields[f];
		return { tshark, label, bit, bits: bits || 8 * len - bit, value: String(v), words: w };
	}).filter(f => f.bit < 8 * len);
	const shown = hexText ? hexText.length / 2 : 0;
	const cells = [];
	const light = (wanted) => {
		rows.forEach((r, i) => r.classList.toggle("on", wanted.includes(i)));
		cells.forEach(c => c.classList.toggle("on", wanted.some(i => c.fields.includes(i))));
	};

	for (let at = 0; at < shown; at++) {
		const cell = el("span", { style: `--b: ${paint(fields, at)}` }, hexText.substr(2 * at, 2));

		cell.fields = fields.flatMap((f, i) => f.bit < 8 * at + 8 && f.bit + f.bits > 8 * at ? [i] : []);
		cell.title = [`byte ${off + at}`, ...cell.fields.map(i => fields[i].label)].join(": ");
		cell.setAttribute("aria-label", `${hexText.substr(2 * at, 2)}, ${cell.title}`);
		cell.setAttribute("role", "img");
		cells.push(cell);
	}
	const rows = fields.map((f, i) => {
		const row = el("tr", { style: `--b: var(--f${i % 8})` },
			el("td", {}, linked(f.label), el("code", { class: "filter", title: "name in a display filter" }, f.tshark)),
			el("td", {}, el("code", {}, fieldValue(f)), " ", f.words ? el("em", {}, linked(f.words)) : ""));

		row.querySelectorAll("a").forEach(a => a.tabIndex = -1);
		row.rare = /\.alt_/.test(f.tshark);
		return row;
	});
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
		el("h4", {}, name + " ", el("small", {}, `${plural(len, "byte")} from byte ${off}${inner ? " of the frame in TCP" : ""}`)),
		purpose[name] ? el("p", {}, linked(purpose[name])) : "",
		el("div", { class: "bytes", role: "group", "aria-label": `Bytes of ${name}` }, cells),
		shown < len ? el("p", { class: "hint" }, `${plural(len - shown, "further byte")} not shown`) : "",
		rows.length ? fieldTable(name, rows) : "");
}

/* All bytes of the frame that the page has: offset, hexadecimal, ASCII */
function dump(p) {
	const all = [], per = matchMedia("(max-width: 520px)").matches ? 8 : 16, lines = [];

	for (const [, off, , hexText] of (p.h || []).filter(h => !h[5])) {
		for (let i = 0; i < (hexText || "").length / 2; i++)
			all[off + i] = parseInt(hexText.substr(2 * i, 2), 16);
	}
	for (let at = 0; at < all.length; at += per) {
		const row = Array.from({ length: Math.min(per, all.length - at) }, (_, i) => all[at + i]);

		if (row.every(b => b === undefined))
			continue;
		lines.push(at.toString(16).padStart(4, "0") + "  " +
			row.map(b => b === undefined ? ".." : b.toString(16).padStart(2, "0")).join(" ").padEnd(3 * per) + " " +
			row.map(b => b >= 0x20 && b < 0x7f ? String.fromCharCode(b) : ".").join(""));
	}
	return fold("hex", "All bytes: offset, hexadecimal, ASCII", el("pre", { class: "hex", tabindex: 0 }, lines.join("\n")));
}

/* ---- Both ends of a step ---- */

function drawEnds(step, p, at) {
	$("ends-of").hidden = !step;
	if (!step)
		return;
	const c = step.conn, { rows: all, stages, error } = rows(step), what = isFatal(step) ? "refused" : step.kind;
	const does = step.iwarp && iwarpWork[what] || work[what];
	const who = ["client", "wire", "target"], start = all[0].time;
	const mine = !step.m || step.m.from === "client" ? does : [...does].reverse();
	const receiver = r => r.packet ? " to-" + (direction(packets[byNumber.get(r.packet)]).startsWith("r") ? "target" : "client") : "";

	$("ends-title").textContent = "Both ends: " + (step.m ? `${step.m.op} of ${plural(step.m.bytes || 0, "byte")}, ` +
		`requested by the ${endName(step.m.from)}` : step.kind) + (c ? `, connection ${c.id}` : "");
	$("does").replaceChildren(...who.map((w, i) => el("div", { class: w },
		el("h4", {}, linked({ client: "client: program and device", wire: "wire", target: "target: module and device" }[w])),
		el("p", {}, linked(mine[i])))));
	$("pairs").replaceChildren(c && c.client && c.server ? (step.iwarp ? drawStreams : drawPairs)(c, p, at) : "");
	$("rows").replaceChildren(...all.map(r => el("li", {
		class: r.end + receiver(r) + (r.packet === p.n ? " chosen" : ""), style: r.packet ? colour(packets[byNumber.get(r.packet)]) : undefined,
	}, el("span", { class: "t" }, number((r.time - start) * 1e6)), el("span", { class: "what" }, drawRow(r)),
	drawEffect(r))));
	$("stages").replaceChildren(stages.length ? drawStages(stages) : "");
	$("ends-p").replaceChildren(recordings.length ?
		`Microseconds from the first row. Each machine has its own clock: its rows are placed so that no packet arrives before ` +
			`it was sent, here to within ${number(error * 1e6)} µs. What a device does, in italics, follows from the packets.` :
		"The events of programs and kernels are not recorded. To see them here, add the timeline.json of rtgt timeline record to the directory.");
}

/* What the device that receives the packet does with it, if the packets show that */
function drawEffect(r) {
	const text = r.packet ? effect(packets[byNumber.get(r.packet)], byNumber.get(r.packet)) : "";

	return text ? el("span", { class: "effect" }, linked(text)) : "";
}

function drawRow(r) {
	if (r.packet) {
		const q = packets[byNumber.get(r.packet)];

		return [direction(q).startsWith("r") ? "→ " : "← ", link(q.n), ": ", brief(q), lost.has(q.n) ? ", lost" : ""];
	}
	return linked(r.what.replace(/QP (\w+)->(\w+)/, "QP from $1 to $2"));
}

/* No packet tells a state: it was recorded, or it is not known */
function drawState(c, end, p) {
	const state = stateAt(c, end, p.t);

	return state === undefined ? "not recorded" : state ? linked(state) : "no queue pair yet";
}

function drawPairs(c, p, at) {
	const ends = queuePairs(c, at);
	const row = (end, qpn) => {
		const e = ends[end];

		return [end, both(qpn, `QP ${qpn}`), e.failed ? linked(`ERR since the NAK in packet ${e.failed}`) : drawState(c, end, p),
			...[e.next, e.acked, e.expects, e.msn].map((n, i) => n === undefined ? "-" : i < 3 ? both(n) : String(n))];
	};

	return el("div", {}, el("h3", {}, `The two queue pairs after packet ${p.n}`),
		table(["end", "queue pair", "state", "sends next PSN", "acknowledged up to", "expects PSN", "MSN"],
			[row("client", c.client.qpn), row("target", c.server.qpn)], { class: "cards" }));
}

/* The same over iWARP: states of its own, and no PSN */
function drawStreams(c, p, at) {
	const ends = streams(c, at);
	const row = end => {
		const e = ends[end], qpn = qpnOf(c, end);

		return [end, qpn ? both(qpn, `QP ${qpn}`) : "not recorded", drawState(c, end, p),
			...[e.send, e.read].map(n => n === undefined ? "-" : String(n)), e.terminated ? link(e.terminated) : "-"];
	};

	return el("div", {}, el("h3", {}, `The two queue pairs after packet ${p.n}`),
		table(["end", "queue pair", "state", "last SEND (MSN)", "last READ request (MSN)", "Terminate"],
			[row("client"), row("target")], { class: "cards" }));
}

/* How long it took, as each end has measured it */
function drawStages(stages) {
	const most = Math.max(...stages.map(s => s.us)) || 1;

	return el("div", {}, el("h3", {}, "How long it took"),
		table(["measured at", "what", "microseconds"], stages.map(s => [s.end || "both ends", el("span", {}, linked(s.what)),
			el("span", {}, el("span", { class: "share", style: `width: ${(Math.max(0, s.us) / most * 6).toFixed(2)}rem` }), " " + number(s.us))]),
		{ class: "cards" }));
}

function stepper() {
	const list = $("list");
	const visible = () => [...list.children].flatMap((c, i) => c.hidden ? [] : [i]);
	const go = (by) => {
		const all = visible(), here = all.indexOf(current);

		return all[Math.max(0, Math.min(all.length - 1, here + by))];
	};
	const page = () => Math.max(1, Math.floor(list.clientHeight / list.children[visible()[0] || 0].offsetHeight) - 1);
	const to = {
		first: () => visible()[0], last: () => visible().pop(), prev: () => go(-1), next: () => go(1),
		up: () => go(-page()), down: () => go(page()),
	};
	const keys = {
		ArrowDown: "next", ArrowRight: "next", ArrowUp: "prev", ArrowLeft: "prev", Home: "first", End: "last",
		PageDown: "down", PageUp: "up",
	};
	const follow = () => {
		const n = Number((/^#packet-(\d+)$/.exec(location.hash) || [])[1]);
		const chapter = toc.find(c => location.hash === "#chapter-" + c.id);
		const packet = chapter ? chapter.step.packets[0].n : n;

		if (byNumber.has(packet)) {
			select(byNumber.get(packet), "show");
			list.focus({ preventScroll: true });
			$("steps").scrollIntoView();
		}
	};

	if (!packets.length) {
		$("steps").querySelector(".stepper").replaceWith(el("p", {}, "There is no capture in this directory: " +
			"rtgt report looks for steps.pcap, then wire.pcap."));
		$("ends-of").remove();
		return;
	}
	drawList();
	$("chapters").append(...toc.map(c => el("a", { id: "chapter-" + c.id, href: "#chapter-" + c.id }, c.name)));
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
	$("filter").addEventListener("input", filter);
	/* the same link twice is no change of the address */
	document.addEventListener("click", e => {
		const a = e.target.closest("a[href^='#packet-'], a[href^='#chapter-']");

		if (a && a.hash === location.hash)
			follow();
	});
	window.addEventListener("hashchange", follow);
	select(packets.indexOf(asked), "show");
	follow();
}
