// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Elements, numbers, links: what all parts of the page draw with */
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

/* PSNs and queue pair numbers are decimal; the other notation is there on hover */
const hex = n => "0x" + n.toString(16).padStart(6, "0");
const both = (n, text) => el("abbr", { title: hex(n) }, text || String(n));

/* A section of a page of the documentation; text alone where nobody said where that is */
const section = (page, name) => data.pages ? el("a", { href: `${data.pages}/${page}.html#${name.toLowerCase().replace(/[^a-z0-9]+/g, "-")}` }, name) : name;

const termIds = Object.keys(terms);
const termWords = new RegExp(`(packet \\d+)|PSN (\\d+)|\\b(${Object.keys(counterWords).filter(c => c.includes("_")).join("|")})\\b|(${termIds.map(t => `(?<![\\w-])(?:${terms[t][0].source})(?![\\w-])`).join(")|(")})`, "g");

/* A text with a link for the first mention of each term, for each packet and counter; not of the terms in @but */
function linked(text, but = []) {
	const out = [], done = new Set(but);
	let at = 0;

	for (const found of text.matchAll(termWords)) {
		const term = termIds[found.slice(4).findIndex(x => x !== undefined)];
		const qpn = /^QP (\d+)$/.exec(found[0]);
		let node;

		if (found[1])
			node = link(Number(found[1].slice(7)));
		else if (found[2])
			node = el("span", {}, done.has("psn") ? "PSN" : el("a", { href: "#term-psn", class: "term" }, "PSN"), " ", both(Number(found[2])));
		else if (found[3])
			node = el("a", { href: "#counter-" + found[3], class: "term" }, found[3]);
		else if (!done.has(term))
			node = el("a", { href: "#term-" + term, class: "term", title: qpn ? hex(Number(qpn[1])) : undefined }, found[0]);
		else if (qpn)
			node = both(Number(qpn[1]), found[0]);
		else
			continue;
		done.add(found[2] ? "psn" : term);
		out.push(text.slice(at, found.index), node);
		at = found.index + found[0].length;
	}
	return [...out, text.slice(at)];
}

/* In a narrow window a row becomes a card, and each cell says what it is */
function table(head, rows, attrs) {
	const cell = (c, i) => el("td", { class: typeof c === "number" ? "n" : undefined, "data-label": head[i] },
				  typeof c === "number" ? number(c, 1) : c);
	const first = rows[0] || [];

	return el("table", attrs,
		el("thead", {}, el("tr", {}, head.map((h, i) =>
			el("th", { scope: "col", class: typeof first[i] === "number" ? "n" : undefined }, linked(h))))),
		el("tbody", {}, rows.map(r => el("tr", { "data-counter": r.counter, class: r.class }, r.map(cell)))));
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
