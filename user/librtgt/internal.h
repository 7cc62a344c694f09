/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What the files of the library share and no other program needs.  From the lowest to the highest:
 * log, names, pattern, wire; mr, cm_fail, cm, qp, post; extents, submit, complete, wait, request,
 * client; and what rtgt.h has: domain, conn, work.
 */
#ifndef RTGT_INTERNAL_H
#define RTGT_INTERNAL_H

#include <rtgt/client.h>

/**
 * struct rtgt_kind - what the operations of one enum rtgt_work_type have in common
 * @name: as a person calls it
 * @opcode: of its work requests
 * @op: of the reply
 * @answered: there is a reply
 * @message: it is a SEND to the target, which does what is to be done
 * @atomic: it has 8 bytes
 * @bytes: it uses a buffer
 * @own: it does something to our own memory: nothing leaves
 * @needs: RTGT_CAN_* that the device must have
 * @access: RTGT_BUFFER_* that the buffer must have
 */
struct rtgt_kind {
	const char *name;
	enum ibv_wr_opcode opcode;
	enum rtgt_op op;
	bool answered, message, atomic, bytes, own;
	unsigned int needs;
	uint32_t access;
};

extern const struct rtgt_kind rtgt_kinds[RTGT_KINDS];

/* What is copied into a message: more costs more than a second entry in the list of its bytes */
#define RTGT_COPY_MAX	256

static inline const struct rtgt_kind *rtgt_kind_of(const struct rtgt_slot *s)
{
	return &rtgt_kinds[s->work.type];
}

/* A message of @all */
static inline struct rtgt_mr rtgt_message_of(const struct rtgt_mr *all, uint32_t stride,
					     unsigned int i)
{
	return (struct rtgt_mr) {
		.mr = all->mr, .buf = all->buf + (size_t)i * stride, .len = stride,
	};
}

/* What of rtgt_client.waits is ready */
enum {
	RTGT_WAITS_COMPLETION,
	RTGT_WAITS_CM,
	RTGT_WAITS_CANCEL,
};

/* cm_fail.c */
int rtgt_cm_fail(struct rtgt_cm *cm, enum rdma_cm_event_type want, int status,
		 struct rtgt_err *err);
int rtgt_cm_fail_event(struct rtgt_cm *cm, const struct rdma_cm_event *ev,
		       enum rdma_cm_event_type want, struct rtgt_err *err);
int rtgt_cm_fail_channel(int code, struct rtgt_err *err);

/* submit.c */
int rtgt_client_submit(struct rtgt_client *c, const struct rtgt_work *work,
		       const struct rtgt_mr *mr, struct rtgt_order *order, struct rtgt_err *err);
int rtgt_slot_post(struct rtgt_client *c, struct rtgt_slot *s, struct rtgt_err *err);
void rtgt_slot_detach(struct rtgt_client *c, struct rtgt_slot *s, struct rtgt_buffer *buffer);
void rtgt_client_break(struct rtgt_client *c, const struct rtgt_err *why);
int rtgt_client_failed(const struct rtgt_client *c, struct rtgt_err *err);
uint64_t rtgt_client_grace(const struct rtgt_client *c);

/* complete.c */
int rtgt_client_arm(struct rtgt_client *c, struct rtgt_err *err);
int rtgt_client_complete(struct rtgt_client *c, struct rtgt_done *done, uint32_t max, bool look,
			 struct rtgt_err *err);
int rtgt_client_take(struct rtgt_client *c, struct rtgt_err *err);
void rtgt_client_look(struct rtgt_client *c);
int rtgt_client_why(const struct rtgt_client *c, const struct rtgt_done *done,
		    struct rtgt_err *err);
void rtgt_slots_drop(struct rtgt_client *c);

/* wait.c */
int rtgt_client_wait(struct rtgt_client *c, struct rtgt_done *done, uint32_t max, int timeout_ms,
		     struct rtgt_err *err);
int rtgt_sent_room(struct rtgt_client *c, struct rtgt_err *err);

/* extents.c */
void rtgt_layout_free(struct rtgt_layout *layout);
uint32_t rtgt_layout_piece(const struct rtgt_client *c, uint32_t region, uint64_t remote,
			   uint32_t len, uint64_t *addr, uint32_t *rkey);

#endif /* RTGT_INTERNAL_H */
