# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# gnuplot -c bench.gnuplot SVG COLUMNS: bars: the time of an operation (vm/bench
# figures).
set terminal svg size 960,440 font "sans,12" background "white"
set output ARG1
set datafile separator "\t"
set datafile missing "NaN"
set style data histograms
set style histogram clustered gap 1.5
set style fill solid 0.85 noborder
set boxwidth 0.95
set grid ytics linecolor "#d0d0d0"
set ylabel "p50, microseconds of virtual time"
set yrange [0:*]
set key outside top center horizontal
set title "One operation of 64 bytes (FETCH ADD: 8)"
colors = "#1f4e79 #2e86c1 #7d6608 #d4ac0d #7f8c8d #b03a2e"
plot for [i = 2:7] ARG2 using i:xtic(1) title columnheader(i) linecolor rgb word(colors, i - 1)
