# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# gnuplot -c bench-transports.gnuplot SVG LATENCIES BANDWIDTHS: rxe, siw and TCP beside each
# other (vm/bench figures).
set terminal svg size 960,440 font "sans,12" background "white"
set output ARG1
set datafile separator "\t"
set datafile missing "NaN"
set multiplot layout 1,2
who = "rxe siw TCP"
colors = "#1f4e79 #d4ac0d #b03a2e"
set grid ytics linecolor "#d0d0d0"

set title "Latency (SEND: half of the round trip)"
set xlabel "bytes"
set ylabel "p50, microseconds of virtual time"
set logscale xy
set xrange [40:1700000]
set xtics ("64" 64, "4 KiB" 4096, "64 KiB" 65536, "1 MiB" 1048576)
set key inside top left
ops = "WRITE READ SEND"
plot for [k = 0:2] for [w = 1:3] ARG2 using 1:(column(1 + 3 * k + w)) \
	title word(who, w)." ".word(ops, k + 1) with linespoints \
	linecolor rgb word(colors, w) dashtype k + 1 pointtype (5 + 2 * k) pointsize 0.6

unset logscale
unset xlabel
set title "Bandwidth"
set ylabel "MiB a second of virtual time"
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.85 noborder
set boxwidth 0.95
set xrange [*:*]
set yrange [0:*]
set xtics auto rotate by -30
set bmargin 5
set key inside top left
plot for [i = 2:4] ARG3 using i:xtic(1) title columnheader(i) linecolor rgb word(colors, i - 1)
unset multiplot
