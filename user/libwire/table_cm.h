/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The connection manager's part of the table of fields, for table.c: management
 * datagrams, the CM's messages, rdma_cm's header and what rtgt says in private data.
 * tshark knows no field of MRA, SIDR_REQ, SIDR_REP, LAP and APR.
 */
static const struct pkt_field mad[] = {
	F("infiniband.mad.baseversion", "version", 0, 8, HEX),
	F("infiniband.mad.mgmtclass", "class", 8, 8, HEX, words_class),
	F("infiniband.mad.classversion", "version of the class", 16, 8, HEX),
	F("infiniband.mad.method", "method", 24, 8, HEX),
	F("infiniband.mad.status", "status", 32, 16, HEX),
	F("infiniband.mad.classspecific", "for the class", 48, 16, HEX),
	F("infiniband.mad.transactionid", "transaction: the same in all messages of one", 64, 64, HEX),
	F("infiniband.mad.attributeid", "message", 128, 16, HEX, words_attribute),
	F("infiniband.mad.attributemodifier", "modifier", 160, 32, HEX),
};

static const struct pkt_field service[] = {
	F("infiniband.cm.req.serviceid.prefix", "a service of rdma_cm", 0, 40, BYTES),
	F("infiniband.cm.req.serviceid.protocol", "port space", 40, 8, HEX, words_protocol),
	F("infiniband.cm.req.serviceid.dport", "port", 48, 16, HEX),
};

/* A path of a REQ */
#define PATH(name, label, at, gid) \
	F(name "_locallid", label "local LID", at, 16, DEC), \
	F(name "_remotelid", label "remote LID", at + 16, 16, DEC), \
	gid(name, label, at), \
	F(name "_flowlabel", label "flow label", at + 288, 20, HEX32), \
	F(name "_reserved0", label "reserved", at + 308, 6, HEX32), \
	F(name "_pktrate", label "packet rate", at + 314, 6, HEX32), \
	F(name "_tfcclass", label "traffic class", at + 320, 8, HEX), \
	F(name "_hoplim", label "hop limit", at + 328, 8, HEX), \
	F(name "_sl", label "service level", at + 336, 4, HEX), \
	F(name "_subnetlocal", label "within the subnet", at + 340, 1, HEX), \
	F(name "_reserved1", label "reserved", at + 341, 3, HEX), \
	F(name "_localacktout", label "patience of the sender's card", at + 344, 5, HEX, words_timeout)
#define PRIMARY_GIDS(name, label, at) \
	F(name "_localgid", label "local GID", at + 32, 128, GID6), \
	F(name "_localgid_ipv4", label "local GID", at + 32, 128, GID4), \
	F(name "_remotegid", label "remote GID", at + 160, 128, GID6), \
	F(name "_remotegid_ipv4", label "remote GID", at + 160, 128, GID4)
#define OTHER_GIDS(name, label, at) \
	F(name "_localgid", label "local GID", at + 32, 128, BYTES), \
	F(name "_remotegid", label "remote GID", at + 160, 128, BYTES)

static const struct pkt_field cm_req[] = {
	F("infiniband.cm.req", "sender's number of the connection", 0, 32, HEX),
	F("infiniband.cm.req.serviceid", "service asked for", 64, 64, HEX),
	F("infiniband.cm.req.localcaguid", "sender's card", 128, 64, HEX),
	F("infiniband.cm.req.localqkey", "queue key", 224, 32, HEX),
	F("infiniband.cm.req.localqpn", "sender's queue pair", 256, 24, HEX),
	F("infiniband.cm.req.responderres", "READs and atomics the sender answers at a time", 280, 8, HEX),
	F("infiniband.cm.req.localeecn", "end-to-end context", 288, 24, HEX),
	F("infiniband.cm.req.initdepth", "READs and atomics the sender asks for at a time", 312, 8, HEX),
	F("infiniband.cm.req.remoteeecn", "remote end-to-end context", 320, 24, HEX),
	F("infiniband.cm.req.remoteresptout", "how long the receiver may take", 344, 5, HEX, words_timeout),
	F("infiniband.cm.req.transpsvctype", "transport", 349, 2, HEX, words_service),
	F("infiniband.cm.req.e2eflowctrl", "flow control by credits", 351, 1, HEX),
	F("infiniband.cm.req.startpsn", "first packet sequence number", 352, 24, HEX),
	F("infiniband.cm.req.localresptout", "how long the sender may take", 376, 5, HEX, words_timeout),
	F("infiniband.cm.req.retrcount", "retries without an answer", 381, 3, HEX),
	F("infiniband.cm.req.pkey", "partition key", 384, 16, HEX),
	F("infiniband.cm.req.pppmtu", "path MTU", 400, 4, HEX, words_mtu),
	F("infiniband.cm.req.rdcexist", "reliable datagram channel exists", 404, 1, HEX),
	F("infiniband.cm.req.rnrretrcount", "retries when no receive is posted", 405, 3, HEX, words_retry),
	F("infiniband.cm.req.maxcmretr", "retries of the CM", 408, 4, HEX),
	F("infiniband.cm.req.srq", "shared receive queue", 412, 1, HEX),
	F("infiniband.cm.req.ext_transport", "extended transport", 413, 3, HEX),
	PATH("infiniband.cm.req.prim", "", 416, PRIMARY_GIDS),
	F("infiniband.cm.req.prim_reserved2", "reserved", 765, 3, HEX),
	PATH("infiniband.cm.req.alt", "alternate path's ", 768, OTHER_GIDS),
};

