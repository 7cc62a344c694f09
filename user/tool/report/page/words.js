// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The prose of the page: what takes part, the chapters, the terms, the headers, the counters.
 * Texts are plain; linked() in report.js makes links of the terms in them.
 */

/* id: [words that link here, name, what it is] */
const terms = {
	qp: [/queue pairs?|QPs?(?! \d)/, "queue pair (QP)",
		"One end of a connection, in the device: a send queue and a receive queue. A program posts work requests to it. " +
		"Both ends have one, each with its own number and its own state."],
	qpn: [/queue pair numbers?|QP \d+/, "queue pair number",
		"The number of a queue pair in its device, 24 bits. The BTH of a packet has the number of the receiver's queue pair. This page writes it in " +
		"decimal, as dmesg and rdma resource show qp do, with the hexadecimal number on hover: Wireshark's 0x000012 is QP 18. " +
		"QP 1 belongs to the connection manager."],
	state: [/(?<!migration )states?|RESET|INIT|RTR|RTS|ERR(?:OR)?|IDLE|CLOSING|TERMINATE/, "state of a queue pair",
		"RESET: new. INIT: accepts receives. RTR: ready to receive. RTS: ready to send. ERR: each posted work request completes " +
		"with an error. A program moves its queue pair from state to state; a device moves it to ERR when an operation fails. " +
		"States are not on the wire. Over iWARP they are IDLE (verbs call it INIT), RTS, CLOSING (SQD), TERMINATE (SQE) and ERROR " +
		"(ERR). There the device moves the queue pair to RTS, after the MPA reply, and to each later state."],
	wr: [/work requests?|posts?|posted/, "work request (WR)",
		"What a program posts to a queue pair: the operation, where the local data is (address, length, lkey) and, for WRITE and " +
		"READ, where the remote data is (address, rkey)."],
	wc: [/completions?|completes?/, "work completion (WC)",
		"How a work request ended, with its status. The device puts it into the completion queue, where the program finds it. " +
		"The device makes it locally: no packet on the wire carries a completion."],
	receive: [/receives?\b(?! that)/, "posted receive",
		"A work request that offers memory for one incoming message. A SEND and a WRITE_WITH_IMM consume one, a WRITE and a READ " +
		"do not."],
	psn: [/packet sequence numbers?|PSNs?|sequence/, "packet sequence number (PSN)",
		"24 bits in each BTH. The sender adds one for each packet; each direction counts for itself. The receiver accepts only " +
		"the next number, so it notices a gap. Each end chooses the first one that it wants to receive, and sends it in its REQ " +
		"or REP. The responses to a READ carry PSNs of the reader's direction: a READ takes as many as it has responses. This page writes PSNs in decimal as " +
		"Wireshark does, with the hexadecimal number on hover."],
	msn: [/MSN|messages? on this connection/, "message sequence number (MSN)",
		"24 bits in each AETH: how many messages the responder has completed on this connection."],
	message: [/messages?/, "message",
		"All packets of one operation in one direction: Only, or First, some Middle, Last. Each has at most one path MTU of data."],
	ack: [/acknowledg(?:e|ment|ments)|ACK/, "acknowledgment (ACK)",
		"A packet that the receiving device sends when it has received this PSN and all earlier ones. One ACK may acknowledge " +
		"many packets. The sender requests it with a bit of the BTH, usually in the last packet of a message. The device sends " +
		"it before any program has seen the data."],
	nak: [/NAKs?|refuses|refused/, "negative acknowledgment (NAK)",
		"An AETH with the reason of a refusal. PSN sequence error: a packet is missing, send again from this PSN. Remote access error: rkey, " +
		"protection domain, range or access do not allow the request. Invalid request, remote operational error: the device cannot " +
		"execute the request. All but the first move both queue pairs to ERR."],
	rnr: [/RNR|receiver not ready/, "receiver not ready (RNR)",
		"A NAK that means: no receive is posted, try again after this time. The sender's device repeats the message by itself, at " +
		"most rnr_retry times; 7 means without limit."],
	retry: [/sent again|retransmi\w+|retries|timeout/, "retransmission",
		"The sender keeps a message until it is acknowledged. It sends again from the PSN that a NAK names, or from the oldest one " +
		"without an acknowledgment when its timeout is over (4.096 µs times a power of two: 2¹⁷ makes 537 ms). After retry_cnt " +
		"timeouts in a row the queue pair goes to ERR; for rxe, 7 means without limit."],
	rkey: [/rkeys?|keys?/, "rkey",
		"The remote key of registered memory, 32 bits. The owner of the memory sends it to a peer. The peer puts it into the RETH or " +
		"AtomicETH of a request, and the owner's device checks that it is valid, belongs to the queue pair's protection domain, covers " +
		"the range and allows the access."],
	lkey: [/lkeys?/, "lkey", "The local key of registered memory: a program names it in its own work requests. It is never on the wire."],
	mr: [/memory region|registered|registration|MRs?/, "memory region (MR)",
		"Memory that its owner has registered with a device: pinned, with a list of its pages, a range, an access and two keys."],
	capability: [/capability|capabilities/, "capability",
		"Address, rkey and length of remote memory. The target puts it into the private data of its REP; without it a client can " +
		"only SEND."],
	device: [/devices?|rxe|SoftRoCE/, "RDMA device",
		"The device that moves the data, usually a network adapter. rxe (SoftRoCE) is a driver that does this work on the " +
		"machine's own processor: for each packet it copies the data, computes a checksum and runs the kernel's network code. So " +
		"with it \"no program runs at the target\" is true, \"the processor is idle\" is not."],
	cm: [/connection managers?|rdma_cm(?: id)?|iw_cm|resolves? the address|address resolved|route resolved|(?:dis)?connected|CM|REQ|REP|RTU|DREQ|DREP|REJ|ConnectRequest|ConnectReply|ReadyToUse/, "connection manager (CM)",
		"It exchanges datagrams from QP 1 to QP 1. REQ, REP and RTU (ConnectRequest, ConnectReply, ReadyToUse in Wireshark) " +
		"set up a connection, REJ rejects one, DREQ and DREP close it. rdma_cm is the kernel's interface to it with IP addresses. " +
		"iWARP uses TCP and two frames of MPA instead; iw_cm is the part of the kernel between rdma_cm and the device."],
	bth: [/BTH/, "base transport header (BTH)", "12 bytes in each RoCE packet: operation, receiver's queue pair, PSN, a bit that requests an acknowledgment."],
	reth: [/RETH/, "RDMA extended transport header (RETH)",
		"16 bytes in the first packet of a WRITE and in a READ request: remote address, rkey, length of the whole message."],
	aeth: [/AETH/, "acknowledge extended transport header (AETH)",
		"4 bytes in an acknowledgment and in the first and last response to a READ: a syndrome (ACK, RNR NAK, NAK) and the MSN."],
	imm: [/immediates?|ImmDt|WRITE_WITH_IMM/, "immediate, WRITE_WITH_IMM",
		"32 bits in the last packet (ImmDt) of a WRITE_WITH_IMM or SEND_WITH_IMM, which the receiver finds in its completion. On " +
		"the wire the packet is called WRITE Last with Immediate, in Wireshark RDMA Write Last Immediate. The verbs call the " +
		"work request RDMA_WRITE_WITH_IMM; the sender's completion has the opcode of a plain RDMA_WRITE."],
	onesided: [/one-sided|WRITEs?|READs?/, "one-sided operation",
		"WRITE, READ and atomic operations: the initiator names the remote memory. At the other end no program takes part or is " +
		"notified."],
	twosided: [/two-sided|SENDs?/, "two-sided operation",
		"SEND: it names no remote memory. The receiver's program posts a receive before it arrives and finds a completion afterwards."],
	mtu: [/path MTU|MTU/, "path MTU",
		"The largest number of data bytes in a packet: 256, 512, 1024, 2048 or 4096. An Ethernet MTU of 1500 leaves 1024."],
	icrc: [/ICRC/, "invariant CRC (ICRC)", "4 bytes at the end, computed over all bytes that no router changes. A device drops a packet with a wrong ICRC silently."],
	roce: [/RoCE(?: v2)?/, "RoCE v2",
		"RDMA over Converged Ethernet: InfiniBand's transport in UDP, destination port 4791. iWARP is another transport: the same verbs " +
		"over TCP, with MPA, DDP and RDMAP in place of BTH and PSN."],
	rc: [/reliable connection|RC/, "reliable connection (RC)",
		"Two connected queue pairs whose devices repeat lost packets and keep the order. UC: connected, without repetition. UD: datagrams."],
	request: [/takes the request|rep(?:ly|lies)/, "request and reply",
		"rtgt's own messages, each in a SEND: the client requests something, for example a checksum of the target's memory, and the " +
		"target replies with the same tag. (REQ and REP are something else: messages of the connection manager.)"],
	connection: [/connecting -> \w+|live -> \w+/, "state of a connection in the target",
		"connecting: the REP was sent. live: the RTU or the first message has arrived. closing: the target frees what belongs to it."],
	client: [/clients?/, "client", "The end that requests the connection."],
	target: [/targets?/, "target",
		"The end that accepts the connection. This page always calls it target; " +
		"some captures and tools call the same end server."],
	visible: [/visible/, "when data is visible, when a buffer is free",
		"When a WRITE or SEND has completed, its buffer may be used again. The remote program may rely on the data of a WRITE when " +
		"it finds the completion of a receive that was consumed after it (SEND, WRITE_WITH_IMM), not before. The data of a READ is " +
		"there when the READ completes."],
};

