#!/bin/sh
# cmake/ccache.sh CCACHE COMPILER ARGUMENTS: compiles through ccache.
#
# A precompiled header that is being made again counts for ccache as an input of its own
# compilation, in place of the headers inside: it would find what was made of other headers. So the
# old one goes first.
ccache="$1"
shift
for argument in "$@"; do
  case "$argument" in *.gch) rm -f "$argument" ;; esac
done
exec "$ccache" "$@"
