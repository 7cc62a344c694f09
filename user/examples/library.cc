// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * librtgt from C++: a range of bytes goes to the target and comes back, with owners that release
 * what they hold.	library HOST [PORT [SOURCE]]
 *
 *	c++ $(pkg-config --cflags librtgt) -o library library.cc $(pkg-config --libs librtgt)
 */
#include <algorithm>
#include <iostream>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>
#include <rtgt/rtgt.h>

namespace {

struct Release {
	void operator()(rtgt_domain *d) const { rtgt_err e; rtgt_domain_close(d, &e); }
	void operator()(rtgt_buffer *b) const { rtgt_err e; rtgt_buffer_destroy(b, &e); }
	void operator()(rtgt_conn *c) const { rtgt_close(c); }
};

template <class T> using Owner = std::unique_ptr<T, Release>;

/* What a function of the library makes, or its sentence as an exception */
template <class T, class F, class... Args> Owner<T> make(F function, Args... args)
{
	rtgt_err err{};
	T *made = nullptr;

	if (function(&made, args..., &err))
		throw std::runtime_error(err.text);
	return Owner<T>(made);
}

rtgt_done run(rtgt_conn *conn, const rtgt_work &work)
{
	rtgt_err err{};
	rtgt_done done{};

	if (rtgt_submit(conn, &work, &err) || rtgt_wait(conn, &done, 1, 5000, &err) < 0 ||
	    rtgt_done_error(conn, &done, &err))
		throw std::runtime_error(err.text);
	return done;
}

}

int main(int argc, char **argv)
try {
	rtgt_params params{};
	params.size = sizeof(params);
	params.host = argc > 1 ? argv[1] : "localhost";
	params.port = argc > 2 ? argv[2] : nullptr;
	params.source = argc > 3 ? argv[3] : nullptr;

	/* The memory is the program's: it is released last, and the connection first */
	std::vector<unsigned char> bytes(4096), wrote;
	auto domain = make<rtgt_domain>(rtgt_domain_open, &params);
	auto buffer = make<rtgt_buffer>(rtgt_buffer_register, domain.get(),
					static_cast<void *>(bytes.data()), uint64_t(bytes.size()), 0u);
	auto conn = make<rtgt_conn>(rtgt_connect, domain.get(), &params);

	rtgt_work work{};
	work.size = sizeof(work);
	work.buffer = buffer.get();
	work.len = bytes.size();
	std::iota(bytes.begin(), bytes.end(), 3);
	wrote = bytes;
	work.type = RTGT_WORK_WRITE;
	run(conn.get(), work);
	work.type = RTGT_WORK_CHECKSUM;
	if (run(conn.get(), work).crc != rtgt_crc32(0, wrote.data(), wrote.size()))
		throw std::runtime_error("the target's bytes are not ours");
	std::fill(bytes.begin(), bytes.end(), 0x55);
	work.type = RTGT_WORK_READ;
	run(conn.get(), work);
	if (bytes != wrote)
		throw std::runtime_error("the bytes that came back are not ours");
	std::cout << bytes.size() << " bytes written and read back\n";
	return 0;
} catch (const std::exception &e) {
	std::cerr << "library: " << e.what() << '\n';
	return 1;
}
