// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The smallest program with librtgt: WRITE bytes into region 0 of a target, let the target compute
 * their CRC-32, READ them back.	library HOST [PORT [SOURCE]]
 *
 *	cc $(pkg-config --cflags librtgt) -o library library.c $(pkg-config --libs librtgt)
 */
#include <stdio.h>
#include <string.h>
#include <rtgt/rtgt.h>

#define LEN	4096

/* Submits an operation, and waits until it is done */
static int run(struct rtgt_conn *conn, struct rtgt_work *work, struct rtgt_done *done,
	       struct rtgt_err *err)
{
	int ret = rtgt_submit(conn, work, err);

	if (!ret)
		ret = rtgt_wait(conn, done, 1, 5000, err);
	return ret < 0 ? ret : rtgt_done_error(conn, done, err);
}

static int use(struct rtgt_conn *conn, struct rtgt_buffer *buffer, struct rtgt_err *err)
{
	struct rtgt_work work = { .size = sizeof(work), .buffer = buffer, .len = LEN };
	uint8_t *bytes = rtgt_buffer_bytes(buffer), wrote[LEN];
	struct rtgt_done done;
	int ret;

	for (int i = 0; i < LEN; i++)
		wrote[i] = (uint8_t)(i * 7 + i / 256);
	memcpy(bytes, wrote, LEN);
	work.type = RTGT_WORK_WRITE;
	ret = run(conn, &work, &done, err);
	work.type = RTGT_WORK_CHECKSUM;
	if (!ret)
		ret = run(conn, &work, &done, err);
	if (ret)
		return ret;
	if (done.crc != rtgt_crc32(0, wrote, LEN))
		return snprintf(err->text, sizeof(err->text), "the target's bytes are not ours");
	memset(bytes, 0x55, LEN);
	work.type = RTGT_WORK_READ;
	ret = run(conn, &work, &done, err);
	if (!ret && memcmp(bytes, wrote, LEN))
		ret = snprintf(err->text, sizeof(err->text), "the bytes that came back are not ours");
	if (!ret)
		printf("%d bytes written and read back, CRC-32 0x%08x\n", LEN,
		       rtgt_crc32(0, bytes, LEN));
	return ret;
}

int main(int argc, char **argv)
{
	struct rtgt_params params = {
		.size = sizeof(params),
		.host = argc > 1 ? argv[1] : "localhost",
		.port = argc > 2 ? argv[2] : NULL,
		.source = argc > 3 ? argv[3] : NULL,
		.timeout_ms = 5000,
	};
	struct rtgt_domain *domain = NULL;
	struct rtgt_buffer *buffer = NULL;
	struct rtgt_conn *conn = NULL;
	struct rtgt_err err = { 0 }, ignored;
	int ret = rtgt_domain_open(&domain, &params, &err);

	if (!ret)
		ret = rtgt_buffer_create(&buffer, domain, LEN, 0, &err);
	if (!ret)
		ret = rtgt_connect(&conn, domain, &params, &err);
	if (!ret)
		ret = use(conn, buffer, &err);
	if (ret)
		fprintf(stderr, "library: %s\n", err.text);
	/* in this order; what was not made is NULL */
	rtgt_close(conn);
	rtgt_buffer_destroy(buffer, &ignored);
	rtgt_domain_close(domain, &ignored);
	return ret ? 1 : 0;
}
