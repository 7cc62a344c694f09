// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the page knows: the packets, the steps of the run that they belong to, and what both ends
 * recorded meanwhile, on the clock of the capture.  Nothing here draws.
 */
const data = JSON.parse(document.getElementById("data").textContent);
const docs = data.docs || {};
const packets = data.steps ? data.steps.list : [];
const byNumber = new Map(packets.map((p, i) => [p.n, i]));
const messages = new Map(((data.steps || {}).messages || []).map(m => [m.id, m]));
const conns = new Map(((data.steps || {}).connections || []).map(c => [c.id, c]));

function groups(list, key) {
	const found = new Map();

	for (const x of list)
		found.set(key(x), [...found.get(key(x)) || [], x]);
	return found;
}

const broken = groups((data.steps || {}).broken || [], b => b.packet);

const endName = name => name === "server" ? "target" : name;
const has = (p, name) => (p.h || []).some(h => h[0] === name);
const isAnswer = p => /Acknowledge|Response/.test(p.o || "");
const isNak = p => /\bNAK\b/.test(p.x || "");

function sender(p) {
	const c = conns.get(p.c);

	return c && c.client && p.s === c.client.addr ? "client" : "target";
}

function value(p, name) {
	for (const h of p.h || []) {
		for (const [f, v] of h[4]) {
			if (data.steps.fields[f][0] === name)
				return v;
		}
	}
}

