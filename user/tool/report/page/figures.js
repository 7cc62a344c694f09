// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The wire as a whole, latencies, counters */

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

/* Drawn at the width it has, and again when that changes; left of the axis is room for its longest label */
function chart(where, label, labels, draw) {
	const redraw = () => {
		const width = Math.max(260, where.clientWidth), height = 240;
		const room = 14 + 6.4 * Math.max(...labels.map(l => l.length));
		const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": label });

		draw(root, { x: room, y: 12, w: width - room - 12, h: height - 46 });
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
			at > 0.95 ? "end" : at < 0.05 ? "start" : "middle" }, text));
	}
}

const classes = ["cm", "write", "read", "send", "atomic", "ack", "tcp", "other"];
const classNames = {
	cm: "connection manager", write: "WRITE", read: "READ", send: "SEND", atomic: "atomic", ack: "acknowledgment",
	tcp: "TCP", other: "other",
};
const key = c => el("span", { class: "key", style: `--c: var(--${c})` }, linked(classNames[c]));

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

	const marks = [0, 0.5, 1].map(a => [a, rate(a * top)]);
	chart($("io"), `${what} over time, at most ${rate(top)}`, marks.map(m => m[1]), (root, box) => {
		const base = new Array(bins).fill(0), wide = box.w / bins;

		axes(root, box, [0, 0.25, 0.5, 0.75, 1].map(a => [a, `${number(a * bins * w.bin, 1)} s`]),
			marks);
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
		root.addEventListener("click", e => {
			const from = root.getBoundingClientRect();

			tellColumn(Math.floor((e.clientX - from.x - box.x) / wide));
		});
	});
	tellColumn(sums.indexOf(Math.max(...sums)));
	$("io-c").replaceChildren(...classes.filter(c => w.io.some(r => w.classes[r[1]] === c)).map(key),
		` Columns of ${number(w.bin * 1000, 1)} ms; at most ${rate(top)}. Click on a column to see what it is made of.`);
}

/* What a column of the chart is made of */
function tellColumn(bin) {
	const w = data.wire, here = w.io.filter(r => r[0] === bin).sort((a, b) => b[3] - a[3]);
	const from = bin * w.bin, first = packets.find(p => p.t >= from && p.t < from + w.bin);

	$("io-at").replaceChildren(`At ${number(from, 2)} s: `, here.length ? "" : "nothing", ...here.flatMap((r, i) =>
		[i ? ", " : "", ...linked(classNames[w.classes[r[1]]]), ` ${plural(r[2], "packet")} (${bytes(r[3])})`]),
	...first ? ["; ", link(first.n), " is the first of them"] : [], ".");
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
		c.packets[1], c.bytes[1], c.seconds, c.seconds ? (c.bytes[0] + c.bytes[1]) * 8 / c.seconds / 1000 : "-"]), { class: "cards" }));
	if (w.conversations_left_out)
		$("conversations").append(el("p", { class: "hint" }, `${number(w.conversations_left_out)} packets of further ones.`));
	$("hierarchy").append(table(["protocol", "packets", "bytes", "share of the bytes"], w.tree.map(t => [
		el("span", { style: `padding-left: ${t.depth * 1.1}em` }, linked(t.name)), t.packets, t.bytes,
		el("span", {}, el("span", { class: "share", style: `width: ${(t.bytes / w.bytes * 6).toFixed(2)}rem` }),
			` ${number(t.bytes / w.bytes * 100, 1)} %`)]), { class: "bars" }));
}

/* ---- Latency ---- */

function measured() {
	return Object.entries(docs).filter(([, d]) => d && d.schema === "rtgt-lat-1" && Array.isArray(d.results))
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
		`${seriesName(r)} half within ${number(r.us.p50, 1)} µs`).join("; "), ["100 %"], (root, box) => {
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
		series.map(r => [r.from, r.over, r.completions, r.count, r.us.p50, r.us.p90, r.us.p99, r.us.max]), { class: "cards" }));
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

/* All numbers below a value, by their name */
function numbers(value, name, into) {
	if (typeof value === "number" && name !== "port")
		into.set(name, value);
	else if (value && typeof value === "object")
		for (const [k, v] of Object.entries(value))
			numbers(v, k, into);
	return into;
}

/* Those of a document; of several devices or ports behind whose they are.  Of a target's port the counters alone */
function counted(doc) {
	const parts = Array.isArray(doc) ? doc.map(d => [`${d.ifname}/${d.port} `, d]) :
		Array.isArray(doc.ports) ? doc.ports.map(p => [`${p.name} `, p.counters]) : [["", doc]];

	return new Map(parts.flatMap(([of, part]) => [...numbers(part, "", new Map())]
		.map(([k, v]) => [parts.length > 1 ? of + k : k, v])));
}

/* Whose counters a document NAME-before.json has, by its name */
const whose = {
	"client-statistic": "The client's device (rdma statistic)", "server-statistic": "The target's device (rdma statistic)",
	target: "The target itself (rtgt show)",
};

function shownIn(counter) {
	const chapter = toc.find(c => c.text.includes(counter));

	return chapter ? [" (", el("a", { href: "#chapter-" + chapter.id }, chapter.name), ")"] : "";
}

function counters() {
	let drawn = 0;

	for (const [name, before] of Object.entries(docs)) {
		const stem = (/^(.*)-before\.json$/.exec(name) || [])[1];
		const after = stem && docs[stem + "-after.json"];

		if (!after)
			continue;
		const then = counted(before), now = counted(after);

		drawn++;
		$("counted").append(el("h3", {}, whose[stem] || stem.replace(/-/g, ", ")),
			table(["counter", "what it counts", "before", "after", "difference"], [...now].map(([k, v]) => Object.assign(
				[k, el("span", {}, linked(counterWords[k.replace(/.* /, "")] || ""), shownIn(k.replace(/.* /, ""))), then.get(k) || 0, v, v - (then.get(k) || 0)],
				{ counter: k, class: v || then.get(k) ? undefined : "zero" })), { class: "cards" }));
	}
	/* a link to a counter leads to where it counted, if it did anywhere */
	for (const [name, rows] of groups([...document.querySelectorAll("[data-counter]")], r => r.dataset.counter))
		(rows.find(r => !r.classList.contains("zero")) || rows[0]).id = "counter-" + name;
	if (!drawn)
		$("counted").append(el("p", {}, "Pairs of documents NAME-before.json and NAME-after.json in this directory are " +
			"compared here: rdma -j statistic show, rtgt -j show."));
}