static const struct pkt_field cm_mra[] = {
	F("rtgt.cm.mra.localcommid", "sender's number of the connection", 0, 32, HEX),
	F("rtgt.cm.mra.remotecommid", "receiver's number of the connection", 32, 32, HEX),
	F("rtgt.cm.mra.message", "what was received and takes time", 64, 2, HEX, words_mraed),
	F("rtgt.cm.mra.timeout", "how long it may take", 72, 5, HEX, words_timeout),
};

static const struct pkt_field cm_rej[] = {
	F("infiniband.cm.rej.localcommid", "sender's number of the connection", 0, 32, HEX),
	F("infiniband.cm.rej.remotecommid", "receiver's number of the connection", 32, 32, HEX),
	F("infiniband.cm.rej.msgrej", "what is rejected", 64, 2, HEX, words_rejected),
	F("infiniband.cm.rej.reserved0", "reserved", 66, 6, HEX),
	F("infiniband.cm.rej.rejinfolen", "bytes of information", 72, 7, HEX),
	F("infiniband.cm.rej.reserved1", "reserved", 79, 1, HEX),
	F("infiniband.cm.rej.reason", "why", 80, 16, HEX, words_reason),
	F("infiniband.cm.rej.ari", "information", 96, 576, BYTES),
};

static const struct pkt_field cm_rep[] = {
	F("infiniband.cm.rep", "sender's number of the connection", 0, 32, HEX),
	F("infiniband.cm.rep.remotecommid", "receiver's number of the connection", 32, 32, HEX),
	F("infiniband.cm.rep.localqkey", "queue key", 64, 32, HEX),
	F("infiniband.cm.rep.localqpn", "sender's queue pair", 96, 24, HEX),
	F("infiniband.cm.rep.localeecn", "end-to-end context", 128, 24, HEX),
	F("infiniband.cm.rep.startpsn", "first packet sequence number", 160, 24, HEX),
	F("infiniband.cm.rep.respres", "READs and atomics the sender answers at a time", 192, 8, HEX),
	F("infiniband.cm.rep.initdepth", "READs and atomics the sender asks for at a time", 200, 8, HEX),
	F("infiniband.cm.rep.tgtackdelay", "how long an acknowledgment may take", 208, 5, HEX, words_timeout),
	F("infiniband.cm.rep.failoveracc", "failover", 213, 2, HEX),
	F("infiniband.cm.rep.e2eflowctrl", "flow control by credits", 215, 1, HEX),
	F("infiniband.cm.rep.rnrretrcount", "retries when no receive is posted", 216, 3, HEX, words_retry),
	F("infiniband.cm.rep.srq", "shared receive queue", 219, 1, HEX),
	F("infiniband.cm.rep.reserved", "reserved", 220, 4, HEX),
	F("infiniband.cm.rep.localcaguid", "sender's card", 224, 64, HEX),
};

static const struct pkt_field cm_rtu[] = {
	F("infiniband.cm.rtu.localcommid", "sender's number of the connection", 0, 32, HEX),
	F("infiniband.cm.rtu.remotecommid", "receiver's number of the connection", 32, 32, HEX),
};

static const struct pkt_field cm_dreq[] = {
	F("infiniband.cm.dreq.localcommid", "sender's number of the connection", 0, 32, HEX),
	F("infiniband.cm.dreq.remotecommid", "receiver's number of the connection", 32, 32, HEX),
	F("infiniband.cm.req.remoteqpneecn", "receiver's queue pair", 64, 24, HEX),
};