/* What each processor does, by operation; and what is on the wire between */
const work = {
	WRITE: ["The program posts a work request and later finds the completion.", "The data, in packets; one acknowledgment.",
		"No program runs. The device checks rkey and range and stores the data."],
	READ: ["The program posts a work request. Its device stores the responses and then completes it.", "One request; the data comes back in responses.",
		"No program runs. The device checks rkey and range and sends the data."],
	WRITE_WITH_IMM: ["The program posts a work request and later finds the completion.", "The data; the last packet also carries the immediate.",
		"The device stores the data and consumes a posted receive; the target finds a completion with the immediate."],
	SEND: ["The program posts a work request and later finds the completion.", "The message, without any address or key; one acknowledgment.",
		"The device puts the message into the next posted receive; the receiver finds a completion and reads it."],
	connect: ["The program resolves the address, makes a queue pair, and takes it to RTS when the REP has come.", "REQ, REP, RTU: datagrams from QP 1 to QP 1.",
		"The target makes a queue pair, takes it to RTS, and sends the capability in its REP."],
	disconnect: ["The program moves its queue pair to ERR and destroys it.", "DREQ, DREP.", "The target closes the connection and destroys its queue pair."],
	atomic: ["The program posts a work request. The old value arrives with the response.", "One request, one response of 8 bytes.",
		"No program runs. The device changes the 8 bytes in one step."],
	ATOMIC_WRITE: ["The program posts a work request and later finds the completion.", "One request with 8 bytes, one response.",
		"No program runs. The device stores the 8 bytes in one step."],
	FLUSH: ["The program posts a work request and later finds the completion.", "One request, one response.",
		"No program runs. The device makes earlier writes visible or persistent, then responds."],
	refused: ["The program posts a work request and finds that it completes with an error.", "The request, and a NAK.",
		"The device refuses the request and stores nothing. The target learns that its queue pair failed, and disconnects."],
};

