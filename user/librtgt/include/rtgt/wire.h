/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What a target sent, and in words why it cannot be used.  See wire.c.
 */
#ifndef RTGT_WIRE_H
#define RTGT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rtgt/log.h>
#include <rtgt/proto.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rtgt_refusal - what the target said in its REJ
 * @typed: a struct rtgt_rej came; otherwise the rest is 0
 * @reason: enum rtgt_rej_reason
 * @arg: as the reason says
 */
struct rtgt_refusal {
	bool typed;
	uint16_t reason;
	uint32_t arg;
};

int rtgt_wire_rep(struct rtgt_rep_info *rep, const void *data, size_t len, struct rtgt_err *err);
void rtgt_wire_rej(struct rtgt_refusal *refusal, const void *data, size_t len);
int rtgt_wire_reply(struct rtgt_reply *reply, const void *data, size_t len, struct rtgt_err *err);
int rtgt_wire_match(const struct rtgt_reply *reply, enum rtgt_op op, uint32_t tag, uint32_t arg,
		    struct rtgt_err *err);

const char *rtgt_status_str(uint16_t status);
int rtgt_refusal_str(const struct rtgt_refusal *refusal, char *buf, size_t size);
int rtgt_access_str(uint32_t access, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* RTGT_WIRE_H */
