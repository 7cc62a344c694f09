// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What was run, the terms, and all of it drawn */

function facts() {
	const found = Object.values(docs).find(d => d && d.facts);
	const f = found ? found.facts : {};
	const versions = f.versions || {};
	const rows = [
		["Kernel", f.kernel && `${f.kernel} (${f.machine})`],
		["Processors", f.cpus],
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
	const lines = data.commands || [];

	$("facts").append(...rows.map(r => el("div", {}, el("dt", {}, r[0]), el("dd", {}, String(r[1])))));
	if (!rows.length)
		$("facts").replaceWith(el("p", {}, "No document in this directory carries facts: rtgt -j ping " +
			"and rtgt -j lat print them."));
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

/* What the first screen says of RoCE is said of iWARP in other words */
function transport() {
	if (![...conns.values()].some(c => c.transport === "iWARP"))
		return;
	for (const node of document.querySelectorAll("[data-iwarp]"))
		node.textContent = node.dataset.iwarp;
	$("filter").placeholder = "Terminate, READ, iwarp_ddp.last_flag == 1";
}

/* The page's own prose links its terms as well */
function prose() {
	for (const node of document.querySelectorAll(".linked, .linked li, .linked p"))
		if (!node.children.length)
			node.replaceChildren(...linked(node.textContent));
	$("glossary").append(...Object.entries(terms).sort((a, b) => a[1][1].localeCompare(b[1][1])).map(([id, [, name, text]]) =>
		el("div", { id: "term-" + id }, el("dt", {}, name), el("dd", {}, linked(text, [id])))));
	$("pages").append("More in the documentation: ", section("glossary", "Glossary"), ", ",
		section("course", "RDMA by your own capture"), ".");
}

transport();
prose();
facts();
stepper();
wrong();
wire();
latency();
counters();
for (const s of document.querySelectorAll("main > section:not([hidden])"))
	$("contents").append(el("li", {}, el("a", { href: "#" + s.id }, s.dataset.name || s.querySelector("h2").textContent)));
document.documentElement.dataset.drawn = "yes";