/*
 * id, name, which step of the run, section of Documentation/course.rst, explanation; steps are
 * made in packets.js
 */
const chapters = [
	["connect", "Connect", s => s.kind === "connect", "Connecting: REQ, REP, RTU",
		"Three datagrams of the connection manager. The REQ carries the client's queue pair number and the first PSN that " +
		"the target must use. The REP carries the target's queue pair number, the first PSN that the client must use and, in its " +
		"private data, the capability. The RTU says that the client is ready. The client's queue pair is in INIT when it sends " +
		"the REQ, and in RTS before it sends the RTU. The target takes its own through INIT and RTR to RTS before it sends the REP. " +
		"Making a queue pair and registering memory send no packet."],
	["write", "WRITE", s => s.op === "WRITE" && s.good && s.m.needed > 1, "One-sided: WRITE and its ACK",
		"The client's device cuts the data into packets of at most one path MTU: First, Middle, Middle, Last. Only the first has a " +
		"RETH, with the length of the whole message. The target's device checks it and stores each packet as it arrives. The last " +
		"packet requests an acknowledgment. At the target no program runs or is notified; see when data is visible."],
	["read", "READ", s => s.op === "READ" && s.good && s.m.needed > 2, "One-sided: READ",
		"One request with a RETH. The target's device reads its memory and sends the data in responses, First, Middle, Middle, Last. " +
		"They carry the PSN of the request and the ones after it; the next request takes the PSN after these. The responses are the " +
		"acknowledgment. No packet says where the client stores the data: only the client's device knows it."],
	["write-imm", "WRITE_WITH_IMM", s => s.op === "WRITE_WITH_IMM" && s.good, "Two-sided: SEND, WRITE_WITH_IMM",
		"A WRITE whose last packet carries 32 additional bits. It consumes a receive that the target has posted, so the target finds a " +
		"completion and knows that the data has arrived. This target then replies with a SEND of its own, with the PSNs of " +
		"its own direction."],
	["send", "SEND", s => s.op === "SEND" && s.good && s.m.from === "client", "Two-sided: SEND, WRITE_WITH_IMM",
		"A SEND names no address and no rkey: the data goes into the receive that the target has posted first. The target's device " +
		"acknowledges it immediately. The target's program then finds the completion, reads the request and replies with a SEND of its own."],
	["lost", "A packet is lost", s => s.m && s.m.retransmitted && !s.m.rnr, "A lost packet",
		"The client's device sent all packets, and one of them did not arrive: in the demo the target's kernel drops it (tc). The device " +
		"of the target sees a PSN that is not the next one. It stores nothing of that packet and answers with a NAK, PSN sequence " +
		"error, which names the PSN that it expects. The client's device sends all packets from that PSN on again. No program " +
		"notices; the counters out_of_seq_request (target), rcvd_seq_err and completer_retry_err (client) do. If the last packet " +
		"of a message is lost, there is no later one to show the gap: then the client's device waits for its timeout."],
	["rnr", "Receiver not ready", s => s.m && s.m.rnr, "A receiver that is not ready: RNR",
		"The message arrives and no receive is posted. The target's device drops the message and answers with an RNR NAK that names a " +
		"time. The client's device waits at least as long (rxe rounds up to ticks of the kernel's clock) and repeats the message with " +
		"the same PSN until a receive is posted. No program notices; send_rnr_err (target) and rcvd_rnr_err (client) count it. A WRITE " +
		"consumes no receive, so it never gets an RNR NAK."],
	["forged", "A forged rkey", s => s.m && s.m.grant === "no such key was advertised", "A refused access: NAK",
		"The client uses an rkey that the target never sent to it. The target's device knows no memory with that key: it stores nothing and " +
		"answers with a NAK, remote access error. The client's device does not repeat the request. Both devices move their queue pairs " +
		"to ERR, the work request completes with that error, and the target disconnects. Other connections are not affected."],
	["beyond", "A WRITE beyond the end", s => s.m && s.m.grant === "that is not all inside the memory of this key", "A refused access: NAK",
		"The rkey is right, but the range ends one byte after the end of the memory. The device checks the length of the whole message before it " +
		"stores the first byte, so not even the bytes inside are changed. NAK, remote access error, as with a forged rkey."],
	["refused", "Refused", s => s.m && /^nak/.test(s.m.status) && !/advertised|inside the memory/.test(s.m.grant), "A refused access: NAK",
		"The target's device refuses the request with a NAK that names the reason. Both queue pairs go to ERR."],
	["atomic", "Atomic operation", s => s.kind === "atomic", "One-sided: READ",
		"One request with address, rkey and operands; the response carries the 8 bytes that were there before. The device of the " +
		"target reads and changes them in one step."],
	["disconnect", "Disconnect", s => s.kind === "disconnect", "Ending: DREQ, DREP",
		"The client moves its queue pair to ERR, so that what is still posted completes (status flushed), and sends a DREQ. The target " +
		"answers with a DREP. Both destroy their queue pairs. After a NAK the target sends the DREQ."],
];