static const struct pkt_field cm_drep[] = {
	F("infiniband.cm.drsp.localcommid", "sender's number of the connection", 0, 32, HEX),
	F("infiniband.cm.drsp.remotecommid", "receiver's number of the connection", 32, 32, HEX),
};

static const struct pkt_field cm_sidr_req[] = {
	F("rtgt.cm.sidr_req.requestid", "number of the request", 0, 32, HEX),
	F("rtgt.cm.sidr_req.pkey", "partition key", 32, 16, HEX),
	F("rtgt.cm.sidr_req.serviceid", "service asked for", 64, 64, HEX),
};

static const struct pkt_field cm_sidr_rep[] = {
	F("rtgt.cm.sidr_rep.requestid", "number of the request", 0, 32, HEX),
	F("rtgt.cm.sidr_rep.status", "granted or not", 32, 8, HEX, words_sidr),
	F("rtgt.cm.sidr_rep.infolen", "bytes of information", 40, 8, DEC),
	F("rtgt.cm.sidr_rep.qpn", "queue pair of the service", 64, 24, HEX),
	F("rtgt.cm.sidr_rep.serviceid", "service", 96, 64, HEX),
	F("rtgt.cm.sidr_rep.qkey", "queue key of the service", 160, 32, HEX),
	F("rtgt.cm.sidr_rep.info", "information", 192, 576, BYTES),
};

static const struct pkt_field cm_lap[] = {
	F("rtgt.cm.lap.localcommid", "sender's number of the connection", 0, 32, HEX),
	F("rtgt.cm.lap.remotecommid", "receiver's number of the connection", 32, 32, HEX),
};

static const struct pkt_field cm_apr[] = {
	F("rtgt.cm.apr.localcommid", "sender's number of the connection", 0, 32, HEX),
	F("rtgt.cm.apr.remotecommid", "receiver's number of the connection", 32, 32, HEX),
	F("rtgt.cm.apr.infolen", "bytes of information", 64, 8, DEC),
	F("rtgt.cm.apr.status", "granted or not", 72, 8, HEX),
};

static const struct pkt_field ip_cm[] = {
	F("infiniband.cm.req.ip_cm.majv", "version", 0, 4, HEX),
	F("infiniband.cm.req.ip_cm.minv", "minor version", 4, 4, HEX),
	F("infiniband.cm.req.ip_cm.ipv", "version of the addresses", 8, 4, HEX),
	F("infiniband.cm.req.ip_cm.reserved", "reserved", 12, 4, HEX),
	F("infiniband.cm.req.ip_cm.sport", "source port", 16, 16, HEX),
};

static const struct pkt_field ip_cm4[] = {
	F("infiniband.cm.req.ip_cm.sip4", "source address", 128, 32, IPV4),
	F("infiniband.cm.req.ip_cm.dip4", "destination address", 256, 32, IPV4),
};

static const struct pkt_field ip_cm6[] = {
	F("infiniband.cm.req.ip_cm.sip6", "source address", 32, 128, IPV6),
	F("infiniband.cm.req.ip_cm.dip6", "destination address", 160, 128, IPV6),
};

#define PRIVATE(array, name) \
	static const struct pkt_field array[] = { F(name, "private data", 0, 0, REST) }

PRIVATE(private_plain, "infiniband.cm.req.private");
PRIVATE(private_req, "infiniband.cm.req.ip_cm.private");
PRIVATE(private_mra, "rtgt.cm.mra.private");
PRIVATE(private_rej, "infiniband.cm.rej.private");
PRIVATE(private_rep, "infiniband.cm.rep.private");
PRIVATE(private_rtu, "infiniband.cm.rtu.private");
PRIVATE(private_dreq, "infiniband.cm.dreq.private");
PRIVATE(private_drep, "infiniband.cm.drsp.private");
PRIVATE(private_sidr_req, "rtgt.cm.sidr_req.private");
PRIVATE(private_sidr_rep, "rtgt.cm.sidr_rep.private");
PRIVATE(private_lap, "rtgt.cm.lap.private");
PRIVATE(private_apr, "rtgt.cm.apr.private");

static const struct pkt_field rtgt_req[] = {
	R("rtgt.req.magic", "\"RTGT\"", rtgt_req, magic, HEX),
	R("rtgt.req.version", "version of the protocol", rtgt_req, version, DEC),
	R("rtgt.req.size", "bytes of this structure", rtgt_req, size, DEC),
	R("rtgt.req.features", "what the initiator wants", rtgt_req, features, HEX),
};