function kind(p) {
	const o = p.o || "";

	if (p.k === "cm" || /^MPA/.test(o))
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

/* ---- TCP, which connects and disconnects an iWARP connection ---- */

function tcpName(p) {
	const has = flag => value(p, "tcp.flags." + flag) === "True";

	if (p.k !== "tcp")
		return "";
	return has("reset") ? "TCP RST" : has("fin") ? "TCP FIN" : !has("syn") ? "" : has("ack") ? "TCP SYN, ACK" : "TCP SYN";
}

/* A SYN comes before anything shows that the connection is one of iWARP */
function tcpConn(p) {
	const ports = `${value(p, "tcp.srcport")} ${value(p, "tcp.dstport")}`;
	const isOf = (c, a, b, s, d) => c[a].addr === s && c[b].addr === d && `${c[a].port} ${c[b].port}` === ports;

	return conns.get(p.c) || [...conns.values()].find(c => c.transport === "iWARP" && c.steps[0] && c.steps[0].packet > p.n &&
		(isOf(c, "client", "server", p.s, p.d) || isOf(c, "server", "client", p.s, p.d)));
}

/* ---- Steps: a connect, a message with what answers it, a disconnect ---- */

const steps = [], stepOf = new Map();
/* Operations that work the same way are of one kind; the kinds are those of work in words.js */
const kinds = ["WRITE_WITH_IMM", "ATOMIC_WRITE", "SEND", "READ", "WRITE", "FLUSH"];

for (const p of packets) {
	const m = messages.get(p.m), tcp = tcpName(p), c = tcp ? tcpConn(p) : conns.get(p.c);
	const cm = c && (tcp && c.transport === "iWARP" ? (/SYN/.test(tcp) ? "connect" : "disconnect") :
		kind(p) === "cm" && (/^CM D/.test(p.x) ? "disconnect" : "connect"));
	const key = m ? "message " + m.id : cm ? `${cm} ${c.id}` : "";

	if (!key)
		continue;
	let step = steps.find(s => s.key === key);
	if (!step) {
		step = {
			key, conn: c, m, op: m && m.op, packets: [], iwarp: c && c.transport === "iWARP",
			kind: cm || kinds.find(k => m.op.startsWith(k)) || "atomic",
			/* of iWARP, a WRITE or SEND was sent: nothing says more */
			good: m && /^(ok|sent)$/.test(m.status) && !m.retransmitted && !m.rnr,
		};
		steps.push(step);
	}
	step.packets.push(p);
	stepOf.set(p.n, step);
}

/* A NAK that misses a PSN: the last packet with that PSN before it did not arrive */
const lost = new Set();

packets.forEach((p, i) => {
	if (!/NAK PSN sequence error/.test(p.x))
		return;
	const gone = packets.slice(0, i).reverse().find(q => q.c === p.c && q.p === p.p && q.k === "roce" && !isAnswer(q));

	if (gone)
		lost.add(gone.n);
});

/* ---- The two queue pairs, as the packets up to one show them ---- */

const ahead = (a, b) => a !== b && ((a - b) & 0xffffff) < 0x800000;

function queuePairs(c, until) {
	const ends = { client: {}, target: {} };

	for (const p of packets.slice(0, until + 1)) {
		if (p.c !== c.id || p.k !== "roce")
			continue;
		const me = ends[sender(p)], peer = ends[sender(p) === "client" ? "target" : "client"];

		if (!isAnswer(p)) {
			const length = Number(value(p, "infiniband.reth.dmalen"));
			const next = (p.p + (/READ/.test(p.o) ? Math.max(1, Math.ceil(length / c.mtu)) : 1)) & 0xffffff;

			if (me.next === undefined || ahead(next, me.next))
				me.next = next;
			if (!lost.has(p.n) && (peer.expects === undefined || peer.expects === p.p))
				peer.expects = next;
			continue;
		}
		if (has(p, "AETH"))
			me.msn = Number(value(p, "infiniband.aeth.msn"));
		if (isNak(p)) {
			me.expects = p.p;
			if (!/RNR|sequence/.test(p.x))
				me.failed = peer.failed = p.n;
		} else {
			peer.acked = p.p;
		}
	}
	return ends;
}

/* What the device that receives a packet does with it, as the packets that follow show */
function effect(p, i) {
	const c = conns.get(p.c), to = sender(p) === "client" ? "target" : "client";

	if (p.k !== "roce" || !c || !c.client)
		return "";
	if (lost.has(p.n))
		return "nothing arrives";
	if (isAnswer(p)) {
		if (/RNR/.test(p.x))
			return "device: waits, then repeats the message";
		if (isNak(p))
			return /sequence/.test(p.x) ? `device: goes back to PSN ${p.p}` : "device: queue pair to ERR; the work request completes with an error";
		return /Response/.test(p.o) ? "device: stores the data" + (/Last|Only/.test(p.o) ? " and completes the work request" : "") :
			`device: completes work requests up to PSN ${p.p}`;
	}
	const expects = queuePairs(c, i - 1)[to].expects;
	const answer = packets.slice(i + 1).find(q => q.c === p.c && isAnswer(q) && sender(q) === to);

	if (expects !== undefined && expects !== p.p)
		return ahead(p.p, expects) ? `device: not the PSN ${expects} it expects; drops it` : "device: has it already";
	if (answer && isNak(answer) && answer.p === p.p)
		return /RNR/.test(answer.x) ? "device: no receive is posted; drops it" : "device: refuses it; stores nothing; queue pair to ERR";
	if (/READ/.test(p.o))
		return "device: checks rkey and range; reads its memory";
	if (/FLUSH/.test(p.o))
		return "device: makes the data before it visible or persistent";
	if (/WRITE/.test(p.o))
		return "device: " + (has(p, "RETH") ? "checks rkey and range; " : "") + "stores the data" + (/Immediate/.test(p.o) ? "; takes a posted receive" : "");
	return /SEND/.test(p.o) ? "device: " + (/First|Only/.test(p.o) ? "takes a posted receive; " : "") + "stores the data" : "device: changes 8 bytes";
}

/* What iWARP's packets up to one show of its queue pairs: the last message on each queue, a Terminate */
function streams(c, until) {
	const ends = { client: {}, target: {} };

	for (const p of packets.slice(0, until + 1)) {
		if (p.c !== c.id || p.k !== "iwarp")
			continue;
		const me = ends[sender(p)];

		for (const part of p.x.split("; ")) {
			const [, name, msn] = /^(.+?) msn=(\d+)/.exec(part) || [];

			if (name === "Terminate")
				me.terminated = p.n;
			else if (name)
				me[name === "RDMA READ Request" ? "read" : "send"] = Number(msn);
		}
	}
	return ends;
}

/* ---- What both ends recorded (rtgt timeline), on the clock of the capture ---- */

const timelines = Object.values(docs).filter(d => d && d.schema === "rtgt-timeline-1");

/*
 * A machine's clock is not the wire's.  A packet is on the wire after its sender has sent it and before
 * its receiver has it: of all packets of a connection, that leaves a span for the difference, and
 * its middle is taken.  Numbers of packets in the recording become those of the capture.
 */
function match(doc, theirs, c) {
	const local = theirs.client.device ? theirs.target.device ? "" : "client" : "target";
	const ops = doc.operations.filter(o => o.connection === theirs.id), iwarp = c.transport === "iWARP";
	const numbers = new Map(), span = [-Infinity, Infinity];

	for (const [e, p] of (iwarp ? fpdus : rocePackets)(theirs, ops, c)) {
		numbers.set(e.packet, p.n);
		if (e.from === local || !local)
			span[1] = Math.min(span[1], p.t - e.time);
		if (e.from !== local || !local)
			span[0] = Math.max(span[0], p.t - e.time);
	}
	const offset = span.every(Number.isFinite) ? (span[0] + span[1]) / 2 : span.find(Number.isFinite) || 0;
	const place = e => ({ ...e, time: e.time + offset, packet: numbers.get(e.packet) });

	return {
		conn: c.id, local, error: Math.abs(span[1] - span[0]) / 2, client: theirs.client.qpn, target: theirs.target.qpn,
		events: theirs.events.map(place),
		ops: ops.map(o => ({ ...o, events: o.events.map(place) })),
	};
}

/* The packets of the recording, each with that of the capture */
function rocePackets(theirs, ops, c) {
	const wire = new Map([...theirs.events, ...ops.flatMap(o => o.events)].filter(e => e.end === "wire").map(e => [e.packet, e]));
	const mine = groups(packets.filter(p => p.c === c.id && p.k === "roce"), p => `${sender(p)} ${p.p} ${p.o}`);

	return [...wire].sort((a, b) => a[0] - b[0]).map(([, e]) => {
		const same = mine.get(`${e.from} ${e.psn} ${e.what.split(",")[0]}`);
		const cm = e.psn === undefined && c.steps.find(s => s.name === e.what);

		return [e, cm ? packets[byNumber.get(cm.packet)] : same && same.shift()];
	}).filter(([, p]) => p);
}

/* TCP may cut the same stream into other segments there: so FPDUs are counted, and segments that open or close it */
function fpdus(theirs, ops, c) {
	const parts = packets.filter(p => p.c === c.id || tcpConn(p) === c).flatMap(p => p.k === "iwarp" ?
		p.x.split("; ").map(part => [`${sender(p)} ${part.split(/ \w+=/)[0]}`, p]) :
		[[`${p.s === c.client.addr ? "client" : "target"} ${tcpName(p)}`, p]]);
	const mine = groups(parts, part => part[0]);
	const wire = [...theirs.events.filter(e => /^(TCP|MPA|Terminate)/.test(e.what)), ...ops.flatMap(o => o.events)]
		.filter(e => e.end === "wire").sort((a, b) => a.packet - b.packet);

	return wire.map(e => {
		const name = e.what.startsWith("TCP") ? e.what : e.what.split(",")[0].replace("MPA r", "MPA R");
		const same = mine.get(`${e.from} ${name}`);

		return [e, same && same.length ? same.shift()[1] : undefined];
	}).filter(([, p]) => p);
}

const recordings = [];

for (const doc of timelines) {
	const pool = [...conns.values()];

	for (const theirs of Array.isArray(doc.connections) ? doc.connections : []) {
		const at = pool.findIndex(c => c.client && c.server && c.steps && c.client.addr === theirs.client.addr &&
			(c.transport === "iWARP" ? c.client.port === theirs.client.port && c.server.port === theirs.target.port :
				c.client.qpn === theirs.client.qpn && c.server.qpn === theirs.target.qpn));

		if (at >= 0)
			recordings.push(match(doc, theirs, pool.splice(at, 1)[0]));
	}
}

const isEnd = e => /->ERR|->CLOSING|isconnect|DREQ|DISCONNECTED|closing|CLOSE to|TCP FIN|TCP RST|Terminate/.test(e.what);
/* Of its sender's messages on the connection */
const nth = m => [...messages.values()].filter(o => o.connection === m.connection && o.from === m.from && o.id <= m.id).length;
const isBad = m => /^(no such key|the key was revoked|that is not all|the key does not allow)/.test(m.grant || "");
/* Refused, and with it the connection ended.  A Terminate of siw does not say what it refuses */
const isFatal = step => step.m && (/^nak/.test(step.m.status) || (step.conn && step.conn.terminate_packet && isBad(step.m)));

/* All that happened in a step, in order: what the ends recorded, and the packets */
function rows(step) {
	const found = [], seen = new Set(step.packets.map(p => p.n)), stages = [];
	const psn = step.m && packets[byNumber.get(step.m.first_packet)].p, failed = isFatal(step);
	const isIt = o => o.from === endName(step.m.from) && (step.iwarp ? o.nth === nth(step.m) : o.first_psn === psn);

	for (const r of recordings.filter(r => step.conn && r.conn === step.conn.id)) {
		const cut = r.events.findIndex(isEnd), end = cut < 0 ? r.events.length : cut;
		const op = step.m && r.ops.find(isIt);

		if (step.kind === "connect")
			found.push(...r.events.slice(0, end));
		else if (step.kind === "disconnect" || failed)
			found.push(...r.events.slice(end));
		if (op) {
			found.push(...op.events);
			stages.push(...op.stages.map(s => ({ ...s, end: r.local })));
		}
	}
	for (const e of found.filter(e => e.end === "wire" && e.packet))
		seen.add(e.packet);
	return {
		stages,
		error: Math.max(0, ...recordings.filter(r => step.conn && r.conn === step.conn.id).map(r => r.error)),
		rows: found.filter(e => e.end !== "wire").concat([...seen].map(n => packets[byNumber.get(n)]).filter(p => p)
			.map(p => ({ time: p.t, end: "wire", packet: p.n }))).sort((a, b) => a.time - b.time),
	};
}

/*
 * The state that an end's queue pair had at a time; "" before there was one, undefined if it was not
 * recorded
 */
function stateAt(c, end, time) {
	let state;

	for (const e of recordings.filter(r => r.conn === c.id).flatMap(r => r.events).filter(e => e.end === end && /^QP /.test(e.what))) {
		const to = /QP \S+->(\S+)/.exec(e.what) || /QP created: (\S+)/.exec(e.what);

		state = state || "";
		if (e.time <= time)
			state = to ? to[1] : e.what === "QP destroyed" ? "destroyed" : state;
	}
	return state;
}

/* The number of an end's queue pair: of iWARP only a recording has it */
function qpnOf(c, end) {
	const found = recordings.find(r => r.conn === c.id && r[end] !== undefined);

	return c[end === "target" ? "server" : "client"].qpn || (found && found[end]);
}