/* The same over iWARP: where it differs */
const iwarpWork = {
	WRITE: ["The program posts a work request; it is complete when TCP has the data.", "The data, in segments; each has STag and address.",
		work.WRITE[2]],
	READ: [work.READ[0], "One request, which names both memories; the data comes back in responses.", work.READ[2]],
	SEND: ["The program posts a work request; it is complete when TCP has the message.", "The message, without any address or key.", work.SEND[2]],
	connect: ["The program resolves the address and makes a queue pair, which is in RTS when the reply has come.", "A TCP connection, then an MPA request and its reply.",
		"The target makes a queue pair, which gets the TCP connection."],
	refused: ["The program posts a work request, which completes when TCP has the data. Then its queue pair fails.", "The request; a Terminate, which names the reason; TCP's FIN.",
		"The device refuses the request and stores nothing. The target learns that the connection is closed."],
	disconnect: ["The program requests the state CLOSING; its device closes the TCP connection.", "TCP's FIN in each direction.",
		"The device reports that TCP is closed. The target closes the connection and destroys its queue pair."],
};
const iwarpChapters = {
	connect: "First TCP connects. Then an MPA request and its reply carry the private data and turn the stream of bytes into frames, FPDUs. " +
		"The reply says how large the region is, and has no rkey: a queue pair of iWARP can register memory only when it is connected. " +
		"So the client's first message requests the rkey (EXTENTS).",
	write: "The client's device cuts the data into FPDUs that fit into segments of TCP. Each carries the rkey (STag) and the address that its data go to, " +
		"so each can be stored when it arrives. The last one has the last flag. The target's device sends no reply: TCP acknowledges bytes, and the work request " +
		"completes when TCP has the data. Only a later READ, or a message that the target answers, shows that the data has arrived.",
	read: "One request on queue 1. It names the memory that is read and the memory that the data go to, so the client sends the target " +
		"an STag of its own memory. The responses carry that STag, so the client's device can store them without looking up the request.",
	send: "A SEND names no STag: it has the number of a queue (0) and of a message, and the data go into the receive that the target has posted " +
		"first. If no receive is posted, the connection fails, because iWARP has no RNR.",
	disconnect: "MPA and RDMAP have no message that closes a connection: TCP closes it. The client requests the state CLOSING, and its device sends a FIN. The " +
		"target's device reports to iw_cm that TCP is closed, and the target destroys its queue pair. The receives that were still posted " +
		"there complete with the status flushed.",
	forged: "The client uses an STag that the target never sent to it. The client's WRITE completes before the target's device has seen it. " +
		"The target's device stores nothing, sends a Terminate that names the reason, and closes the connection.",
	beyond: "The STag is right, but the range ends one byte after the end of the memory. The target's device answers with a Terminate and " +
		"closes the connection. It may have stored earlier segments.",
};

