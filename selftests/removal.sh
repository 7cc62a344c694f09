#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# removal.sh: the device is removed in the worst moment.

. "${0%/*}/lib.sh"

tmain "$@"
