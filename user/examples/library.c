// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The smallest program with librtgt: WRITE bytes into region 0 of a target, let the target compute
 * their CRC-32, READ them back.	library HOST [PORT [SOURCE]]
 */
#include <stdio.h>
#include <rtgt/client.h>

#define LEN	4096

int main(int argc, char **argv)
{
	struct rtgt_client_param param = { .cm = { .service = "7471", .timeout_ms = 5000 } };
	struct rtgt_rdma op = { .opcode = IBV_WR_RDMA_WRITE, .len = LEN };
	struct rtgt_client client = { };
	struct rtgt_mr mr = { };
	struct rtgt_err err;
	struct rtgt_diff diff;
	struct rtgt_took took;
	uint32_t crc = 0;
	int ret;

	param.cm.host = argc > 1 ? argv[1] : "localhost";
	param.cm.service = argc > 2 ? argv[2] : param.cm.service;
	param.cm.source = argc > 3 ? argv[3] : NULL;
	ret = rtgt_client_open(&client, &param, &err);
	if (!ret)
		ret = rtgt_mr_create(&mr, client.qp.pd, "data", LEN, IBV_ACCESS_LOCAL_WRITE, NULL,
				     &err);
	if (!ret) {
		rtgt_pattern_fill(mr.buf, LEN, 1);
		op.mr = &mr;
		ret = rtgt_client_rdma(&client, &op, &took, &err);
	}
	if (!ret)
		ret = rtgt_client_checksum(&client, 0, 0, LEN, &crc, &err);
	if (!ret) {
		rtgt_pattern_invert(mr.buf, LEN, 1);
		op.opcode = IBV_WR_RDMA_READ;
		ret = rtgt_client_rdma(&client, &op, &took, &err);
	}
	if (ret)
		fprintf(stderr, "library: %s\n", err.text);
	else if (crc != rtgt_crc32(0, mr.buf, LEN) || rtgt_pattern_verify(mr.buf, LEN, 1, &diff))
		ret = fprintf(stderr, "library: the target's bytes are not ours\n");
	else
		printf("%d bytes written and read back, CRC-32 0x%08x\n", LEN, crc);
	/* in any order of failures: what was not made is zero */
	rtgt_mr_destroy(&mr);
	rtgt_client_close(&client);
	return ret ? 1 : 0;
}