/* A region behind the first */
#define REGION(n) \
	R("rtgt.rep.addr" #n, "region " #n ": address", rtgt_rep, more[n - 1].cap.addr, HEX), \
	R("rtgt.rep.rkey" #n, "region " #n ": key", rtgt_rep, more[n - 1].cap.rkey, HEX), \
	R("rtgt.rep.len" #n, "region " #n ": bytes", rtgt_rep, more[n - 1].cap.len, DEC), \
	R("rtgt.rep.access" #n, "region " #n ": what is allowed", rtgt_rep, more[n - 1].access, HEX, \
	  words_access)

static const struct pkt_field rtgt_rep[] = {
	R("rtgt.rep.addr", "region 0: address to put into a work request", rtgt_rep, cap.addr, HEX),
	R("rtgt.rep.rkey", "region 0: key to put into a work request", rtgt_rep, cap.rkey, HEX),
	R("rtgt.rep.len", "region 0: bytes", rtgt_rep, cap.len, DEC),
	R("rtgt.rep.magic", "\"RTGT\"", rtgt_rep, magic, HEX),
	R("rtgt.rep.version", "version of the protocol", rtgt_rep, version, DEC),
	R("rtgt.rep.size", "bytes of this structure", rtgt_rep, size, DEC),
	R("rtgt.rep.features", "what the target offers", rtgt_rep, features, HEX, words_features),
	R("rtgt.rep.access", "region 0: what is allowed", rtgt_rep, access, HEX, words_access),
	R("rtgt.rep.nr_regions", "regions", rtgt_rep, nr_regions, DEC),
	R("rtgt.rep.recv_depth", "SENDs the target holds at a time", rtgt_rep, recv_depth, DEC),
	R("rtgt.rep.recv_size", "bytes of the largest SEND it takes", rtgt_rep, recv_size, DEC),
	R("rtgt.rep.conn_id", "the target's number of the connection", rtgt_rep, conn_id, DEC),
	REGION(1), REGION(2), REGION(3), REGION(4), REGION(5),
};

static const struct pkt_field rtgt_rej[] = {
	R("rtgt.rej.magic", "\"RTGT\"", rtgt_rej, magic, HEX),
	R("rtgt.rej.version", "version of the protocol", rtgt_rej, version, DEC),
	R("rtgt.rej.size", "bytes of this structure", rtgt_rej, size, DEC),
	R("rtgt.rej.reason", "why", rtgt_rej, reason, DEC, words_rtgt_reason),
	R("rtgt.rej.arg", "with it, as the reason says", rtgt_rej, arg, DEC),
};

static const struct pkt_field cap[] = {
	F("rtgt.cap.addr", "address to put into a work request", 0, 64, HEX),
	F("rtgt.cap.rkey", "key to put into a work request", 64, 32, HEX),
};

/* As long as rping's */
static const struct pkt_field cap16[] = {
	F("rtgt.cap.len", "bytes", 96, 32, DEC),
};

static const struct pkt_field cap20[] = {
	F("rtgt.cap.len", "bytes", 96, 64, DEC),
};

#define MESSAGE(name, array) \
	LAYOUT(CM, PKT_CM_##name, cm_##array), LAYOUT(PRIVATE, PKT_CM_##name, private_##array)

#define CM_LAYOUTS \
	ANY(MAD, mad), ANY(SERVICE, service), LAYOUT(PRIVATE, 0, private_plain), \
	MESSAGE(REQ, req), MESSAGE(MRA, mra), MESSAGE(REJ, rej), MESSAGE(REP, rep), \
	MESSAGE(RTU, rtu), MESSAGE(DREQ, dreq), MESSAGE(DREP, drep), MESSAGE(SIDR_REQ, sidr_req), \
	MESSAGE(SIDR_REP, sidr_rep), MESSAGE(LAP, lap), MESSAGE(APR, apr), \
	ANY(IP_CM, ip_cm), LAYOUT(IP_CM, 4, ip_cm4), LAYOUT(IP_CM, 6, ip_cm6), \
	ANY(RTGT_REQ, rtgt_req), ANY(RTGT_REP, rtgt_rep), ANY(RTGT_REJ, rtgt_rej), \
	ANY(CAP, cap), LAYOUT(CAP, 16, cap16), LAYOUT(CAP, 20, cap20),
