/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What values mean, for the table of fields; NULL if there is nothing to say.
 */
#ifndef RTGT_PACKET_WORDS_H
#define RTGT_PACKET_WORDS_H

#include <stdint.h>

const char *words_ethertype(uint64_t value);
const char *words_protocol(uint64_t value);
const char *words_opcode(uint64_t value);
const char *words_aeth(uint64_t value);
const char *words_credits(uint64_t value);
const char *words_rnr(uint64_t value);
const char *words_nak(uint64_t value);
const char *words_class(uint64_t value);
const char *words_attribute(uint64_t value);
const char *words_mtu(uint64_t value);
const char *words_service(uint64_t value);
const char *words_timeout(uint64_t value);
const char *words_retry(uint64_t value);
const char *words_rejected(uint64_t value);
const char *words_mraed(uint64_t value);
const char *words_reason(uint64_t value);
const char *words_sidr(uint64_t value);
const char *words_rtgt_reason(uint64_t value);
const char *words_features(uint64_t value);
const char *words_access(uint64_t value);
const char *words_rdmap(uint64_t value);
const char *words_layer(uint64_t value);
const char *words_icrc(uint64_t value);
const char *words_fault(uint64_t value);
const char *words_kind(uint64_t value);
const char *words_flush(uint64_t value);
const char *words_placement(uint64_t value);

#endif /* RTGT_PACKET_WORDS_H */