/* What a header is for */
const purpose = {
	Ethernet: "the adapters that send and receive on this wire; type 0x0800 is IPv4",
	ARP: "which adapter has this IP address?",
	IPv4: "the machines that send and receive; RoCE v2 is an ordinary datagram and can be routed",
	IPv6: "the machines that send and receive; RoCE v2 is an ordinary datagram and can be routed",
	UDP: "destination port 4791 is RoCE v2; the source port only spreads flows over paths",
	TCP: "a reliable stream of bytes",
	BTH: "base transport header, in each RoCE packet: which operation, which queue pair, which packet sequence number",
	DETH: "datagrams only: the sender's queue pair, and a queue key, which must be that of the receiver's queue pair",
	RETH: "the remote address, the rkey, and how many bytes the whole message has",
	AETH: "the response: ACK, RNR NAK or NAK, and the MSN. No address, no key",
	AtomicETH: "the address, the rkey, and the operands",
	AtomicAckETH: "the 8 bytes that were there before",
	ImmDt: "the immediate: 32 bits that the receiver's completion carries",
	IETH: "the rkey that the receiver's device must invalidate",
	MAD: "management datagram: the frame of the connection manager's messages",
	CM: "connection manager: queue pair number, first PSN, timeouts, path MTU",
	"RDMA IP CM": "rdma_cm: the IP addresses of both ends, and the client's port",
	"private data": "bytes of the application in a message of the connection manager",
	"rtgt REQ": "rtgt: the protocol version of the client",
	"rtgt REP": "rtgt: the capability, that is address, rkey and length of the memory",
	capability: "address, rkey and length of the target's memory",
	payload: "the data itself",
	padding: "fills the payload up to a multiple of four bytes",
	ICRC: "a checksum of all bytes that no router changes",
	MPA: "marks the frames in a TCP stream; the frames that request and accept a connection carry private data",
	DDP: "places the data: the memory, and the position in it",
	RDMAP: "which operation",
};

/* Counters of rdma statistic (rxe) and of the target (debugfs, rtgt show), with what makes them count */
const counterWords = {
	sent_pkts: "packets that this device sent",
	rcvd_pkts: "packets that this device received and accepted; no counter counts a packet with a wrong ICRC or for an unknown queue pair",
	duplicate_request: "as responder: requests with a PSN that it has already executed; it responds again",
	out_of_seq_request: "as responder: gaps in the PSNs; it counts only the request that it answers with a NAK, PSN sequence error",
	rcvd_rnr_err: "as requester: RNR NAKs that it received",
	send_rnr_err: "as responder: RNR NAKs that it sent, because no receive was posted",
	rcvd_seq_err: "as requester: NAKs with PSN sequence error that it received",
	ack_deferred: "as requester: responses and acknowledgments that it queued for its completer; not an error, in spite of the name",
	retry_exceeded_err: "as requester: no acknowledgment after all retries; the queue pair went to ERR",
	retry_rnr_exceeded_err: "as requester: more than rnr_retry RNR NAKs for one message; the queue pair went to ERR",
	completer_retry_err: "as requester: how often it went back and sent again, after a NAK with PSN sequence error, a timeout, or a missing response to a READ; not after an RNR NAK",
	send_err: "packets that the network interface did not take",
	link_downed: "how often the port went down",
	rdma_sends: "as requester: SENDs that completed, including the messages of the connection manager",
	rdma_recvs: "as responder: receives that completed, including the messages of the connection manager",
	conns_accepted: "connections that the target began to accept",
	conns_established: "connections whose RTU, or first message, arrived",
	conns_closed: "connections that the target closed",
	conns_abandoned: "connections whose client gave up before the target had accepted them",
	rejects_version: "REQs it rejected: another version of the protocol",
	rejects_size: "REQs it rejected: private data of a wrong size",
	rejects_full: "REQs it rejected: one more than max_conns, peer_conns_max or backlog allow",
	rejects_resources: "REQs it rejected: no memory or queue pair",
	rejects_device: "REQs it rejected: the device cannot serve this port",
	rejects_ask: "REQs it rejected: a client has to request the capability after it has connected, and this client does not",
	rejects_stopping: "REQs it rejected: the port is being disabled",
	recv_msgs: "SENDs that arrived; no counter of the target counts WRITEs and READs, because the target is not notified of them",
	recv_bytes: "bytes of these SENDs",
	imms: "immediates that arrived",
	imm_bytes: "bytes that were written with them",
	keepalives: "empty messages to silent peers, which their devices answer (keepalive_ms)",
	asks: "requests for capabilities, from clients that got none with the REP",
	replies: "replies that it posted",
	malformed: "messages that it answered with a status other than OK, or dropped",
	over_depth: "connections it closed: with a shared receive queue, the client had more requests outstanding than the REP allows",
	qp_errors: "connections whose queue pair the device moved to ERR, usually because it refused an access",
	recv_flushed: "receives that were still posted when their connection closed",
	send_errors: "replies, and READs and WRITEs of the target, that did not complete with success",
	send_flushed: "replies that were not acknowledged yet when their connection closed",
	registrations: "memory regions that it registered",
	invalidations: "rkeys that a peer invalidated (SEND with invalidate)",
	rotations: "rkeys that it replaced by new ones",
};
